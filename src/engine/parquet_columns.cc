// SPDX-License-Identifier: Apache-2.0
#include "engine/parquet_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

using catalog::ColumnStats;
using catalog::ParquetColumn;

constexpr int kMaxDepth = 64;

constexpr std::array<std::string_view, 34> kLeafTypes = {"BOOLEAN",
                                                         "TINYINT",
                                                         "SMALLINT",
                                                         "INTEGER",
                                                         "BIGINT",
                                                         "HUGEINT",
                                                         "UTINYINT",
                                                         "USMALLINT",
                                                         "UINTEGER",
                                                         "UBIGINT",
                                                         "UHUGEINT",
                                                         "FLOAT",
                                                         "DOUBLE",
                                                         "DATE",
                                                         "TIME",
                                                         "TIMETZ",
                                                         "TIME WITH TIME ZONE",
                                                         "TIMESTAMP",
                                                         "TIMESTAMP_S",
                                                         "TIMESTAMP_MS",
                                                         "TIMESTAMP_US",
                                                         "TIMESTAMP_NS",
                                                         "TIMESTAMPTZ",
                                                         "TIMESTAMP WITH TIME ZONE",
                                                         "INTERVAL",
                                                         "VARCHAR",
                                                         "JSON",
                                                         "BLOB",
                                                         "UUID",
                                                         "GEOMETRY",
                                                         "TEXT",
                                                         "BYTEA",
                                                         "REAL",
                                                         "BOOL"};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// "DECIMAL(10, 2)" -> "DECIMAL(10,2)"; nullopt when it is no such text.
std::optional<std::string> decimal_sql(std::string_view type) {
  constexpr std::string_view kPrefix = "DECIMAL(";
  if (!type.starts_with(kPrefix) || !type.ends_with(')')) return std::nullopt;
  type.remove_prefix(kPrefix.size());
  type.remove_suffix(1);
  std::string digits(type);
  std::erase(digits, ' ');
  int precision = 0;
  int scale = 0;
  const char* end = digits.data() + digits.size();
  auto [comma, first] = std::from_chars(digits.data(), end, precision);
  if (first != std::errc() || comma == end || *comma != ',') return std::nullopt;
  auto [rest, second] = std::from_chars(comma + 1, end, scale);
  if (second != std::errc() || rest != end) return std::nullopt;
  if (precision < 1 || precision > 38 || scale < 0 || scale > precision) return std::nullopt;
  return fmt::format("DECIMAL({},{})", precision, scale);
}

Error bad_type(const ParquetColumn& column) {
  return invalid_argument("column {}: {} is not a type that can be written", column.name,
                          column.duckdb_type);
}

Result<std::string> type_sql_at(const ParquetColumn& column, int depth) {
  if (depth > kMaxDepth) return bad_type(column);
  const std::string type = upper(column.duckdb_type);
  if (type.ends_with("[]")) {
    if (column.children.size() != 1) return bad_type(column);
    DIL_TRY(std::string element, type_sql_at(column.children[0], depth + 1));
    return element + "[]";
  }
  if (type.starts_with("STRUCT(")) {
    std::string fields;
    for (const ParquetColumn& child : column.children) {
      DIL_TRY(std::string field, type_sql_at(child, depth + 1));
      fields +=
          fmt::format("{}{} {}", fields.empty() ? "" : ", ", quote_identifier(child.name), field);
    }
    if (fields.empty()) return bad_type(column);
    return "STRUCT(" + fields + ")";
  }
  if (type.starts_with("MAP(")) {
    if (column.children.size() != 2) return bad_type(column);
    DIL_TRY(std::string key, type_sql_at(column.children[0], depth + 1));
    DIL_TRY(std::string value, type_sql_at(column.children[1], depth + 1));
    return fmt::format("MAP({}, {})", key, value);
  }
  if (!column.children.empty()) return bad_type(column);
  if (type == "VARIANT") {
    return make_error(Code::kUnsupported, "column {}: VARIANT cannot be written from text",
                      column.name);
  }
  if (std::find(kLeafTypes.begin(), kLeafTypes.end(), type) != kLeafTypes.end()) return type;
  if (auto decimal = decimal_sql(type)) return *decimal;
  return bad_type(column);
}

void collect_leaves(const ParquetColumn& column, const std::string& prefix,
                    std::vector<LeafColumn>& out) {
  const std::string key = prefix + quote_identifier(column.name);
  if (column.children.empty()) {
    out.push_back({key, column.field_id});
    return;
  }
  for (const ParquetColumn& child : column.children) collect_leaves(child, key + ".", out);
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::string> type_sql(const ParquetColumn& column) { return type_sql_at(column, 0); }

std::string field_id_entry(const ParquetColumn& column) {
  return quote_literal(column.name) + ": " + field_id_sql(column);
}

std::string field_id_sql(const ParquetColumn& column) {
  if (column.children.empty()) return std::to_string(column.field_id.value);
  std::string out = fmt::format("{{__duckdb_field_id: {}", column.field_id.value);
  for (const ParquetColumn& child : column.children) out += ", " + field_id_entry(child);
  return out + "}";
}

std::vector<LeafColumn> leaves_of(const ParquetColumn& column) {
  std::vector<LeafColumn> out;
  collect_leaves(column, "", out);
  return out;
}

ColumnStats to_column_stats(FieldId field_id,
                            const std::vector<std::pair<std::string, std::string>>& statistics,
                            std::int64_t record_count) {
  ColumnStats stats{.field_id = field_id,
                    .column_size_bytes = {},
                    .value_count = {},
                    .null_count = {},
                    .min_value = {},
                    .max_value = {},
                    .contains_nan = {}};
  std::optional<std::int64_t> total;
  for (const auto& [name, value] : statistics) {
    if (name == "column_size_bytes") stats.column_size_bytes = to_number(value);
    if (name == "num_values") total = to_number(value);
    if (name == "null_count") stats.null_count = to_number(value);
    if (name == "min") stats.min_value = value;
    if (name == "max") stats.max_value = value;
    if (name == "has_nan") stats.contains_nan = value == "true";
  }
  if (!total || !stats.null_count || (*total == 0 && record_count > 0)) {
    stats.null_count.reset();
    if (total == 0) stats.column_size_bytes.reset();
  } else {
    stats.value_count = *total - *stats.null_count;
  }
  return stats;
}

}  // namespace duckicelake::engine
