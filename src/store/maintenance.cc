// SPDX-License-Identifier: Apache-2.0
#include "store/maintenance.h"

#include <array>

#include "pg/transaction.h"
#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kTryLock = "SELECT pg_try_advisory_lock(hashtextextended($1 || ':maintenance', 0))";
constexpr Sql kUnlock = "SELECT pg_advisory_unlock(hashtextextended($1 || ':maintenance', 0))";

constexpr Sql kFolders =
    "SELECT DISTINCT t.table_id, t.table_uuid::text, coalesce(s.path, ''), "
    "coalesce(s.path_is_relative, true), coalesce(t.path, ''), coalesce(t.path_is_relative, true), "
    "t.end_snapshot IS NULL FROM {schema}.ducklake_table t JOIN {schema}.ducklake_schema s "
    "USING (schema_id)";

constexpr Sql kWithPolicy =
    "SELECT t.table_id, s.schema_name, t.table_name FROM {schema}.ducklake_table t "
    "JOIN {schema}.ducklake_schema s USING (schema_id) WHERE t.end_snapshot IS NULL "
    "AND s.end_snapshot IS NULL AND t.table_id > $1 AND (EXISTS (SELECT FROM "
    "duckicelake.table_property p WHERE p.catalog_id = $3 AND p.table_id = t.table_id AND "
    "starts_with(p.key, 'history.expire.')) OR EXISTS (SELECT FROM duckicelake.table_state d WHERE "
    "d.catalog_id = $3 AND d.table_id = t.table_id AND (d.refs LIKE '%-age-ms%' OR d.refs LIKE "
    "'%min-snapshots-to-keep%'))) ORDER BY t.table_id LIMIT $2";

constexpr Sql kViews =
    "SELECT metadata_location, EXISTS (SELECT FROM {schema}.ducklake_view w WHERE w.view_id = "
    "v.view_id) FROM duckicelake.view_state v WHERE v.catalog_id = $1";
constexpr Sql kForgetViews =
    "DELETE FROM duckicelake.view_state v WHERE v.catalog_id = $1 AND v.metadata_location = "
    "ANY($2) "
    "AND NOT EXISTS (SELECT FROM {schema}.ducklake_view w WHERE w.view_id = v.view_id)";
constexpr Sql kDeadLocations =
    "SELECT metadata_location FROM duckicelake.table_state s WHERE s.catalog_id = $1 AND "
    "metadata_location <> '' AND NOT EXISTS (SELECT FROM {schema}.ducklake_table t "
    "WHERE t.table_id = s.table_id)";

constexpr Sql kPathRows =
    "SELECT table_id, path, coalesce(path_is_relative, true) FROM {schema}.ducklake_data_file "
    "WHERE path = ANY($1) AND begin_snapshot >= 0 UNION ALL "
    "SELECT table_id, path, coalesce(path_is_relative, true) FROM {schema}.ducklake_delete_file "
    "WHERE path = ANY($1) UNION ALL "
    "SELECT NULL, path, coalesce(path_is_relative, true) FROM "
    "{schema}.ducklake_files_scheduled_for_deletion WHERE path = ANY($1) UNION ALL "
    "SELECT NULL, path, false FROM duckicelake.side_file WHERE metadata_schema = $2 AND path = "
    "ANY($1)";

