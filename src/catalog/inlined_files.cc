// SPDX-License-Identifier: Apache-2.0
#include "catalog/inlined_files.h"

#include <algorithm>
#include <unordered_map>

#include "base/quote.h"
#include "json/value.h"
#include "json/writer.h"
#include "translate/column_types.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxColumnDepth = 64;
constexpr std::size_t kMaxIdentifier = 63;  // PostgreSQL cuts longer names

using Children = std::unordered_map<std::int32_t, std::vector<const ducklake::ColumnRow*>>;

// Columns live at `s` by parent (0 = top level; DuckLake's ids begin at 1).
Children children_at(const std::vector<ducklake::ColumnRow>& columns, SnapshotId s) {
  Children out;
  for (const ducklake::ColumnRow& column : columns) {
    if (!column.life.live_at(s)) continue;
    out[column.parent ? column.parent->value : 0].push_back(&column);
  }
  for (auto& [parent, list] : out) {
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) {
      return std::pair(a->order, a->column_id) < std::pair(b->order, b->column_id);
    });
  }
  return out;
}

Result<ParquetColumn> parquet_column(const ducklake::ColumnRow& row, const Children& children,
                                     std::size_t depth) {
  if (depth > kMaxColumnDepth) return Error(Code::kCorruptData, "columns are nested too deeply");
  ParquetColumn out;
  out.name = row.name;
  out.field_id = row.column_id;
  if (auto it = children.find(row.column_id.value); it != children.end()) {
    for (const ducklake::ColumnRow* child : it->second) {
      DIL_TRY(ParquetColumn column, parquet_column(*child, children, depth + 1));
      out.children.push_back(std::move(column));
    }
  }
  if (row.type == "struct") {
    out.duckdb_type = "STRUCT(";
    for (std::size_t i = 0; i < out.children.size(); ++i) {
      if (i > 0) out.duckdb_type.append(", ");
      out.duckdb_type.append(quote_identifier(out.children[i].name))
          .append(" ")
          .append(out.children[i].duckdb_type);
    }
    out.duckdb_type.push_back(')');
  } else if (row.type == "list" && out.children.size() == 1) {
    out.duckdb_type = out.children[0].duckdb_type + "[]";
  } else if (row.type == "map" && out.children.size() == 2) {
    out.duckdb_type =
        "MAP(" + out.children[0].duckdb_type + ", " + out.children[1].duckdb_type + ")";
  } else {
    std::optional<std::string> type = translate::duckdb_leaf_type(row.type);
    if (!type) {
      return make_error(Code::kUnsupported,
                        "column \"{}\" of type {} has inlined rows that cannot be read", row.name,
                        row.type);
    }
    out.duckdb_type = std::move(*type);
  }
  return out;
}

std::string stats_to_json(const std::vector<ColumnStats>& stats) {
  std::string out;
  json::Writer writer(out);
  writer.begin_array();
  for (const ColumnStats& column : stats) {
    writer.begin_object();
    writer.member("id", column.field_id.value);
    writer.member("size", column.column_size_bytes);
    writer.member("values", column.value_count);
    writer.member("nulls", column.null_count);
    writer.member("min", column.min_value);
    writer.member("max", column.max_value);
    writer.member("nan", column.contains_nan);
    writer.end_object();
  }
  writer.end_array();
  return out;
}

Result<std::vector<ducklake::ColumnStats>> stats_from_json(const std::string& text) {
  DIL_TRY(json::Document document, json::Document::parse(text));
  DIL_TRY(json::Array array, document.root().as_array());
  std::vector<ducklake::ColumnStats> out;
  for (json::Value item : array) {
    DIL_TRY(json::Object object, item.as_object());
    ducklake::ColumnStats column;
    DIL_TRY(std::int32_t id, object.require_int32("id"));
    column.column_id = FieldId(id);
    DIL_TRY(column.column_size_bytes, object.optional_int64("size"));
    DIL_TRY(column.value_count, object.optional_int64("values"));
    DIL_TRY(column.null_count, object.optional_int64("nulls"));
    DIL_TRY(auto min, object.optional_string("min"));
    if (min) column.min_value = std::string(*min);
    DIL_TRY(auto max, object.optional_string("max"));
    if (max) column.max_value = std::string(*max);
    DIL_TRY(column.contains_nan, object.optional_bool("nan"));
    out.push_back(std::move(column));
  }
  return out;
}

}  // namespace

