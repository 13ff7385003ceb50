// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "iceberg/table_update.h"
#include "json/value.h"

namespace duckicelake::iceberg {

inline constexpr std::size_t kMaxUpdates = 10'000;
// Of those, at most so many may add a schema, spec, order or view version or change the current
// schema: each is compared with all that the table has.
inline constexpr std::size_t kMaxDefinitionUpdates = 1'000;

// The "updates" of a commit. kInvalidArgument with the path for an unknown action, for one of views
// and for more updates than the limits; what the update names need not exist yet. A document that
// holds schemas wants json::ParseLimits::max_depth of kSchemaJsonDepth (schema_json.h) and a little
// more.
Result<std::vector<TableUpdate>> read_table_updates(const json::Array& array);
Result<TableUpdate> read_table_update(const json::Value& value);

// The "action" of an update in lower case, as Iceberg Java compares it.
Result<std::string> read_action(const json::Object& object);
// The actions that tables and views share.
Result<AssignUuid> read_assign_uuid(const json::Object& object);
Result<UpgradeFormatVersion> read_upgrade_format_version(const json::Object& object);
Result<AddSchema> read_add_schema(const json::Object& object);
Result<SetLocation> read_set_location(const json::Object& object);
Result<SetProperties> read_set_properties(const json::Object& object);
Result<RemoveProperties> read_remove_properties(const json::Object& object);

// The action that the update has in JSON, for messages and logs.
std::string_view action_name(const TableUpdate& update);

}  // namespace duckicelake::iceberg
