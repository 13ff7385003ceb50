// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "pg/connection.h"
#include "pg/sql.h"

namespace duckicelake::pg {

// One step of a schema's history. What was once released is never changed.
struct Migration {
  int version;            // > 0, rising within the list
  std::string_view name;  // a constant
  Sql sql;                // a script; `{schema}` stands for the schema; no BEGIN or COMMIT, no COPY
};

struct MigrationReport {
  int version_before = 0;  // 0: nothing was there
  int version_after = 0;
};

// Brings the schema to the newest version of the list and records each step in
// `<schema>.migration(version, name, applied_at)`; makes the schema when it is not there. All steps
// that are due happen in one transaction or not at all. Any number of processes may call this at
// once: an advisory lock of the transaction lets one work while the others wait, until the
// connection's deadline. The server's statement timeout does not apply.
//
// kUnsupported: the database is newer than the list, or its recorded steps are not those of the
// list.
Result<MigrationReport> run_migrations(Connection& connection, const SqlIdent& schema,
                                       std::span<const Migration> migrations);

// The recorded version; 0 when the schema or its table is not there. Changes nothing.
Result<int> recorded_version(Connection& connection, const SqlIdent& schema);

}  // namespace duckicelake::pg