constexpr Sql kExpirable =
    "WITH hidden AS (SELECT p.table_id, p.snapshot_id FROM duckicelake.snapshot p "
    "WHERE p.catalog_id = $1 AND p.is_main AND p.is_hidden "
    "UNION SELECT t, s FROM unnest($2::bigint[], $3::bigint[]) AS u(t, s)) "
    "SELECT DISTINCT s.snapshot_id FROM {schema}.ducklake_snapshot s JOIN hidden h "
    "USING (snapshot_id) "
    "WHERE s.snapshot_id < (SELECT max(snapshot_id) FROM {schema}.ducklake_snapshot) "
    "AND s.snapshot_id <= (SELECT indexed_to FROM duckicelake.catalog WHERE catalog_id = $1) "
    "AND EXISTS (SELECT FROM {schema}.ducklake_table t WHERE t.table_id = h.table_id "
    "AND t.end_snapshot IS NULL) "
    "AND NOT EXISTS (SELECT FROM duckicelake.table_change c JOIN {schema}.ducklake_table t "
    "ON t.table_id = c.table_id AND t.end_snapshot IS NULL WHERE c.catalog_id = $1 "
    "AND c.snapshot_id = s.snapshot_id AND NOT EXISTS (SELECT FROM hidden o "
    "WHERE o.table_id = c.table_id AND o.snapshot_id = c.snapshot_id)) "
    "AND NOT EXISTS (SELECT FROM duckicelake.snapshot p WHERE p.catalog_id = $1 AND p.is_main "
    "AND NOT p.is_hidden AND p.snapshot_id = s.snapshot_id AND NOT EXISTS (SELECT FROM hidden o "
    "WHERE o.table_id = p.table_id AND o.snapshot_id = p.snapshot_id)) "
    "ORDER BY s.snapshot_id LIMIT $4";

constexpr Sql kInlinedNames =
    "SELECT file_key, path FROM duckicelake.inlined_file WHERE catalog_id = $1 AND table_id = $2";
constexpr Sql kRemoveInlined =
    "DELETE FROM duckicelake.inlined_file WHERE catalog_id = $1 AND table_id = $2 AND file_key = "
    "ANY($3)";

constexpr Sql kDeadTables =
    "SELECT table_id FROM duckicelake.table_state s WHERE s.catalog_id = $1 AND s.updated_at < "
    "now() - make_interval(secs => $2) AND NOT EXISTS (SELECT FROM {schema}.ducklake_table t WHERE "
    "t.table_id = s.table_id)";
constexpr Sql kDeadFiles =
    "SELECT count(*) FROM duckicelake.committed_file f WHERE f.catalog_id = $1 AND NOT EXISTS "
    "(SELECT FROM {schema}.ducklake_data_file d WHERE d.data_file_id = f.data_file_id)";
constexpr Sql kDeadManifests =
    "SELECT count(*) FROM duckicelake.committed_manifest m WHERE NOT EXISTS (SELECT FROM "
    "duckicelake.committed_file f WHERE f.manifest_serial = m.serial)";
constexpr Sql kRemoveDeadFiles =
    "WITH gone AS (DELETE FROM duckicelake.committed_file f WHERE f.catalog_id = $1 AND NOT EXISTS "
    "(SELECT FROM {schema}.ducklake_data_file d WHERE d.data_file_id = f.data_file_id) RETURNING "
    "1) "
    "SELECT count(*) FROM gone";
constexpr Sql kRemoveDeadNans =
    "WITH gone AS (DELETE FROM duckicelake.nan_count n WHERE n.catalog_id = $1 AND NOT EXISTS "
    "(SELECT FROM {schema}.ducklake_data_file d WHERE d.data_file_id = n.data_file_id) RETURNING "
    "1) "
    "SELECT count(*) FROM gone";
constexpr Sql kRemoveDeadManifests =
    "WITH gone AS (DELETE FROM duckicelake.committed_manifest m WHERE NOT EXISTS (SELECT FROM "
    "duckicelake.committed_file f WHERE f.manifest_serial = m.serial) RETURNING 1) "
    "SELECT count(*) FROM gone";
constexpr std::array kTablesOfTables = {
    Sql("DELETE FROM duckicelake.snapshot WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.inlined_file WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.client_snapshot WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.committed_file WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.table_property WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.table_change WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.metrics_report WHERE catalog_id = $1 AND table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.retired_file r USING duckicelake.catalog k WHERE k.catalog_id = "
        "$1 "
        "AND r.metadata_schema = k.metadata_schema AND r.table_id = ANY($2)"),
    Sql("DELETE FROM duckicelake.side_file f USING duckicelake.catalog k WHERE k.catalog_id = $1 "
        "AND f.metadata_schema = k.metadata_schema AND f.table_id = ANY($2)"),
    // The last one: while it is there, the others are found again.
    Sql("DELETE FROM duckicelake.table_state WHERE catalog_id = $1 AND table_id = ANY($2)"),
};

