// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

// What `init` adds to a DuckLake's own schema, and what `doctor` looks for: indexes that DuckLake
// lacks, the unique index that stops two live delete files of one data file, and the triggers
// behind the sidecar's revision.
namespace duckicelake::store {

struct SetupItem {
  std::string name;     // of the index or trigger
  std::string purpose;  // one clause for people
  bool is_present = false;
};
Result<std::vector<SetupItem>> inspect_setup(pg::Connection& connection,
                                             const pg::SqlIdent& schema);

// Data files with more than one live delete file: they stand in the way of the unique index, and
// DuckLake shows their rows twice.
struct DuplicateDelete {
  std::int64_t table_id = 0;
  std::int64_t data_file_id = 0;
  std::int64_t live_delete_files = 0;
};
Result<std::vector<DuplicateDelete>> find_duplicate_deletes(pg::Connection& connection,
                                                            const pg::SqlIdent& schema);

struct Ownership {
  std::string current_role;
  std::vector<std::string>
      foreign_tables;  // ducklake_* tables of an owner that the current role is not a member of
  bool may_create_schema = false;  // CREATE on the database
};
Result<Ownership> inspect_ownership(pg::Connection& connection, const pg::SqlIdent& schema);

// Sessions other than ours that are connected to this database now, for the notice that a DuckDB
// session which opened the lake before `init` keeps working, but does not know of later native
// changes until its next commit.
Result<std::int64_t> count_other_sessions(pg::Connection& connection);

// Creates what is missing, each in its own transaction; nothing is done twice. kPermissionDenied
// names the right that is missing; kAlreadyExists when duplicate delete files stand in the way of
// the unique index.
Status install_setup(pg::Connection& connection, const pg::SqlIdent& schema);

}  // namespace duckicelake::store