std::vector<InlinedGroup> group_inlined_rows(const ducklake::InlinedTable& table,
                                             std::vector<ducklake::InlinedRow> rows) {
  std::vector<InlinedGroup> out;
  for (ducklake::InlinedRow& row : rows) {
    if (out.empty() || out.back().begin != row.life.begin) {
      out.push_back({table, row.life.begin, {}});
    }
    out.back().rows.push_back(row);
  }
  return out;
}

std::vector<translate::HiddenRun> hidden_rows(const store::InlinedFile& file,
                                              const InlinedGroup& group) {
  std::unordered_map<std::int64_t, const ducklake::InlinedRow*> by_id;
  for (const ducklake::InlinedRow& row : group.rows) by_id.emplace(row.row_id, &row);
  std::vector<translate::HiddenRun> out;
  for (std::size_t i = 0; i < file.row_ids.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i);
    auto it = by_id.find(file.row_ids[i]);
    if (it == by_id.end()) {
      out.push_back({position, 1, translate::kAlways, translate::kNever});
    } else if (it->second->life.end) {
      out.push_back({position, 1, it->second->life.end->value, translate::kNever});
    }
  }
  return out;
}

std::int64_t end_of(const InlinedGroup& group) {
  std::int64_t end = translate::kAlways;
  for (const ducklake::InlinedRow& row : group.rows) {
    end = std::max(end, row.life.end ? row.life.end->value : translate::kNever);
  }
  return end;
}

Result<store::InlinedFile> synthesize(pg::Connection& connection, const store::Lake& lake,
                                      const store::TableDefinition& definition,
                                      const InlinedGroup& group, const TablePlaces& places,
                                      const std::string& unique, objstore::ObjectStore& objects,
                                      DataEngine& engine) {
  DIL_TRY(store::InlinedCells cells,
          store::load_inlined_cells(connection, lake, group.table, group.begin));
  const Children children = children_at(definition.columns, group.begin);
  std::vector<ParquetColumn> columns;
  if (auto top = children.find(0); top != children.end()) {
    for (const ducklake::ColumnRow* row : top->second) {
      DIL_TRY(ParquetColumn column, parquet_column(*row, children, 0));
      columns.push_back(std::move(column));
    }
  }
  // The inlined table has the table's columns of that time, in their order.
  if (columns.size() != cells.column_names.size()) {
    return make_error(Code::kCorruptData, "inlined table {} has {} columns where the table has {}",
                      group.table.name, cells.column_names.size(), columns.size());
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name.size() <= kMaxIdentifier && columns[i].name != cells.column_names[i]) {
      return make_error(Code::kCorruptData,
                        "inlined table {} has column \"{}\" where the table has \"{}\"",
                        group.table.name, cells.column_names[i], columns[i].name);
    }
    columns[i].is_hex_bytes = cells.is_bytea[i];
  }
  const std::vector<std::int64_t> snapshots(cells.rows.size(), group.begin.value);
  DIL_TRY(WrittenParquet written, engine.write_rows(columns, cells.rows, cells.row_ids, snapshots));

  store::InlinedFile file;
  file.inlined_table = group.table.name;
  file.begin = group.begin;
  file.path = fmt::format("{}inlined/{}-{}-{}.parquet", places.iceberg_only, group.begin.value,
                          group.table.schema_version, unique);
  file.record_count = written.record_count;
  file.file_size_bytes = static_cast<std::int64_t>(written.bytes.size());
  file.row_ids = std::move(cells.row_ids);
  file.stats = stats_to_json(written.stats);
  DIL_TRY(std::string key, objects.key_of(file.path));
  DIL_CHECK_OK(objects.put(key, written.bytes, {}));
  DIL_CHECK_OK(store::insert_inlined_file(connection, lake, definition.table.table_id, file));
  return file;
}

Result<ducklake::DataFileRow> as_data_file(const store::InlinedFile& file) {
  ducklake::DataFileRow row;
  row.id = DataFileId(file.key);
  row.life.begin = file.begin;
  row.path = file.path;
  row.format = "parquet";
  row.record_count = file.record_count;
  row.file_size_bytes = file.file_size_bytes;
  if (!file.row_ids.empty()) {
    row.row_id_start = *std::min_element(file.row_ids.begin(), file.row_ids.end());
  }
  DIL_TRY(row.stats, stats_from_json(file.stats));
  return row;
}

}  // namespace duckicelake::catalog