constexpr Sql kRevived = "SELECT path FROM duckicelake.revived_path WHERE metadata_schema = $1";
constexpr Sql kForgetRevived =
    "DELETE FROM duckicelake.revived_path WHERE metadata_schema = $1 AND path = ANY($2)";

Statement in_schema(const Lake& lake, const Sql& sql, std::vector<Param> params) {
  return {pg::sql_for_schema(lake.metadata_schema, sql), std::move(params), pg::Prepare::kOnce};
}

Result<std::vector<std::string>> texts(pg::Connection& connection, const Statement& statement) {
  DIL_TRY(pg::ResultSet rows, connection.exec(statement));
  std::vector<std::string> out;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view text, row.text(0));
    out.emplace_back(text);
  }
  return out;
}

Result<std::int64_t> number(pg::Transaction& transaction, const Statement& statement) {
  DIL_TRY(pg::ResultSet rows, transaction.exec(statement));
  DIL_TRY(pg::Row row, rows.only_row());
  return row.int64(0);
}

}  // namespace

Result<bool> try_lock_maintenance(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kTryLock, {lake.metadata_schema.name()}}));
  RowReader in(rows.row(0));
  const bool is_taken = in.boolean();
  DIL_CHECK_OK(in.status());
  return is_taken;
}

Status unlock_maintenance(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(auto rows, connection.exec(Statement{kUnlock, {lake.metadata_schema.name()}}));
  (void)rows;
  return {};
}

Result<std::vector<TableFolder>> load_table_folders(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kFolders, {})));
  std::vector<TableFolder> out;
  out.reserve(rows.size());
  for (const pg::Row row : rows) {
    RowReader in(row);
    TableFolder folder;
    folder.table = TableId(in.int64());
    folder.uuid = in.text();
    const std::string schema_path = in.text();
    const std::string above = join_path(lake.data_path, schema_path, in.boolean());
    const std::string path = in.text();
    folder.folder = join_path(above, path, in.boolean());
    folder.is_live = in.boolean();
    DIL_CHECK_OK(in.status());
    if (!folder.folder.ends_with('/')) folder.folder.push_back('/');
    out.push_back(std::move(folder));
  }
  return out;
}

Result<std::vector<LiveTable>> load_tables_with_policy(pg::Connection& connection, const Lake& lake,
                                                       TableId after, std::int64_t limit) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(in_schema(lake, kWithPolicy, {after, limit, lake.catalog_id})));
  std::vector<LiveTable> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    LiveTable table;
    table.table = TableId(in.int64());
    table.schema_name = in.text();
    table.name = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(table));
  }
  return out;
}

Result<std::vector<ViewLocation>> load_view_locations(pg::Connection& connection,
                                                      const Lake& lake) {
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kViews, {lake.catalog_id})));
  std::vector<ViewLocation> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    ViewLocation view;
    view.metadata_location = in.text();
    view.is_known = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(view));
  }
  return out;
}

Status forget_dead_views(pg::Connection& connection, const Lake& lake,
                         std::span<const std::string> locations) {
  if (locations.empty()) return {};
  DIL_TRY(auto rows, connection.exec(in_schema(lake, kForgetViews,
                                               {lake.catalog_id, Param::text_array(locations)})));
  (void)rows;
  return {};
}

Result<std::vector<std::string>> load_dead_locations(pg::Connection& connection, const Lake& lake) {
  return texts(connection, in_schema(lake, kDeadLocations, {lake.catalog_id}));
}

