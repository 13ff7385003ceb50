// SPDX-License-Identifier: Apache-2.0
#include "store/eager.h"

#include "store/sidecar.h"

namespace duckicelake::store {
namespace {

using pg::Sql;
using pg::Statement;

constexpr Sql kTryLead =
    "SELECT pg_try_advisory_lock(hashtextextended('duckicelake eager ' || $1, 0))";
constexpr Sql kTryLeadShared =
    "SELECT pg_try_advisory_lock(hashtextextended('duckicelake eager of all', 0))";
constexpr Sql kStale =
    "SELECT t.table_id FROM {schema}.ducklake_table t JOIN LATERAL "
    "(SELECT snapshot_id FROM duckicelake.table_change c WHERE c.catalog_id = $1 "
    "AND c.table_id = t.table_id ORDER BY snapshot_id DESC LIMIT 1) c ON true "
    "LEFT JOIN duckicelake.table_state s ON s.catalog_id = $1 AND s.table_id = t.table_id "
    "WHERE t.end_snapshot IS NULL AND coalesce(s.through_snapshot, -1) < c.snapshot_id";
constexpr Sql kAge =
    "SELECT extract(epoch FROM clock_timestamp() - snapshot_time)::float8::text "
    "FROM {schema}.ducklake_snapshot WHERE snapshot_id = $1";

}  // namespace

Result<bool> try_lead(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kTryLead, {lake.metadata_schema.name()}}));
  return rows.row(0).boolean(0);
}

Result<bool> try_lead_shared(pg::Connection& connection) {
  DIL_TRY(pg::ResultSet rows, connection.exec(kTryLeadShared));
  return rows.row(0).boolean(0);
}

Status listen_to_snapshots(pg::Connection& connection) {
  return connection.listen(pg::SqlIdent::constant("duckicelake_snapshot"));
}

Result<std::set<TableId>> load_stale_tables(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(SnapshotId indexed, catch_up_change_index(connection, lake));
  (void)indexed;
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kStale), {lake.catalog_id}}));
  std::set<TableId> out;
  for (pg::Row row : rows) {
    DIL_TRY(std::int64_t id, row.int64(0));
    out.insert(TableId(id));
  }
  return out;
}

Result<double> load_snapshot_age(pg::Connection& connection, const Lake& lake,
                                 SnapshotId snapshot) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(lake.metadata_schema, kAge), {snapshot}}));
  if (rows.empty()) return Error(Code::kNotFound, "the snapshot is gone");
  DIL_TRY(std::string_view text, rows.row(0).text(0));
  return std::strtod(std::string(text).c_str(), nullptr);
}

}  // namespace duckicelake::store
