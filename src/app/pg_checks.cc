// SPDX-License-Identifier: Apache-2.0
#include "app/pg_checks.h"

namespace duckicelake::app {
namespace {

using pg::Sql;
using pg::Statement;

constexpr Sql kRights =
    "SELECT current_user, current_database(), n.oid IS NOT NULL, "
    "coalesce(has_schema_privilege(n.oid, 'USAGE'), false), "
    "coalesce(has_schema_privilege(n.oid, 'CREATE'), has_database_privilege(current_database(), "
    "'CREATE')), has_database_privilege(current_database(), 'CREATE') "
    "FROM (SELECT) one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = $1";

constexpr Sql kClock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

constexpr Sql kLeftover =
    "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'r' "
    "AND c.relname LIKE 'duckicelake\\_%' ORDER BY c.relname";

constexpr Sql kNewest = "SELECT coalesce(max(snapshot_id), 0) FROM {schema}.ducklake_snapshot";

constexpr Sql kOwner =
    "SELECT pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'ducklake_metadata'";

constexpr Sql kRegisteredCatalog =
    "SELECT catalog_id FROM duckicelake.catalog WHERE metadata_schema = $1";
constexpr Sql kRegisteredSchema =
    "SELECT metadata_schema FROM duckicelake.catalog WHERE catalog_id = $1";

// The one text of the one row; empty when there is no row.
Result<std::string> text_of(pg::Connection& connection, const Sql& sql, std::string parameter) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{sql, {std::move(parameter)}, pg::Prepare::kOnce}));
  if (rows.empty()) return std::string();
  DIL_TRY(const std::string_view text, rows.row(0).text(0));
  return std::string(text);
}

std::int64_t now_micros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string version_text(int server_version) {
  return fmt::format("{}.{}", server_version / 10000, server_version % 10000);
}

Result<Rights> load_rights(pg::Connection& connection, const pg::SqlIdent& schema) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{kRights, {schema.name()}, pg::Prepare::kOnce, "load rights"}));
  DIL_TRY(const pg::Row row, rows.only_row());
  pg::RowReader in(row);
  Rights out;
  out.role = in.text();
  out.database = in.text();
  out.schema_exists = in.boolean();
  out.may_use_schema = in.boolean();
  out.may_create_tables = in.boolean();
  out.may_create_schema = in.boolean();
  DIL_CHECK_OK(in.status());
  return out;
}

Result<ClockReading> read_clock(pg::Connection& connection) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  DIL_CHECK_OK(connection.ping());
  const std::int64_t before = now_micros();
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kClock, {}, pg::Prepare::kOnce}));
  const std::int64_t after = now_micros();
  DIL_TRY(const std::int64_t theirs, rows.row(0).int64(0));
  const std::int64_t half = (after - before) / 2;
  return ClockReading{duration_cast<milliseconds>(microseconds(theirs - before - half)),
                      duration_cast<milliseconds>(microseconds(half + 999))};
}

Result<std::vector<std::string>> find_leftover_tables(pg::Connection& connection) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kLeftover, {}, pg::Prepare::kOnce}));
  std::vector<std::string> out;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view name, row.text(0));
    out.emplace_back(name);
  }
  return out;
}

Result<std::int64_t> newest_snapshot(pg::Connection& connection, const pg::SqlIdent& schema) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(schema, kNewest), {}, pg::Prepare::kOnce}));
  return rows.row(0).int64(0);
}

Result<std::string> lake_owner(pg::Connection& connection, const pg::SqlIdent& schema) {
  return text_of(connection, kOwner, schema.name());
}

Result<std::string> registered_catalog(pg::Connection& connection, const pg::SqlIdent& schema) {
  return text_of(connection, kRegisteredCatalog, schema.name());
}

Result<std::string> registered_schema(pg::Connection& connection, const std::string& catalog_id) {
  return text_of(connection, kRegisteredSchema, catalog_id);
}

}  // namespace duckicelake::app
