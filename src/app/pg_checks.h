// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"
#include "pg/sql.h"

namespace duckicelake::app {

inline constexpr int kLeastPostgresVersion = 140000;

// "15.12" for 150012.
std::string version_text(int server_version);

// What the current role may do with the place of a lake.
struct Rights {
  std::string role;
  std::string database;
  bool schema_exists = false;
  bool may_use_schema = false;
  bool may_create_tables = false;  // in the schema, or may create the schema
  bool may_create_schema = false;  // in the database
};
Result<Rights> load_rights(pg::Connection& connection, const pg::SqlIdent& schema);

// PostgreSQL's clock minus ours; half of the round trip is the error.
struct ClockReading {
  std::chrono::milliseconds lead{};
  std::chrono::milliseconds error{};
};
Result<ClockReading> read_clock(pg::Connection& connection);

// Tables named duckicelake_* in schema public: an earlier system's, which are neither read nor
// touched.
Result<std::vector<std::string>> find_leftover_tables(pg::Connection& connection);

// The newest snapshot id; a lake that nobody used yet is at 0.
Result<std::int64_t> newest_snapshot(pg::Connection& connection, const pg::SqlIdent& schema);

// The owner of the lake's tables; empty when there is no lake.
Result<std::string> lake_owner(pg::Connection& connection, const pg::SqlIdent& schema);

// Of the sidecar, which must be there: the catalog id registered for a schema, and the other way
// round. Empty when there is none.
Result<std::string> registered_catalog(pg::Connection& connection, const pg::SqlIdent& schema);
Result<std::string> registered_schema(pg::Connection& connection, const std::string& catalog_id);

}  // namespace duckicelake::app
