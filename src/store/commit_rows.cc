// SPDX-License-Identifier: Apache-2.0
#include "store/commit_rows.h"

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kFindLive =
    "SELECT f.data_file_id, f.begin_snapshot, f.path, coalesce(f.path_is_relative, true), "
    "f.record_count, d.delete_file_id, coalesce(d.delete_count, 0) "
    "FROM {schema}.ducklake_data_file f LEFT JOIN {schema}.ducklake_delete_file d "
    "ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL "
    "WHERE f.table_id = $1 AND f.path = ANY($2) AND f.end_snapshot IS NULL";

constexpr Sql kInsertFiles =
    "INSERT INTO {schema}.ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
    "path_is_relative, file_format, record_count, file_size_bytes, row_id_start, partition_id, "
    "mapping_id) SELECT i, $1, $2, p, r = 1, 'parquet', n, s, w, nullif(q, -1), nullif(m, -1) "
    "FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], "
    "$8::bigint[], $9::bigint[], $10::bigint[]) AS u(i, p, r, n, s, w, q, m)";

constexpr Sql kInsertPartitions =
    "INSERT INTO {schema}.ducklake_file_partition_value (data_file_id, table_id, "
    "partition_key_index, partition_value) SELECT i, $1, k, v "
    "FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS u(i, k, v)";

constexpr Sql kInsertStats =
    "INSERT INTO {schema}.ducklake_file_column_stats (data_file_id, table_id, column_id, "
    "column_size_bytes, value_count, null_count, min_value, max_value, contains_nan) "
    "SELECT i, $1, c, nullif(b, -1), nullif(n, -1), nullif(z, -1), lo, hi, "
    "CASE nan WHEN 1 THEN true WHEN 0 THEN false END "
    "FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], "
    "$8::text[], $9::bigint[]) AS u(i, c, b, n, z, lo, hi, nan)";

constexpr Sql kEndFiles =
    "UPDATE {schema}.ducklake_data_file SET end_snapshot = $2 WHERE table_id = $1 AND "
    "data_file_id = ANY($3) AND end_snapshot IS NULL RETURNING data_file_id";
constexpr Sql kEndDeletesOf =
    "UPDATE {schema}.ducklake_delete_file SET end_snapshot = $2 WHERE table_id = $1 AND "
    "data_file_id = ANY($3) AND end_snapshot IS NULL";
constexpr Sql kEndAllFiles =
    "UPDATE {schema}.ducklake_data_file SET end_snapshot = $2 WHERE table_id = $1 AND "
    "end_snapshot IS NULL";
constexpr Sql kEndAllDeletes =
    "UPDATE {schema}.ducklake_delete_file SET end_snapshot = $2 WHERE table_id = $1 AND "
    "end_snapshot IS NULL";
constexpr Sql kEndAllInlined =
    "UPDATE {schema}.{table} SET end_snapshot = $1 WHERE end_snapshot IS NULL";
constexpr Sql kEndInlined =
    "UPDATE {schema}.{table} SET end_snapshot = $1 WHERE begin_snapshot = $2 AND row_id = ANY($3) "
    "AND end_snapshot IS NULL RETURNING row_id";

constexpr Sql kEndDeletes =
    "UPDATE {schema}.ducklake_delete_file SET end_snapshot = $2 WHERE table_id = $1 AND "
    "delete_file_id = ANY($3) AND end_snapshot IS NULL RETURNING delete_file_id";
constexpr Sql kInsertDelete =
    "INSERT INTO {schema}.ducklake_delete_file (delete_file_id, table_id, begin_snapshot, "
    "data_file_id, path, path_is_relative, format, delete_count, file_size_bytes, footer_size) "
    "VALUES ($1, $2, $3, $4, $5, $6, 'parquet', $7, $8, $9)";

constexpr Sql kTotals =
    "SELECT table_id, coalesce(record_count, 0), coalesce(next_row_id, 0), "
    "coalesce(file_size_bytes, 0) FROM {schema}.ducklake_table_stats WHERE table_id = ANY($1) "
    "ORDER BY table_id FOR UPDATE";
