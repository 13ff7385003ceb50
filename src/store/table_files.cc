// SPDX-License-Identifier: Apache-2.0
#include "store/table_files.h"

#include <unordered_map>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::RowReader;
using pg::Sql;
using pg::Statement;

// The three statements of a range agree on which files they are about: `{files}` is that choice.
constexpr Sql kDataFiles =
    "SELECT f.data_file_id, f.begin_snapshot, f.end_snapshot, f.path, coalesce(f.path_is_relative, "
    "true), "
    "coalesce(f.file_format, 'parquet'), coalesce(f.record_count, 0), coalesce(f.file_size_bytes, "
    "0), "
    "f.row_id_start, f.partition_id, f.mapping_id, f.partial_max, f.encryption_key IS NOT NULL "
    "FROM {schema}.ducklake_data_file f WHERE f.table_id = $1 AND {files} ORDER BY f.data_file_id";

constexpr Sql kStats =
    "SELECT f.data_file_id, f.column_id, f.column_size_bytes, f.value_count, f.null_count, "
    "f.min_value, "
    "f.max_value, f.contains_nan, f.extra_stats FROM {schema}.ducklake_file_column_stats f "
    "WHERE f.table_id = $1 AND {files}";

constexpr Sql kPartitionValues =
    "SELECT f.data_file_id, f.partition_key_index, f.partition_value "
    "FROM {schema}.ducklake_file_partition_value f WHERE f.table_id = $1 AND {files}";

constexpr Sql kInRange = "f.data_file_id >= $2";
constexpr Sql kById = "f.data_file_id = ANY($2)";

constexpr Sql kEnded =
    "SELECT data_file_id, begin_snapshot, end_snapshot, path, coalesce(path_is_relative, true) "
    "FROM {schema}.ducklake_data_file WHERE table_id = $1 AND end_snapshot > $2 AND data_file_id < "
    "$3 "
    "ORDER BY data_file_id";

constexpr Sql kDeleteFiles =
    "SELECT d.delete_file_id, d.data_file_id, d.begin_snapshot, d.end_snapshot, d.path, "
    "coalesce(d.path_is_relative, true), coalesce(d.format, 'parquet'), coalesce(d.delete_count, "
    "0), "
    "coalesce(d.file_size_bytes, 0), d.partial_max FROM {schema}.ducklake_delete_file d "
    "WHERE d.table_id = $1 AND {files} ORDER BY d.delete_file_id";

constexpr Sql kDeletesInRange = "d.delete_file_id >= $2";
constexpr Sql kDeletesOf = "d.data_file_id = ANY($2)";

constexpr Sql kEndedDeletes =
    "SELECT DISTINCT d.data_file_id FROM {schema}.ducklake_delete_file d "
    "WHERE d.table_id = $1 AND d.end_snapshot > $2";

constexpr Sql kInlinedDeletes = "SELECT file_id, row_id, begin_snapshot FROM {schema}.{table}";
constexpr Sql kInlinedDeletesOf =
    "SELECT file_id, row_id, begin_snapshot FROM {schema}.{table} WHERE file_id = ANY($1)";

constexpr Sql kInlinedRows =
    "SELECT row_id, begin_snapshot, end_snapshot FROM {schema}.{table} ORDER BY begin_snapshot, "
    "row_id";

constexpr Sql kOldestFile =
    "SELECT min(begin_snapshot) FROM {schema}.ducklake_data_file WHERE table_id = $1 "
    "AND end_snapshot IS NULL";
constexpr Sql kOldestInlined =
    "SELECT min(begin_snapshot) FROM {schema}.{table} WHERE end_snapshot IS NULL";

constexpr Sql kInlinedColumns =
    "SELECT a.attname, a.atttypid = 'bytea'::regtype FROM pg_catalog.pg_attribute a "
    "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 "
    "AND NOT a.attisdropped ORDER BY a.attnum";

constexpr Sql kInlinedCells =
    "SELECT * FROM {schema}.{table} WHERE begin_snapshot = $1 ORDER BY row_id";

ducklake::Lifetime lifetime(RowReader& in) {
  ducklake::Lifetime life;
  life.begin = SnapshotId(in.int64());
  if (auto end = in.optional_int64()) life.end = SnapshotId(*end);
  return life;
}

