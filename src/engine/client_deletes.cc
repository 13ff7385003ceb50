// SPDX-License-Identifier: Apache-2.0
#include "engine/client_deletes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/field_ids.h"
#include "engine/parquet_columns.h"
#include "engine/parquet_tree.h"
#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

using catalog::EqualityColumn;
using PositionsByFile = catalog::DataEngine::PositionsByFile;

constexpr std::size_t kMaxPathBytes = std::size_t{64} << 20U;
constexpr const char* kKeys = "dil_equality_keys";

// The top-level column with the id, else with the name.
Result<const ParquetNode*> delete_column(const FileReference& file, const ParquetTree& tree,
                                         std::int32_t field_id, const std::string& name) {
  DIL_TRY(const ParquetNode* found, tree.find(file, field_id));
  if (found == nullptr || found->parent) {
    DIL_TRY(found, tree.find(file, std::span(&name, 1)));
  }
  if (found == nullptr) {
    return make_error(Code::kCorruptData,
                      "{}: a position-delete file needs the column {} (field id {})", file.uri,
                      name, field_id);
  }
  return found;
}

bool is_integer(std::string_view duckdb_type) {
  constexpr std::array<std::string_view, 8> kIntegers = {
      "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"};
  return std::find(kIntegers.begin(), kIntegers.end(), duckdb_type) != kIntegers.end();
}

Result<std::string> position_deletes_sql(const FileReference& file, const ParquetTree& tree) {
  DIL_TRY(const ParquetNode* path, delete_column(file, tree, field_ids::kIcebergDeleteFilePath,
                                                 field_ids::kDeleteFilePathName));
  DIL_TRY(const ParquetNode* pos, delete_column(file, tree, field_ids::kIcebergDeletePosition,
                                                field_ids::kDeletePositionName));
  if (path->duckdb_type != "VARCHAR" && path->duckdb_type != "BLOB") {
    return corrupt(file, "its file_path column is not text");
  }
  if (!is_integer(pos->duckdb_type)) return corrupt(file, "its pos column is no whole number");
  DIL_TRY(const std::string path_value, tree.value_sql(file, *path));
  DIL_TRY(const std::string pos_value, tree.value_sql(file, *pos));
  return fmt::format("SELECT {}, {} FROM read_parquet($1, {})",
                     cast_sql(*path, path_value, "VARCHAR"), cast_sql(*pos, pos_value, "BIGINT"),
                     kReadOptions);
}

void sort_and_deduplicate(std::vector<std::int64_t>& positions) {
  if (!std::is_sorted(positions.begin(), positions.end())) {
    std::sort(positions.begin(), positions.end());
  }
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
}

// A column to compare, as DuckDB knows it. Numbers that are not whole take two keys, because DuckDB
// holds -0.0 for equal to 0.0.
struct Key {
  std::string type;
  bool is_floating = false;
};

Result<std::vector<Key>> keys_of(std::span<const EqualityColumn> columns) {
  if (columns.empty()) return invalid_argument("equality deletes need a column to compare");
  std::vector<Key> keys;
  for (const EqualityColumn& column : columns) {
    DIL_TRY(std::string type, type_sql({.name = column.name,
                                        .duckdb_type = column.duckdb_type,
                                        .field_id = column.id,
                                        .children = {},
                                        .is_hex_bytes = false}));
    const bool is_floating = type == "FLOAT" || type == "REAL" || type == "DOUBLE";
    keys.push_back({std::move(type), is_floating});
  }
  return keys;
}

std::string key_table_sql(std::span<const Key> keys) {
  std::string sql;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    sql += fmt::format("{}k{} {}", i == 0 ? "" : ", ", i, keys[i].type);
    if (keys[i].is_floating) sql += fmt::format(", z{} BOOLEAN", i);
  }
  return fmt::format("CREATE OR REPLACE TEMP TABLE {} ({})", kKeys, sql);
}

// "value AS k0, …" from the values of the columns.
std::string key_values_sql(std::span<const Key> keys, std::span<const std::string> values) {
  std::string sql;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    sql += fmt::format("{}{} AS k{}", i == 0 ? "" : ", ", values[i], i);
    if (keys[i].is_floating) {
      sql +=
          fmt::format(", CASE WHEN {0} = 0 THEN signbit({0}) ELSE false END AS z{1}", values[i], i);
    }
  }
  return sql;
}

std::string match_sql(std::span<const Key> keys) {
  std::string sql;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    sql += fmt::format("{}d.k{} IS NOT DISTINCT FROM e.k{}", i == 0 ? "" : " AND ", i, i);
    if (keys[i].is_floating) sql += fmt::format(" AND d.z{} = e.z{}", i, i);
  }
  return sql;
}

Error no_leaf(const FileReference& file, const EqualityColumn& column, std::string_view why) {
  return make_error(Code::kCorruptData, "{}: equality column {} (field id {}) {}", file.uri,
                    column.name, column.id.value, why);
}

// Adds the different rows of one delete file to the keys; answers how many rows it has.
Result<std::int64_t> add_keys(Session& session, const FileReference& file,
                              std::span<const EqualityColumn> columns, std::span<const Key> keys,
                              std::int64_t max_rows) {
  DIL_TRY(const std::int64_t count, check_row_count(session, file, max_rows));
  DIL_TRY(const ParquetTree tree, load_parquet_tree(session, file));
  std::vector<std::string> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    DIL_TRY(const ParquetNode* node, tree.find(file, columns[i].id.value));
    if (node == nullptr) return no_leaf(file, columns[i], "is missing");
    if (!node->leaf_number) return no_leaf(file, columns[i], "is not a single value");
    DIL_TRY(const std::string value, tree.value_sql(file, *node));
    values.push_back(cast_sql(*node, value, keys[i].type));
  }
  const Parameter parameters[] = {file.path};
  DIL_CHECK_OK(session.execute(fmt::format("INSERT INTO {} SELECT DISTINCT {} FROM "
                                           "read_parquet($1, {})",
                                           kKeys, key_values_sql(keys, values), kReadOptions),
                               parameters, reading(file)));
  return count;
}