constexpr Sql kColumnStats =
    "SELECT table_id, column_id, contains_null, contains_nan, min_value, max_value "
    "FROM {schema}.ducklake_table_column_stats WHERE table_id = ANY($1)";
constexpr Sql kInsertTotals =
    "INSERT INTO {schema}.ducklake_table_stats (table_id, record_count, next_row_id, "
    "file_size_bytes) VALUES ($1, $2, $3, $4)";
constexpr Sql kUpdateTotals =
    "UPDATE {schema}.ducklake_table_stats SET record_count = $2, next_row_id = $3, "
    "file_size_bytes = $4 WHERE table_id = $1";
constexpr Sql kForgetColumns =
    "DELETE FROM {schema}.ducklake_table_column_stats WHERE table_id = $1 AND column_id = ANY($2)";
constexpr Sql kInsertColumnStats =
    "INSERT INTO {schema}.ducklake_table_column_stats (table_id, column_id, contains_null, "
    "contains_nan, min_value, max_value) SELECT $1, c, "
    "CASE n WHEN 1 THEN true WHEN 0 THEN false END, "
    "CASE nan WHEN 1 THEN true WHEN 0 THEN false END, lo, hi "
    "FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) "
    "AS u(c, n, nan, lo, hi)";

constexpr Sql kSchemaFolder =
    "SELECT coalesce(path, ''), coalesce(path_is_relative, true) FROM {schema}.ducklake_schema "
    "WHERE schema_id = $1 AND end_snapshot IS NULL";
constexpr Sql kFolderUsed =
    "SELECT EXISTS (SELECT FROM {schema}.ducklake_table WHERE path = ANY($1))";
constexpr Sql kOverlaps =
    "SELECT EXISTS (SELECT FROM (SELECT CASE WHEN coalesce(t.path_is_relative, true) THEN "
    "CASE WHEN coalesce(s.path_is_relative, true) THEN $2 || coalesce(s.path, '') ELSE s.path END "
    "|| coalesce(t.path, '') ELSE t.path END AS folder FROM {schema}.ducklake_table t "
    "JOIN {schema}.ducklake_schema s USING (schema_id)) AS f "
    "WHERE starts_with($1, folder) OR starts_with(folder, $1))";

constexpr Sql kInsertTable =
    "INSERT INTO {schema}.ducklake_table (table_id, table_uuid, begin_snapshot, schema_id, "
    "table_name, path, path_is_relative) VALUES ($1, $2::uuid, $3, $4, $5, $6, $7)";
// The new version of the row is made from the old one.
constexpr Sql kMoveTable =
    "WITH ended AS (UPDATE {schema}.ducklake_table SET end_snapshot = $2 WHERE table_id = $1 AND "
    "end_snapshot IS NULL RETURNING table_uuid, schema_id, table_name) "
    "INSERT INTO {schema}.ducklake_table (table_id, table_uuid, begin_snapshot, schema_id, "
    "table_name, path, path_is_relative) SELECT $1, table_uuid, $2, schema_id, table_name, $3, "
    "false FROM ended";
// Relative paths continue the table's: before it moves they are written out.
constexpr Sql kFixFilePaths =
    "UPDATE {schema}.ducklake_data_file SET path = $2 || path, path_is_relative = false "
    "WHERE table_id = $1 AND coalesce(path_is_relative, true)";
constexpr Sql kFixDeletePaths =
    "UPDATE {schema}.ducklake_delete_file SET path = $2 || path, path_is_relative = false "
    "WHERE table_id = $1 AND coalesce(path_is_relative, true)";

constexpr Sql kEndColumns =
    "UPDATE {schema}.ducklake_column SET end_snapshot = $2 WHERE table_id = $1 AND "
    "column_id = ANY($3) AND end_snapshot IS NULL";
constexpr Sql kInsertColumns =
    "INSERT INTO {schema}.ducklake_column (column_id, begin_snapshot, table_id, column_order, "
    "column_name, column_type, initial_default, default_value, nulls_allowed, parent_column, "
    "default_value_type, default_value_dialect) "
    "SELECT c, $2, $1, o, n, t, i, d, a = 1, nullif(p, -1), nullif(k, ''), "
    "CASE WHEN k = '' THEN NULL ELSE 'duckdb' END "
    "FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], "
    "$9::bigint[], $10::bigint[], $11::text[]) AS u(c, o, n, t, i, d, a, p, k)";