Result<std::vector<ducklake::DataFileRow>> read_data_files(std::span<const pg::ResultSet> results,
                                                           const ducklake::TableRow& table) {
  std::vector<ducklake::DataFileRow> out;
  std::unordered_map<std::int64_t, std::size_t> index;
  out.reserve(results[0].size());
  for (pg::Row row : results[0]) {
    RowReader in(row);
    ducklake::DataFileRow file;
    file.id = DataFileId(in.int64());
    file.life = lifetime(in);
    std::string path = in.text();
    file.path = join_path(table.path, path, in.boolean());
    file.format = in.text();
    file.record_count = in.int64();
    file.file_size_bytes = in.int64();
    file.row_id_start = in.optional_int64();
    file.partition_id = in.optional_int64();
    file.mapping_id = in.optional_int64();
    if (auto partial = in.optional_int64()) file.partial_max = SnapshotId(*partial);
    file.is_encrypted = in.boolean();
    DIL_CHECK_OK(in.status());
    index.emplace(file.id.value, out.size());
    out.push_back(std::move(file));
  }
  for (pg::Row row : results[1]) {
    RowReader in(row);
    const std::int64_t id = in.int64();
    ducklake::ColumnStats stats;
    stats.column_id = FieldId(static_cast<std::int32_t>(in.int64()));
    stats.column_size_bytes = in.optional_int64();
    stats.value_count = in.optional_int64();
    stats.null_count = in.optional_int64();
    stats.min_value = in.optional_text();
    stats.max_value = in.optional_text();
    stats.contains_nan = in.optional_boolean();
    stats.extra_stats = in.optional_text();
    DIL_CHECK_OK(in.status());
    if (auto it = index.find(id); it != index.end())
      out[it->second].stats.push_back(std::move(stats));
  }
  for (pg::Row row : results[2]) {
    RowReader in(row);
    const std::int64_t id = in.int64();
    const std::int64_t key = in.int64();
    auto value = in.optional_text();
    DIL_CHECK_OK(in.status());
    if (auto it = index.find(id); it != index.end()) {
      out[it->second].partition_values[key] = std::move(value);
    }
  }
  return out;
}

std::vector<Statement> data_files_statements(const Lake& lake, TableId table, const Sql& files,
                                             const pg::Param& param) {
  const auto sql = [&](const Sql& text) {
    return pg::sql_with(text, {{"schema", lake.metadata_schema}, {"files", files}});
  };
  std::vector<Statement> statements;
  statements.push_back({sql(kDataFiles), {table, param}});
  statements.push_back({sql(kStats), {table, param}});
  statements.push_back({sql(kPartitionValues), {table, param}});
  return statements;
}

Result<std::vector<ducklake::DataFileRow>> query_data_files(pg::Connection& connection,
                                                            const Lake& lake,
                                                            const ducklake::TableRow& table,
                                                            const Sql& files,
                                                            const pg::Param& param) {
  DIL_TRY(std::vector<pg::ResultSet> results,
          connection.batch(data_files_statements(lake, table.table_id, files, param)));
  return read_data_files(results, table);
}

Statement delete_files_statement(const Lake& lake, TableId table, const Sql& files,
                                 const pg::Param& param) {
  return {pg::sql_with(kDeleteFiles, {{"schema", lake.metadata_schema}, {"files", files}}),
          {table, param}};
}

Result<std::vector<ducklake::DeleteFileRow>> query_delete_files(pg::Connection& connection,
                                                                const Lake& lake,
                                                                const ducklake::TableRow& table,
                                                                const Sql& files,
                                                                const pg::Param& param) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(delete_files_statement(lake, table.table_id, files, param)));
  std::vector<ducklake::DeleteFileRow> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    ducklake::DeleteFileRow file;
    file.id = DeleteFileId(in.int64());
    file.data_file_id = DataFileId(in.int64());
    file.life = lifetime(in);
    std::string path = in.text();
    file.path = join_path(table.path, path, in.boolean());
    file.format = in.text();
    file.delete_count = in.int64();
    file.file_size_bytes = in.int64();
    if (auto partial = in.optional_int64()) file.partial_max = SnapshotId(*partial);
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(file));
  }
  return out;
}