struct DataValues {
  std::vector<std::string> sql;
  std::vector<Parameter> parameters;  // $1 is the file
};

Result<DataValues> data_values(const FileReference& file, const ParquetTree& tree,
                               std::span<const EqualityColumn> columns, std::span<const Key> keys) {
  DataValues out{.sql = {}, .parameters = {file.path}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const EqualityColumn& column = columns[i];
    const ParquetNode* node = nullptr;
    if (column.mapped_path.empty()) {
      // DuckLake would read it by position; to take all its columns for absent would be wrong.
      if (!tree.has_field_ids()) return corrupt(file, "its columns carry no field ids");
      DIL_TRY(node, tree.find(file, column.id.value));
    } else {
      DIL_TRY(node, tree.find(file, column.mapped_path));
    }
    if (node != nullptr) {
      if (!node->leaf_number) return no_leaf(file, column, "is not a single value");
      DIL_TRY(const std::string value, tree.value_sql(file, *node));
      out.sql.push_back(cast_sql(*node, value, keys[i].type));
    } else if (column.default_text) {
      out.parameters.emplace_back(*column.default_text);
      out.sql.push_back(
          fmt::format("CAST(${}::VARCHAR AS {})", out.parameters.size(), keys[i].type));
    } else {
      out.sql.push_back(fmt::format("CAST(NULL AS {})", keys[i].type));
    }
  }
  return out;
}

// read_parquet's row numbers would be hidden behind a column of that name.
Status check_row_numbers(const FileReference& file, const ParquetTree& tree) {
  for (const ParquetNode& node : tree.nodes) {
    if (!node.parent && node.name == "file_row_number") {
      return make_error(Code::kUnsupported,
                        "{}: equality deletes on a table with a column file_row_number", file.uri);
    }
  }
  return {};
}

}  // namespace

Result<PositionsByFile> read_client_position_deletes(Session& session, const FileReference& file,
                                                     std::int64_t max_rows) {
  DIL_CHECK_OK(check_row_count(session, file, max_rows));
  DIL_TRY(const ParquetTree tree, load_parquet_tree(session, file));
  DIL_TRY(const std::string sql, position_deletes_sql(file, tree));
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query(sql, parameters, reading(file)));
  PositionsByFile found;
  auto current = found.end();
  std::int64_t count = 0;
  std::size_t path_bytes = 0;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    if (rows.is_null(0)) return corrupt(file, "a row without file_path");
    if (rows.is_null(1) || rows.int64(1) < 0) return corrupt(file, "a pos is null or below 0");
    if (++count > max_rows) return corrupt(file, "more rows than its footer says");
    const std::string_view path = rows.text(0);
    if (current == found.end() || current->first != path) {
      bool is_new = false;
      std::tie(current, is_new) = found.try_emplace(std::string(path));
      if (is_new) path_bytes += path.size();
      if (path_bytes > kMaxPathBytes) {
        return make_error(Code::kPayloadTooLarge, "{}: it names too many data files", file.uri);
      }
    }
    current->second.push_back(rows.int64(1));
  }
  for (auto& [path, positions] : found) sort_and_deduplicate(positions);
  return found;
}

Result<std::vector<std::int64_t>> find_equality_matches(Session& session,
                                                        const EqualityFiles& files,
                                                        std::span<const EqualityColumn> columns,
                                                        std::int64_t max_rows) {
  DIL_TRY(const std::vector<Key> keys, keys_of(columns));
  if (files.delete_files.empty()) return std::vector<std::int64_t>{};
  const FileReference& data_file = files.data_file;
  const Operation staging{"comparing equality deletes", Code::kInternal};
  DIL_CHECK_OK(session.execute(key_table_sql(keys), {}, staging));
  std::int64_t rows_left = max_rows;
  for (const FileReference& file : files.delete_files) {
    DIL_TRY(const std::int64_t count, add_keys(session, file, columns, keys, rows_left));
    rows_left -= count;
  }
  DIL_TRY(const ParquetTree tree, load_parquet_tree(session, data_file));
  DIL_CHECK_OK(check_row_numbers(data_file, tree));
  DIL_TRY(const DataValues values, data_values(data_file, tree, columns, keys));
  const std::string sql = fmt::format(
      "SELECT d.pos FROM (SELECT file_row_number::BIGINT AS pos, {} FROM read_parquet($1, {}, "
      "file_row_number := true)) d SEMI JOIN {} e ON {}",
      key_values_sql(keys, values.sql), kReadOptions, kKeys, match_sql(keys));
  std::vector<std::int64_t> positions;
  {
    DIL_TRY(Rows rows, session.query(sql, values.parameters, reading(data_file)));
    while (true) {
      DIL_TRY(const bool has_row, rows.next());
      if (!has_row) break;
      if (static_cast<std::int64_t>(positions.size()) == max_rows) {
        return make_error(Code::kPayloadTooLarge, "{}: more than {} rows are deleted",
                          data_file.uri, max_rows);
      }
      positions.push_back(rows.int64(0));
    }
  }
  std::sort(positions.begin(), positions.end());  // a hash join keeps no order
  DIL_CHECK_OK(session.execute(fmt::format("DROP TABLE {}", kKeys), {}, staging));
  return positions;
}

}  // namespace duckicelake::engine