constexpr Sql kEndComments =
    "UPDATE {schema}.ducklake_column_tag SET end_snapshot = $2 WHERE table_id = $1 AND "
    "column_id = ANY($3) AND key = 'comment' AND end_snapshot IS NULL";
constexpr Sql kInsertComment =
    "INSERT INTO {schema}.ducklake_column_tag (table_id, column_id, begin_snapshot, key, value) "
    "VALUES ($1, $2, $3, 'comment', $4)";
constexpr Sql kEndTableComment =
    "UPDATE {schema}.ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 AND key = 'comment' "
    "AND end_snapshot IS NULL";
constexpr Sql kInsertTableComment =
    "INSERT INTO {schema}.ducklake_tag (object_id, begin_snapshot, key, value) "
    "VALUES ($1, $2, 'comment', $3)";

constexpr Sql kEndPartitioning =
    "UPDATE {schema}.ducklake_partition_info SET end_snapshot = $2 WHERE table_id = $1 AND "
    "end_snapshot IS NULL";
constexpr Sql kInsertPartitioning =
    "INSERT INTO {schema}.ducklake_partition_info (partition_id, table_id, begin_snapshot) "
    "VALUES ($1, $2, $3)";
constexpr Sql kInsertPartitionColumn =
    "INSERT INTO {schema}.ducklake_partition_column (partition_id, table_id, partition_key_index, "
    "column_id, transform) VALUES ($1, $2, $3, $4, $5)";
constexpr Sql kEndSort =
    "UPDATE {schema}.ducklake_sort_info SET end_snapshot = $2 WHERE table_id = $1 AND "
    "end_snapshot IS NULL";
constexpr Sql kInsertSort =
    "INSERT INTO {schema}.ducklake_sort_info (sort_id, table_id, begin_snapshot) "
    "VALUES ($1, $2, $3)";
constexpr Sql kInsertSortExpression =
    "INSERT INTO {schema}.ducklake_sort_expression (sort_id, table_id, sort_key_index, expression, "
    "dialect, sort_direction, null_order) VALUES ($1, $2, $3, $4, 'duckdb', $5, $6)";
constexpr Sql kInsertSchemaVersion =
    "INSERT INTO {schema}.ducklake_schema_versions (begin_snapshot, schema_version, table_id) "
    "VALUES ($1, $2, $3)";

Statement in_schema(const Lake& lake, const Sql& sql, std::vector<Param> values) {
  return Statement{pg::sql_for_schema(lake.metadata_schema, sql), std::move(values)};
}

// What only writes goes out together, with the next statement whose answer matters.
Status run(pg::Transaction& transaction, Statement statement) {
  transaction.defer(std::move(statement));
  return {};
}

Status run_all(pg::Transaction& transaction, std::span<const Statement> statements) {
  for (const Statement& statement : statements) transaction.defer(statement);
  return {};
}

// A path as the table's rows hold it.
std::optional<std::string> relative_path(const ducklake::TableRow& table, const std::string& path) {
  if (!path.starts_with(table.path) || path.size() == table.path.size()) return std::nullopt;
  return path.substr(table.path.size());
}

std::vector<std::string> both_forms(const ducklake::TableRow& table,
                                    std::span<const std::string> paths) {
  std::vector<std::string> out(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    if (auto relative = relative_path(table, path)) out.push_back(std::move(*relative));
  }
  return out;
}

constexpr std::int64_t kNone = -1;
std::int64_t flag(const std::optional<bool>& value) { return !value ? kNone : *value ? 1 : 0; }

}  // namespace