Result<Sql> inlined_sql(const Lake& lake, const Sql& text, std::string_view table) {
  DIL_TRY(pg::SqlIdent name, pg::SqlIdent::make(table));
  return pg::sql_with(text, {{"schema", lake.metadata_schema}, {"table", name}});
}

Statement ended_files_statement(const Lake& lake, TableId table, SnapshotId after,
                                std::int64_t below_file_id) {
  return {pg::sql_for_schema(lake.metadata_schema, kEnded), {table, after, below_file_id}};
}

Statement ended_deletes_statement(const Lake& lake, TableId table, SnapshotId after) {
  return {pg::sql_for_schema(lake.metadata_schema, kEndedDeletes), {table, after}};
}

Result<std::vector<Statement>> oldest_live_statements(
    const Lake& lake, TableId table, std::span<const ducklake::InlinedTable> inlined) {
  std::vector<Statement> out;
  out.push_back({pg::sql_for_schema(lake.metadata_schema, kOldestFile), {table}});
  for (const ducklake::InlinedTable& item : inlined) {
    DIL_TRY(Sql sql, inlined_sql(lake, kOldestInlined, item.name));
    out.push_back({std::move(sql), {}, pg::Prepare::kOnce});
  }
  return out;
}

}  // namespace

Result<std::vector<Statement>> changed_files_statements(
    const Lake& lake, TableId table, std::span<const ducklake::InlinedTable> inlined,
    SnapshotId after, std::int64_t next_file_id) {
  DIL_TRY(std::vector<Statement> out, oldest_live_statements(lake, table, inlined));
  for (Statement& statement : data_files_statements(lake, table, kInRange, next_file_id)) {
    out.push_back(std::move(statement));
  }
  out.push_back(ended_files_statement(lake, table, after, next_file_id));
  out.push_back(delete_files_statement(lake, table, kDeletesInRange, next_file_id));
  out.push_back(ended_deletes_statement(lake, table, after));
  return out;
}

Result<std::vector<ducklake::DataFileRow>> load_data_files(pg::Connection& connection,
                                                           const Lake& lake,
                                                           const ducklake::TableRow& table,
                                                           FileRange range) {
  return query_data_files(connection, lake, table, kInRange, range.min_file_id);
}

Result<std::vector<ducklake::DataFileRow>> load_data_files_by_id(
    pg::Connection& connection, const Lake& lake, const ducklake::TableRow& table,
    std::span<const std::int64_t> ids) {
  if (ids.empty()) return std::vector<ducklake::DataFileRow>();
  return query_data_files(connection, lake, table, kById, pg::Param::int64_array(ids));
}

Result<std::vector<EndedFile>> load_ended_files(pg::Connection& connection, const Lake& lake,
                                                const ducklake::TableRow& table, SnapshotId after,
                                                std::int64_t below_file_id) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(ended_files_statement(lake, table.table_id, after, below_file_id)));
  std::vector<EndedFile> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    EndedFile file;
    file.id = DataFileId(in.int64());
    file.begin = SnapshotId(in.int64());
    file.end = SnapshotId(in.int64());
    std::string path = in.text();
    file.path = join_path(table.path, path, in.boolean());
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(file));
  }
  return out;
}

Result<std::vector<ducklake::DeleteFileRow>> load_delete_files(pg::Connection& connection,
                                                               const Lake& lake,
                                                               const ducklake::TableRow& table,
                                                               FileRange range) {
  return query_delete_files(connection, lake, table, kDeletesInRange, range.min_file_id);
}

Result<std::vector<ducklake::DeleteFileRow>> load_delete_files_of(
    pg::Connection& connection, const Lake& lake, const ducklake::TableRow& table,
    std::span<const std::int64_t> data_files) {
  if (data_files.empty()) return std::vector<ducklake::DeleteFileRow>();
  return query_delete_files(connection, lake, table, kDeletesOf,
                            pg::Param::int64_array(data_files));
}

Result<std::vector<std::int64_t>> load_files_with_ended_deletes(pg::Connection& connection,
                                                                const Lake& lake, TableId table,
                                                                SnapshotId after) {
  DIL_TRY(pg::ResultSet rows, connection.exec(ended_deletes_statement(lake, table, after)));
  std::vector<std::int64_t> out;
  for (pg::Row row : rows) {
    DIL_TRY(std::int64_t id, row.int64(0));
    out.push_back(id);
  }
  return out;
}