Result<std::vector<PathRow>> find_path_rows(pg::Connection& connection, const Lake& lake,
                                            std::span<const std::string> paths) {
  std::vector<PathRow> out;
  if (paths.empty()) return out;
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              in_schema(lake, kPathRows, {Param::text_array(paths), lake.metadata_schema.name()})));
  for (const pg::Row row : rows) {
    RowReader in(row);
    PathRow found;
    if (const auto table = in.optional_int64()) found.table = TableId(*table);
    found.path = in.text();
    found.is_relative = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(found));
  }
  return out;
}

Result<std::vector<SnapshotId>> find_expirable(pg::Connection& connection, const Lake& lake,
                                               const ToHide& to_hide, std::int64_t limit) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(in_schema(lake, kExpirable,
                                    {lake.catalog_id, Param::int64_array(to_hide.tables),
                                     Param::int64_array(to_hide.snapshots), limit})));
  std::vector<SnapshotId> out;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::int64_t id, row.int64(0));
    out.emplace_back(id);
  }
  return out;
}

Result<std::vector<InlinedFileName>> load_inlined_names(pg::Connection& connection,
                                                        const Lake& lake, TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kInlinedNames, {lake.catalog_id, table}}));
  std::vector<InlinedFileName> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    InlinedFileName name;
    name.key = -in.int64();
    name.path = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(name));
  }
  return out;
}

Status remove_inlined_files(pg::Connection& connection, const Lake& lake, TableId table,
                            std::span<const std::int64_t> keys) {
  if (keys.empty()) return {};
  std::vector<std::int64_t> stored;
  for (const std::int64_t key : keys) stored.push_back(-key);
  DIL_TRY(auto rows, connection.exec(Statement{
                         kRemoveInlined, {lake.catalog_id, table, Param::int64_array(stored)}}));
  (void)rows;
  return {};
}

Result<DeadRows> sweep_dead_rows(pg::Connection& connection, const Lake& lake,
                                 std::int64_t older_than_seconds, DeadRowsMode mode) {
  pg::Transaction transaction(connection);
  DeadRows out;
  const Param age(static_cast<double>(older_than_seconds));
  DIL_TRY(pg::ResultSet rows,
          transaction.exec(in_schema(lake, kDeadTables, {lake.catalog_id, age})));
  std::vector<std::int64_t> tables;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::int64_t table, row.int64(0));
    tables.push_back(table);
  }
  out.tables = static_cast<std::int64_t>(tables.size());
  if (mode == DeadRowsMode::kCount) {
    DIL_TRY(out.committed_files,
            number(transaction, in_schema(lake, kDeadFiles, {lake.catalog_id})));
    DIL_TRY(out.committed_manifests, number(transaction, Statement{kDeadManifests, {}}));
    return out;
  }
  if (!tables.empty()) {
    std::vector<Statement> statements;
    for (const Sql& sql : kTablesOfTables) {
      statements.push_back(
          Statement{sql, {lake.catalog_id, Param::int64_array(tables)}, pg::Prepare::kOnce});
    }
    DIL_TRY(auto done, transaction.batch(statements));
    (void)done;
  }
  DIL_TRY(out.committed_files,
          number(transaction, in_schema(lake, kRemoveDeadFiles, {lake.catalog_id})));
  DIL_TRY(out.committed_manifests, number(transaction, Statement{kRemoveDeadManifests, {}}));
  DIL_TRY(const std::int64_t nans,
          number(transaction, in_schema(lake, kRemoveDeadNans, {lake.catalog_id})));
  (void)nans;
  DIL_CHECK_OK(transaction.commit());
  return out;
}

Result<std::vector<std::string>> load_revived(pg::Connection& connection, const Lake& lake) {
  return texts(connection, Statement{kRevived, {lake.metadata_schema.name()}});
}

Status forget_revived(pg::Connection& connection, const Lake& lake,
                      std::span<const std::string> paths) {
  if (paths.empty()) return {};
  DIL_TRY(auto rows, connection.exec(Statement{
                         kForgetRevived, {lake.metadata_schema.name(), Param::text_array(paths)}}));
  (void)rows;
  return {};
}

}  // namespace duckicelake::store