Result<std::vector<LiveFile>> find_live_files(pg::Connection& connection, const Lake& lake,
                                              const ducklake::TableRow& table,
                                              std::span<const std::string> paths) {
  if (paths.empty()) return std::vector<LiveFile>();
  const std::unordered_set<std::string> wanted(paths.begin(), paths.end());
  DIL_TRY(pg::ResultSet rows,
          connection.exec(in_schema(
              lake, kFindLive, {table.table_id, Param::text_array(both_forms(table, paths))})));
  std::vector<LiveFile> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    LiveFile file;
    file.id = DataFileId(in.int64());
    file.begin = SnapshotId(in.int64());
    const std::string path = in.text();
    file.path = join_path(table.path, path, in.boolean());
    file.record_count = in.int64();
    file.live_delete_file = in.optional_int64();
    file.live_delete_count = in.int64();
    DIL_CHECK_OK(in.status());
    if (wanted.contains(file.path)) out.push_back(std::move(file));
  }
  return out;
}

Status insert_data_files(pg::Transaction& transaction, const Lake& lake,
                         const ducklake::TableRow& table, SnapshotId snapshot,
                         std::span<const NewDataFile> files) {
  if (files.empty()) return {};
  std::vector<std::int64_t> ids, relative, records, sizes, rows, partitions, mappings;
  std::vector<std::string> paths;
  std::vector<std::int64_t> key_files, key_indexes;
  std::vector<std::optional<std::string>> key_values;
  std::vector<std::int64_t> stat_files, stat_columns, stat_sizes, values, nulls, nans;
  std::vector<std::optional<std::string>> lows, highs;
  for (const NewDataFile& file : files) {
    const std::optional<std::string> below = relative_path(table, file.path);
    ids.push_back(file.id);
    paths.push_back(below.value_or(file.path));
    relative.push_back(below ? 1 : 0);
    records.push_back(file.record_count);
    sizes.push_back(file.file_size_bytes);
    rows.push_back(file.row_id_start);
    partitions.push_back(file.partition_id.value_or(kNone));
    mappings.push_back(file.mapping_id.value_or(kNone));
    for (std::size_t k = 0; k < file.partition_values.size(); ++k) {
      key_files.push_back(file.id);
      key_indexes.push_back(static_cast<std::int64_t>(k));
      key_values.push_back(file.partition_values[k]);
    }
    for (const ducklake::ColumnStats& stats : file.stats) {
      stat_files.push_back(file.id);
      stat_columns.push_back(stats.column_id.value);
      stat_sizes.push_back(stats.column_size_bytes.value_or(kNone));
      values.push_back(stats.value_count.value_or(kNone));
      nulls.push_back(stats.null_count.value_or(kNone));
      lows.push_back(stats.min_value);
      highs.push_back(stats.max_value);
      nans.push_back(flag(stats.contains_nan));
    }
  }
  std::vector<Statement> statements;
  statements.push_back(in_schema(
      lake, kInsertFiles,
      {table.table_id, snapshot, Param::int64_array(ids), Param::text_array(paths),
       Param::int64_array(relative), Param::int64_array(records), Param::int64_array(sizes),
       Param::int64_array(rows), Param::int64_array(partitions), Param::int64_array(mappings)}));
  if (!key_files.empty()) {
    statements.push_back(
        in_schema(lake, kInsertPartitions,
                  {table.table_id, Param::int64_array(key_files), Param::int64_array(key_indexes),
                   Param::text_array(key_values)}));
  }
  if (!stat_files.empty()) {
    statements.push_back(in_schema(
        lake, kInsertStats,
        {table.table_id, Param::int64_array(stat_files), Param::int64_array(stat_columns),
         Param::int64_array(stat_sizes), Param::int64_array(values), Param::int64_array(nulls),
         Param::text_array(lows), Param::text_array(highs), Param::int64_array(nans)}));
  }
  return run_all(transaction, statements);
}

Status end_data_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                      SnapshotId snapshot, std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  const std::array<Statement, 2> statements = {
      in_schema(lake, kEndFiles, {table, snapshot, Param::int64_array(ids)}),
      in_schema(lake, kEndDeletesOf, {table, snapshot, Param::int64_array(ids)})};
  DIL_TRY(std::vector<pg::ResultSet> done, transaction.batch(statements));
  if (done[0].size() != ids.size()) {
    return Error(Code::kCommitFailed,
                 "a file that the commit removes is not part of the table any more");
  }
  return {};
}