Result<std::vector<ducklake::InlinedDelete>> load_inlined_deletes(
    pg::Connection& connection, const Lake& lake, TableId table,
    std::optional<std::span<const std::int64_t>> data_files) {
  const std::string name = fmt::format("ducklake_inlined_delete_{}", table.value);
  DIL_TRY(Sql sql, inlined_sql(lake, data_files ? kInlinedDeletesOf : kInlinedDeletes, name));
  Statement statement{std::move(sql), {}, pg::Prepare::kOnce};
  if (data_files) statement.params.push_back(pg::Param::int64_array(*data_files));
  DIL_TRY(pg::ResultSet rows, connection.exec(statement));
  std::vector<ducklake::InlinedDelete> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    ducklake::InlinedDelete deleted;
    deleted.data_file_id = DataFileId(in.int64());
    deleted.position = in.int64();
    deleted.begin = SnapshotId(in.int64());
    DIL_CHECK_OK(in.status());
    out.push_back(deleted);
  }
  return out;
}

Result<std::vector<ducklake::InlinedRow>> load_inlined_rows(pg::Connection& connection,
                                                            const Lake& lake,
                                                            const ducklake::InlinedTable& table) {
  DIL_TRY(Sql sql, inlined_sql(lake, kInlinedRows, table.name));
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{std::move(sql), {}, pg::Prepare::kOnce}));
  std::vector<ducklake::InlinedRow> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    ducklake::InlinedRow inlined;
    inlined.row_id = in.int64();
    inlined.life = lifetime(in);
    DIL_CHECK_OK(in.status());
    out.push_back(inlined);
  }
  return out;
}

Result<std::optional<SnapshotId>> load_oldest_live(
    pg::Connection& connection, const Lake& lake, TableId table,
    std::span<const ducklake::InlinedTable> inlined) {
  DIL_TRY(std::vector<Statement> statements, oldest_live_statements(lake, table, inlined));
  DIL_TRY(std::vector<pg::ResultSet> results, connection.batch(statements));
  std::optional<SnapshotId> oldest;
  for (const pg::ResultSet& rows : results) {
    DIL_TRY(std::optional<std::int64_t> begin, rows.row(0).optional_int64(0));
    if (begin && (!oldest || *begin < oldest->value)) oldest = SnapshotId(*begin);
  }
  return oldest;
}

Result<InlinedCells> load_inlined_cells(pg::Connection& connection, const Lake& lake,
                                        const ducklake::InlinedTable& table, SnapshotId begin) {
  DIL_TRY(Sql sql, inlined_sql(lake, kInlinedCells, table.name));
  std::vector<Statement> statements;
  statements.push_back({kInlinedColumns, {lake.metadata_schema.name(), table.name}});
  statements.push_back({std::move(sql), {begin}, pg::Prepare::kOnce});
  DIL_TRY(std::vector<pg::ResultSet> results, connection.batch(statements));
  InlinedCells out;
  // The first three columns are row_id, begin_snapshot and end_snapshot.
  constexpr std::size_t kSystemColumns = 3;
  if (results[0].size() < kSystemColumns || results[0].size() != results[1].columns()) {
    return make_error(Code::kCorruptData, "inlined table {} has an unknown form", table.name);
  }
  for (std::size_t i = kSystemColumns; i < results[0].size(); ++i) {
    DIL_TRY(std::string_view name, results[0].row(i).text(0));
    DIL_TRY(bool is_bytea, results[0].row(i).boolean(1));
    out.column_names.emplace_back(name);
    out.is_bytea.push_back(is_bytea);
  }
  for (pg::Row row : results[1]) {
    DIL_TRY(std::int64_t row_id, row.int64(0));
    out.row_ids.push_back(row_id);
    std::vector<std::optional<std::string>> cells;
    cells.reserve(out.column_names.size());
    for (std::size_t i = 0; i < out.column_names.size(); ++i) {
      std::optional<std::string_view> text = row[i + kSystemColumns];
      if (!text) {
        cells.emplace_back();
      } else if (out.is_bytea[i] && text->starts_with("\\x")) {
        cells.emplace_back(text->substr(2));
      } else {
        cells.emplace_back(*text);
      }
    }
    out.rows.push_back(std::move(cells));
  }
  return out;
}

}  // namespace duckicelake::store
