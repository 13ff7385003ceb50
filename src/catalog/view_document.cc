// SPDX-License-Identifier: Apache-2.0
#include "catalog/view_document.h"

#include <algorithm>
#include <cctype>

#include "iceberg/table_metadata.h"
#include "json/writer.h"

namespace duckicelake::catalog {
namespace {

using iceberg::Type;
using iceberg::TypeKind;

// DuckDB's names of result types; anything nested or unknown is described as a string.
Type iceberg_type(const std::string& duckdb_type) {
  const auto is = [&](std::string_view name) { return duckdb_type == name; };
  if (is("BOOLEAN")) return Type::primitive(TypeKind::kBoolean);
  if (is("TINYINT") || is("SMALLINT") || is("INTEGER") || is("UTINYINT") || is("USMALLINT")) {
    return Type::primitive(TypeKind::kInt);
  }
  if (is("BIGINT") || is("UINTEGER")) return Type::primitive(TypeKind::kLong);
  if (is("FLOAT")) return Type::primitive(TypeKind::kFloat);
  if (is("DOUBLE") || is("HUGEINT") || is("UHUGEINT")) return Type::primitive(TypeKind::kDouble);
  if (is("DATE")) return Type::primitive(TypeKind::kDate);
  if (is("TIME")) return Type::primitive(TypeKind::kTime);
  if (is("TIMESTAMP") || is("TIMESTAMP_S") || is("TIMESTAMP_MS") || is("TIMESTAMP_NS")) {
    return Type::primitive(TypeKind::kTimestamp);
  }
  if (is("TIMESTAMP WITH TIME ZONE")) return Type::primitive(TypeKind::kTimestamptz);
  if (is("UUID")) return Type::primitive(TypeKind::kUuid);
  if (is("BLOB")) return Type::primitive(TypeKind::kBinary);
  if (duckdb_type.starts_with("DECIMAL(")) {
    std::string text = duckdb_type;
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (auto parsed = iceberg::parse_primitive(text); parsed.has_value()) return *parsed;
  }
  return Type::primitive(TypeKind::kString);
}

// DuckLake stores the names of a view's tables with a placeholder for the catalog in front of them.
std::string without_placeholder(std::string sql) {
  constexpr std::string_view kPlaceholder = "{DUCKLAKE_CATALOG}.";
  for (std::size_t at = sql.find(kPlaceholder); at != std::string::npos;
       at = sql.find(kPlaceholder, at)) {
    sql.erase(at, kPlaceholder.size());
  }
  return sql;
}

}  // namespace

std::string view_document(const store::NamespaceRow& ns, const store::ViewRow& view,
                          const std::string& location,
                          const std::vector<DataEngine::ViewColumn>& columns) {
  iceberg::Schema schema;
  std::int32_t id = 0;
  for (const DataEngine::ViewColumn& column : columns) {
    iceberg::Field field;
    field.id = FieldId(++id);
    field.name = column.name;
    field.type = iceberg_type(column.duckdb_type);
    schema.fields.push_back(std::move(field));
  }
  std::string schema_json;
  iceberg::schema_to_json(schema, schema_json);
  const std::int64_t timestamp_ms = view.begin_time_micros / 1000;

  std::string out;
  json::Writer w(out);
  w.begin_object();
  w.member("view-uuid", view.uuid);
  w.member("format-version", 1);
  w.member("location", location);
  w.key("schemas");
  w.begin_array();
  w.raw(schema_json);
  w.end_array();
  w.member("current-version-id", 1);
  w.key("versions");
  w.begin_array();
  w.begin_object();
  w.member("version-id", 1);
  w.member("timestamp-ms", timestamp_ms);
  w.member("schema-id", schema.schema_id);
  w.key("summary");
  w.begin_object();
  w.member("operation", "create");
  w.end_object();
  w.key("representations");
  w.begin_array();
  w.begin_object();
  w.member("type", "sql");
  w.member("sql", without_placeholder(view.sql));
  w.member("dialect", view.dialect);
  w.end_object();
  w.end_array();
  w.key("default-namespace");
  w.begin_array();
  for (const std::string& level : ns.levels) w.value(level);
  w.end_array();
  w.end_object();
  w.end_array();
  w.key("version-log");
  w.begin_array();
  w.begin_object();
  w.member("timestamp-ms", timestamp_ms);
  w.member("version-id", 1);
  w.end_object();
  w.end_array();
  w.key("properties");
  w.begin_object();
  w.member("comment", view.comment);
  w.end_object();
  w.end_object();
  return out;
}

}  // namespace duckicelake::catalog
