// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "engine/database.h"

namespace duckicelake::engine {

// The names of the table functions of an instance. Ask before a lake is attached: its macros are
// not meant.
Result<std::set<std::string>> system_table_functions(Session& session);

// Refuses (kInvalidArgument) a view whose query, or that of a view or macro which it may reach by
// name, calls a table function outside a short list. DuckDB runs such functions while it binds, and
// postgres_scan opens a connection to any host, external access or not. It looks at parsed queries,
// so spelling does not matter; what does not parse is refused. Views are followed by name alone,
// whatever their schema.
Status check_view_functions(Session& session, const std::string& metadata_schema,
                            const std::set<std::string>& system_functions,
                            const std::string& view_name);

}  // namespace duckicelake::engine
