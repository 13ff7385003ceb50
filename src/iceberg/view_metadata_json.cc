// SPDX-License-Identifier: Apache-2.0
#include "iceberg/schema_json.h"
#include "iceberg/snapshot_json.h"
#include "iceberg/view_metadata.h"

namespace duckicelake::iceberg {
namespace {

Result<SqlRepresentation> read_representation(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string_view type, object.require_string("type"));
  if (type != "sql") return value.error("representations of another type than sql are unknown");
  SqlRepresentation query;
  DIL_TRY(std::string_view sql, object.require_string("sql"));
  query.sql = sql;
  DIL_TRY(std::string_view dialect, object.require_string("dialect"));
  query.dialect = dialect;
  return query;
}

Status read_versions(const json::Object& object, ViewMetadata& view) {
  DIL_TRY(json::Array schemas, object.require_array("schemas"));
  for (json::Value item : schemas) {
    DIL_TRY(Schema schema, read_schema(item));
    view.schemas.push_back(std::move(schema));
  }
  DIL_TRY(json::Array versions, object.require_array("versions"));
  for (json::Value item : versions) {
    DIL_TRY(ViewVersion version, read_view_version(item));
    view.versions.push_back(std::move(version));
  }
  DIL_TRY(json::Array log, object.require_array("version-log"));
  for (json::Value item : log) {
    DIL_TRY(json::Object members, item.as_object());
    ViewLogEntry entry;
    DIL_TRY(entry.timestamp_ms, members.require_int64("timestamp-ms"));
    DIL_TRY(entry.version_id, members.require_int32("version-id"));
    view.version_log.push_back(entry);
  }
  return {};
}

}  // namespace

void write_view_version(json::Writer& writer, const ViewVersion& version) {
  writer.begin_object();
  writer.member("version-id", version.version_id);
  writer.member("timestamp-ms", version.timestamp_ms);
  writer.member("schema-id", version.schema_id);
  writer.key("summary");
  write_string_map(writer, version.summary);
  writer.member("default-catalog", version.default_catalog);
  writer.key("default-namespace");
  writer.begin_array();
  for (const std::string& level : version.default_namespace) writer.value(level);
  writer.end_array();
  writer.key("representations");
  writer.begin_array();
  for (const SqlRepresentation& query : version.representations) {
    writer.begin_object();
    writer.member("type", "sql");
    writer.member("sql", query.sql);
    writer.member("dialect", query.dialect);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

Result<ViewVersion> read_view_version(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  ViewVersion version;
  DIL_TRY(version.version_id, object.require_int32("version-id"));
  DIL_TRY(version.timestamp_ms, object.require_int64("timestamp-ms"));
  if (version.timestamp_ms < 0) return value.error("the timestamp-ms is negative");
  DIL_TRY(version.schema_id, object.require_int32("schema-id"));
  DIL_TRY(auto summary, object.optional_object("summary"));
  if (summary.has_value()) {
    DIL_TRY(version.summary, read_string_map(*summary));
  }
  DIL_TRY(auto catalog, object.optional_string("default-catalog"));
  if (catalog.has_value()) version.default_catalog = std::string(*catalog);
  DIL_TRY(json::Array levels, object.require_array("default-namespace"));
  for (json::Value item : levels) {
    DIL_TRY(std::string_view level, item.as_string());
    version.default_namespace.emplace_back(level);
  }
  DIL_TRY(json::Array queries, object.require_array("representations"));
  for (json::Value item : queries) {
    DIL_TRY(SqlRepresentation query, read_representation(item));
    version.representations.push_back(std::move(query));
  }
  return version;
}

std::string view_metadata_to_json(const ViewMetadata& view) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  writer.member("view-uuid", view.view_uuid);
  writer.member("format-version", view.format_version);
  writer.member("location", view.location);
  writer.key("properties");
  write_string_map(writer, view.properties);
  writer.key("schemas");
  writer.begin_array();
  for (const Schema& schema : view.schemas) write_schema(writer, schema);
  writer.end_array();
  writer.member("current-version-id", view.current_version_id);
  writer.key("versions");
  writer.begin_array();
  for (const ViewVersion& version : view.versions) write_view_version(writer, version);
  writer.end_array();
  writer.key("version-log");
  writer.begin_array();
  for (const ViewLogEntry& entry : view.version_log) {
    writer.begin_object();
    writer.member("timestamp-ms", entry.timestamp_ms);
    writer.member("version-id", entry.version_id);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return out;
}

Result<ViewMetadata> view_metadata_from_json(std::string_view json) {
  json::ParseLimits limits;
  limits.max_depth = kSchemaJsonDepth;
  DIL_TRY(json::Document document, json::Document::parse(json, limits));
  DIL_TRY(json::Object object, document.root_object());
  ViewMetadata view;
  DIL_TRY(std::string_view uuid, object.require_string("view-uuid"));
  view.view_uuid = uuid;
  DIL_TRY(view.format_version, object.require_int32("format-version"));
  DIL_TRY(std::string_view location, object.require_string("location"));
  view.location = location;
  DIL_TRY(auto properties, object.optional_object("properties"));
  if (properties.has_value()) {
    DIL_TRY(view.properties, read_string_map(*properties));
  }
  DIL_TRY(view.current_version_id, object.require_int32("current-version-id"));
  DIL_CHECK_OK(read_versions(object, view));
  DIL_CHECK_OK(check_view_metadata(view));
  return view;
}

}  // namespace duckicelake::iceberg