Status end_all_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                     SnapshotId snapshot, std::span<const ducklake::InlinedTable> inlined) {
  std::vector<Statement> statements = {in_schema(lake, kEndAllFiles, {table, snapshot}),
                                       in_schema(lake, kEndAllDeletes, {table, snapshot})};
  for (const ducklake::InlinedTable& item : inlined) {
    DIL_TRY(pg::SqlIdent name, pg::SqlIdent::make(item.name));
    statements.push_back(
        Statement{pg::sql_with(kEndAllInlined, {{"schema", lake.metadata_schema}, {"table", name}}),
                  {snapshot}});
  }
  return run_all(transaction, statements);
}

Status insert_delete_file(pg::Transaction& transaction, const Lake& lake,
                          const ducklake::TableRow& table, SnapshotId snapshot,
                          const NewDeleteFile& file) {
  if (file.replaces) {
    const std::array<std::int64_t, 1> ids = {*file.replaces};
    DIL_CHECK_OK(end_delete_files(transaction, lake, table.table_id, snapshot, ids));
  }
  const std::optional<std::string> below = relative_path(table, file.path);
  // The unique index on live delete files refuses a second one for the same data file.
  return run(transaction, in_schema(lake, kInsertDelete,
                                    {file.id, table.table_id, snapshot, file.data_file,
                                     below.value_or(file.path), below.has_value(),
                                     file.delete_count, file.file_size_bytes, file.footer_size}));
}

Status end_delete_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                        SnapshotId snapshot, std::span<const std::int64_t> delete_file_ids) {
  if (delete_file_ids.empty()) return {};
  DIL_TRY(pg::ResultSet ended,
          transaction.exec(in_schema(lake, kEndDeletes,
                                     {table, snapshot, Param::int64_array(delete_file_ids)})));
  if (ended.size() != delete_file_ids.size()) {
    return Error(Code::kCommitFailed,
                 "rows of a file that the commit changes were deleted meanwhile");
  }
  return {};
}

Status end_inlined_rows(pg::Transaction& transaction, const Lake& lake, const std::string& table,
                        SnapshotId begin, SnapshotId snapshot,
                        std::span<const std::int64_t> row_ids) {
  if (row_ids.empty()) return {};
  DIL_TRY(pg::SqlIdent name, pg::SqlIdent::make(table));
  DIL_TRY(pg::ResultSet ended,
          transaction.exec(Statement{
              pg::sql_with(kEndInlined, {{"schema", lake.metadata_schema}, {"table", name}}),
              {snapshot, begin, Param::int64_array(row_ids)}}));
  if (ended.size() != row_ids.size()) {
    return Error(Code::kCommitFailed, "rows that the commit deletes were deleted meanwhile");
  }
  return {};
}

Result<std::vector<TableStatistics>> load_statistics(pg::Transaction& transaction, const Lake& lake,
                                                     std::span<const TableId> tables) {
  std::vector<std::int64_t> ids;
  std::unordered_map<std::int64_t, std::size_t> places;
  for (const TableId table : tables) {
    places.emplace(table.value, ids.size());
    ids.push_back(table.value);
  }
  const std::array<Statement, 2> statements = {
      in_schema(lake, kTotals, {Param::int64_array(ids)}),
      in_schema(lake, kColumnStats, {Param::int64_array(ids)})};
  DIL_TRY(std::vector<pg::ResultSet> results, transaction.batch(statements));
  std::vector<TableStatistics> out(tables.size());
  for (pg::Row row : results[0]) {
    RowReader in(row);
    const auto place = places.find(in.int64());
    TableTotals totals;
    totals.record_count = in.int64();
    totals.next_row_id = in.int64();
    totals.file_size_bytes = in.int64();
    DIL_CHECK_OK(in.status());
    if (place != places.end()) out[place->second].totals = totals;
  }
  for (pg::Row row : results[1]) {
    RowReader in(row);
    const auto place = places.find(in.int64());
    ducklake::TableColumnStats stats;
    stats.column_id = FieldId(static_cast<std::int32_t>(in.int64()));
    stats.contains_null = in.optional_boolean();
    stats.contains_nan = in.optional_boolean();
    stats.min_value = in.optional_text();
    stats.max_value = in.optional_text();
    DIL_CHECK_OK(in.status());
    if (place != places.end()) out[place->second].columns.push_back(std::move(stats));
  }
  return out;
}

