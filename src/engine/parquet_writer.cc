// SPDX-License-Identifier: Apache-2.0
#include "engine/parquet_writer.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "engine/batch_append.h"
#include "engine/field_ids.h"
#include "engine/parquet_columns.h"
#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

using catalog::ParquetColumn;
using catalog::TextRow;
using catalog::WrittenParquet;

constexpr const char* kStage = "dil_stage";

Status create_stage(Session& session, std::string_view columns, const Operation& operation) {
  return session.execute(fmt::format("CREATE OR REPLACE TEMP TABLE {} ({})", kStage, columns), {},
                         operation);
}

struct CopyPlan {
  std::string select;
  std::vector<Parameter> parameters;
  std::string field_ids;  // inner text of FIELD_IDS {…}
  std::vector<LeafColumn> leaves;
  Operation operation;
};

// Copies the stage to a file, drops it, and returns the file's bytes with the statistics of
// plan.leaves.
Result<WrittenParquet> copy_stage(Session& session, TempFolder& folder, const CopyPlan& plan) {
  const ScopedFile file(folder.next_file(".parquet"));
  WrittenParquet written;
  {
    const std::string sql =
        fmt::format("COPY ({}) TO {} (FORMAT parquet, FIELD_IDS {{{}}}, RETURN_STATS true)",
                    plan.select, quote_literal(file.path()), plan.field_ids);
    DIL_TRY(Rows rows, session.query(sql, plan.parameters, plan.operation, Fetch::kAtOnce));
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return make_error(Code::kInternal, "{}: no result", plan.operation.what);
    // filename, count, file_size_bytes, footer_size_bytes, column_statistics, partition_keys
    written.record_count = rows.unsigned_as_int64(1);
    written.footer_size = rows.unsigned_as_int64(3);
    const auto statistics_list = rows.map_of_text_maps(4);
    const std::map<std::string, Rows::TextMap> statistics(statistics_list.begin(),
                                                          statistics_list.end());
    for (const LeafColumn& leaf : plan.leaves) {
      const auto found = statistics.find(leaf.statistics_key);
      if (found == statistics.end()) continue;
      written.stats.push_back(to_column_stats(leaf.field_id, found->second, written.record_count));
    }
  }
  DIL_CHECK_OK(session.execute(fmt::format("DROP TABLE {}", kStage), {}, plan.operation));
  DIL_TRY(written.bytes, file.read_all());
  return written;
}

ParquetColumn plain_column(std::string name, const char* type, std::int32_t field_id) {
  return {.name = std::move(name),
          .duckdb_type = type,
          .field_id = FieldId(field_id),
          .children = {},
          .is_hex_bytes = false};
}

Status check_positions(std::span<const std::int64_t> positions) {
  if (positions.empty()) return invalid_argument("a delete file needs at least one position");
  std::int64_t previous = -1;
  for (std::int64_t position : positions) {
    if (position <= previous) {
      return invalid_argument("positions of a delete file must be >= 0 and strictly ascending");
    }
    previous = position;
  }
  return {};
}

bool is_blob(const ParquetColumn& column) {
  return column.duckdb_type == "BLOB" || column.duckdb_type == "BYTEA";
}

// The bytes to stage for a cell: hex is decoded here, all else is cast by DuckDB.
Result<std::string> cell_bytes(const ParquetColumn& column, const std::string& cell) {
  if (!column.is_hex_bytes) return cell;
  std::string_view hex = cell;
  if (hex.starts_with("\\x")) hex.remove_prefix(2);  // PostgreSQL's own spelling of a bytea
  auto bytes = from_hex(hex);
  if (!bytes) return make_error(Code::kCorruptData, "column {}: a cell is not hex", column.name);
  return bytes;
}

Status put_cell(BatchAppender& appender, std::size_t index, const ParquetColumn& column,
                const std::optional<std::string>& cell) {
  if (!cell) {
    appender.put_null(index);
    return {};
  }
  DIL_TRY(const std::string bytes, cell_bytes(column, *cell));
  const bool is_bytes = column.is_hex_bytes && is_blob(column);
  if (!is_bytes && !is_valid_utf8(bytes)) {
    return make_error(Code::kCorruptData, "column {}: a cell is not UTF-8", column.name);
  }
  appender.put_bytes(index, bytes);
  return {};
}

Status check_shape(const RowsToWrite& input) {
  if (input.columns.empty()) return invalid_argument("a file needs at least one column");
  if (input.rows.size() != input.row_ids.size() || input.rows.size() != input.snapshot_ids.size()) {
    return invalid_argument("rows, row ids and snapshot ids differ in number");
  }
  for (const TextRow& row : input.rows) {
    if (row.size() != input.columns.size()) {
      return invalid_argument("a row has {} cells for {} columns", row.size(),
                              input.columns.size());
    }
  }
  return {};
}