Result<TableStatistics> load_statistics(pg::Transaction& transaction, const Lake& lake,
                                        TableId table) {
  DIL_TRY(std::vector<TableStatistics> all, load_statistics(transaction, lake, {&table, 1}));
  return std::move(all.front());
}

Status save_totals(pg::Transaction& transaction, const Lake& lake, TableId table,
                   const TableTotals& totals, bool is_first) {
  return run(transaction,
             in_schema(lake, is_first ? kInsertTotals : kUpdateTotals,
                       {table, totals.record_count, totals.next_row_id, totals.file_size_bytes}));
}

Status save_column_stats(pg::Transaction& transaction, const Lake& lake, TableId table,
                         std::span<const ducklake::TableColumnStats> columns,
                         std::span<const std::int64_t> forgotten) {
  std::vector<std::int64_t> replaced(forgotten.begin(), forgotten.end());
  std::vector<std::int64_t> ids, nulls, nans;
  std::vector<std::optional<std::string>> lows, highs;
  for (const ducklake::TableColumnStats& stats : columns) {
    replaced.push_back(stats.column_id.value);
    ids.push_back(stats.column_id.value);
    nulls.push_back(flag(stats.contains_null));
    nans.push_back(flag(stats.contains_nan));
    lows.push_back(stats.min_value);
    highs.push_back(stats.max_value);
  }
  std::vector<Statement> statements;
  if (!replaced.empty()) {
    statements.push_back(in_schema(lake, kForgetColumns, {table, Param::int64_array(replaced)}));
  }
  if (!ids.empty()) {
    statements.push_back(
        in_schema(lake, kInsertColumnStats,
                  {table, Param::int64_array(ids), Param::int64_array(nulls),
                   Param::int64_array(nans), Param::text_array(lows), Param::text_array(highs)}));
  }
  return run_all(transaction, statements);
}

Result<std::string> load_schema_folder(pg::Connection& connection, const Lake& lake,
                                       SchemaId schema) {
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kSchemaFolder, {schema})));
  if (rows.empty()) return Error(Code::kCommitFailed, "the namespace was dropped");
  RowReader in(rows.row(0));
  const std::string path = in.text();
  std::string folder = join_path(lake.data_path, path, in.boolean());
  DIL_CHECK_OK(in.status());
  if (!folder.ends_with('/')) folder.push_back('/');
  return folder;
}

Result<bool> is_folder_used(pg::Connection& connection, const Lake& lake,
                            const std::string& schema_folder, const std::string& folder) {
  std::vector<std::string> forms = {folder};
  if (folder.starts_with(schema_folder)) forms.push_back(folder.substr(schema_folder.size()));
  DIL_TRY(pg::ResultSet rows,
          connection.exec(in_schema(lake, kFolderUsed, {Param::text_array(forms)})));
  return rows.row(0).boolean(0);
}

Result<bool> overlaps_tables(pg::Connection& connection, const Lake& lake,
                             const std::string& folder) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(in_schema(lake, kOverlaps, {folder, lake.data_path})));
  return rows.row(0).boolean(0);
}

Status insert_table(pg::Transaction& transaction, const Lake& lake, SnapshotId snapshot,
                    const NewTable& table) {
  return run(transaction, in_schema(lake, kInsertTable,
                                    {table.id, table.uuid, snapshot, table.schema, table.name,
                                     table.path, !table.is_absolute}));
}

Status change_table_path(pg::Transaction& transaction, const Lake& lake, TableId table,
                         SnapshotId snapshot, const std::string& absolute_path) {
  DIL_TRY(pg::Connection * connection, transaction.begun());
  DIL_TRY(std::optional<TableDefinition> now, load_table_definition(*connection, lake, table));
  if (!now) return Error(Code::kCommitFailed, "the table was dropped");
  const std::array<Statement, 3> statements = {
      in_schema(lake, kFixFilePaths, {table, now->table.path}),
      in_schema(lake, kFixDeletePaths, {table, now->table.path}),
      in_schema(lake, kMoveTable, {table, snapshot, absolute_path})};
  return run_all(transaction, statements);
}

Status end_columns(pg::Transaction& transaction, const Lake& lake, TableId table,
                   SnapshotId snapshot, std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  return run(transaction, in_schema(lake, kEndColumns, {table, snapshot, Param::int64_array(ids)}));
}

Status insert_columns(pg::Transaction& transaction, const Lake& lake, TableId table,
                      SnapshotId snapshot, std::span<const ducklake::ColumnRow> rows) {
  if (rows.empty()) return {};
  std::vector<std::int64_t> ids, orders, nulls, parents;
  std::vector<std::string> names, types, kinds;
  std::vector<std::optional<std::string>> initials, defaults;
  for (const ducklake::ColumnRow& row : rows) {
    ids.push_back(row.column_id.value);
    orders.push_back(row.order);
    names.push_back(row.name);
    types.push_back(row.type);
    initials.push_back(row.initial_default);
    defaults.push_back(row.default_value);
    nulls.push_back(row.nulls_allowed ? 1 : 0);
    parents.push_back(row.parent ? row.parent->value : kNone);
    kinds.push_back(row.default_value_type);
  }
  return run(transaction, in_schema(lake, kInsertColumns,
                                    {table, snapshot, Param::int64_array(ids),
                                     Param::int64_array(orders), Param::text_array(names),
                                     Param::text_array(types), Param::text_array(initials),
                                     Param::text_array(defaults), Param::int64_array(nulls),
                                     Param::int64_array(parents), Param::text_array(kinds)}));
}

Status end_column_comments(pg::Transaction& transaction, const Lake& lake, TableId table,
                           SnapshotId snapshot, std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  return run(transaction,
             in_schema(lake, kEndComments, {table, snapshot, Param::int64_array(ids)}));
}

Status insert_column_comment(pg::Transaction& transaction, const Lake& lake, TableId table,
                             SnapshotId snapshot, FieldId column, const std::string& text) {
  return run(transaction,
             in_schema(lake, kInsertComment, {table, std::int64_t{column.value}, snapshot, text}));
}

Status set_table_comment(pg::Transaction& transaction, const Lake& lake, TableId table,
                         SnapshotId snapshot, const std::optional<std::string>& text) {
  std::vector<Statement> statements = {in_schema(lake, kEndTableComment, {table, snapshot})};
  if (text) statements.push_back(in_schema(lake, kInsertTableComment, {table, snapshot, *text}));
  return run_all(transaction, statements);
}

Status set_partitioning(pg::Transaction& transaction, const Lake& lake, TableId table,
                        SnapshotId snapshot, std::int64_t partition_id,
                        std::span<const ducklake::PartitionColumn> columns) {
  std::vector<Statement> statements = {
      in_schema(lake, kEndPartitioning, {table, snapshot}),
      in_schema(lake, kInsertPartitioning, {partition_id, table, snapshot})};
  for (const ducklake::PartitionColumn& column : columns) {
    statements.push_back(in_schema(lake, kInsertPartitionColumn,
                                   {partition_id, table, column.key_index,
                                    std::int64_t{column.column_id.value}, column.transform}));
  }
  return run_all(transaction, statements);
}

Status set_sort_order(pg::Transaction& transaction, const Lake& lake, TableId table,
                      SnapshotId snapshot, std::int64_t sort_id,
                      std::span<const ducklake::SortExpression> expressions) {
  std::vector<Statement> statements = {in_schema(lake, kEndSort, {table, snapshot})};
  if (!expressions.empty()) {
    statements.push_back(in_schema(lake, kInsertSort, {sort_id, table, snapshot}));
  }
  std::int64_t index = 0;
  for (const ducklake::SortExpression& item : expressions) {
    statements.push_back(
        in_schema(lake, kInsertSortExpression,
                  {sort_id, table, index++, item.expression, item.direction, item.null_order}));
  }
  return run_all(transaction, statements);
}

Status insert_schema_version(pg::Transaction& transaction, const Lake& lake, TableId table,
                             const Slot& slot) {
  return run(transaction,
             in_schema(lake, kInsertSchemaVersion, {slot.snapshot, slot.schema_version, table}));
}

}  // namespace duckicelake::store