Status stage_rows(Session& session, const RowsToWrite& input, const Operation& operation) {
  std::string definition;
  std::vector<duckdb_type> types;
  for (std::size_t i = 0; i < input.columns.size(); ++i) {
    const bool is_bytes = input.columns[i].is_hex_bytes && is_blob(input.columns[i]);
    definition += fmt::format("c{} {}, ", i, is_bytes ? "BLOB" : "VARCHAR");
    types.push_back(is_bytes ? DUCKDB_TYPE_BLOB : DUCKDB_TYPE_VARCHAR);
  }
  definition += "row_id BIGINT, snapshot_id BIGINT";
  types.insert(types.end(), 2, DUCKDB_TYPE_BIGINT);
  DIL_CHECK_OK(create_stage(session, definition, operation));
  DIL_TRY(auto appender, BatchAppender::make(session, kStage, types, operation));
  const std::size_t width = input.columns.size();
  for (std::size_t r = 0; r < input.rows.size(); ++r) {
    for (std::size_t c = 0; c < width; ++c) {
      DIL_CHECK_OK(put_cell(*appender, c, input.columns[c], input.rows[r][c]));
    }
    appender->put_int64(width, input.row_ids[r]);
    appender->put_int64(width + 1, input.snapshot_ids[r]);
    DIL_CHECK_OK(appender->end_row());
  }
  return appender->finish();
}

}  // namespace

Result<WrittenParquet> write_position_deletes(Session& session, TempFolder& folder,
                                              const std::string& data_file_path,
                                              std::span<const std::int64_t> positions) {
  DIL_CHECK_OK(check_positions(positions));
  if (!is_valid_utf8(data_file_path)) return invalid_argument("a file path is not UTF-8");
  const Operation operation{"writing a position-delete file", Code::kInternal};
  DIL_CHECK_OK(create_stage(session, "pos BIGINT", operation));
  {
    const duckdb_type types[] = {DUCKDB_TYPE_BIGINT};
    DIL_TRY(auto appender, BatchAppender::make(session, kStage, types, operation));
    for (std::int64_t position : positions) {
      appender->put_int64(0, position);
      DIL_CHECK_OK(appender->end_row());
    }
    DIL_CHECK_OK(appender->finish());
  }
  const ParquetColumn path =
      plain_column("file_path", "VARCHAR", field_ids::kIcebergDeleteFilePath);
  const ParquetColumn pos = plain_column("pos", "BIGINT", field_ids::kIcebergDeletePosition);
  CopyPlan plan{.select = fmt::format("SELECT $1::VARCHAR AS file_path, pos FROM {}", kStage),
                .parameters = {data_file_path},
                .field_ids = field_id_entry(path) + ", " + field_id_entry(pos),
                .leaves = leaves_of(path),
                .operation = operation};
  plan.leaves.push_back(leaves_of(pos).front());
  return copy_stage(session, folder, plan);
}

Result<WrittenParquet> write_rows(Session& session, TempFolder& folder, const RowsToWrite& input) {
  DIL_CHECK_OK(check_shape(input));
  CopyPlan plan{.select = "SELECT ",
                .parameters = {},
                .field_ids = {},
                .leaves = {},
                .operation = {"writing rows as Parquet", Code::kCorruptData}};
  for (std::size_t i = 0; i < input.columns.size(); ++i) {
    const ParquetColumn& column = input.columns[i];
    DIL_TRY(const std::string type, type_sql(column));
    plan.select += fmt::format("CAST(c{} AS {}) AS {}, ", i, type, quote_identifier(column.name));
    plan.field_ids += field_id_entry(column) + ", ";
    const std::vector<LeafColumn> leaves = leaves_of(column);
    plan.leaves.insert(plan.leaves.end(), leaves.begin(), leaves.end());
  }
  plan.select += fmt::format("row_id AS {}, snapshot_id AS {} FROM {}",
                             quote_identifier(field_ids::kRowIdName),
                             quote_identifier(field_ids::kSnapshotIdName), kStage);
  plan.field_ids +=
      field_id_entry(plain_column(field_ids::kRowIdName, "BIGINT", field_ids::kRowId)) + ", " +
      field_id_entry(plain_column(field_ids::kSnapshotIdName, "BIGINT", field_ids::kSnapshotId));
  DIL_CHECK_OK(stage_rows(session, input, plan.operation));
  return copy_stage(session, folder, plan);
}

}  // namespace duckicelake::engine
