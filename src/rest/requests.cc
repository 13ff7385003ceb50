// SPDX-License-Identifier: Apache-2.0
#include "rest/requests.h"

#include <algorithm>

#include "iceberg/schema_json.h"

namespace duckicelake::rest {
namespace {

constexpr std::size_t kMaxRemovals = 10'000;

Result<catalog::TableRef> read_identifier(const json::Object& object) {
  catalog::TableRef out;
  DIL_TRY(const json::Value levels, object.require("namespace"));
  DIL_TRY(out.levels, read_levels(levels));
  DIL_TRY(const std::string_view name, object.require_string("name"));
  out.name = name;
  return out;
}

// CounterResult or TimerResult.
Status check_metric(const json::Value& value) {
  DIL_TRY(const json::Object metric, value.as_object());
  if (metric.has("unit")) {
    DIL_CHECK_OK(metric.require_string("unit"));
    DIL_CHECK_OK(metric.require_int64("value"));
    return {};
  }
  DIL_CHECK_OK(metric.require_string("time-unit"));
  DIL_CHECK_OK(metric.require_int64("count"));
  DIL_CHECK_OK(metric.require_int64("total-duration"));
  return {};
}

Status check_report_members(const json::Object& report) {
  DIL_CHECK_OK(report.require_string("table-name"));
  DIL_CHECK_OK(report.require_int64("snapshot-id"));
  DIL_TRY(const json::Object metrics, report.require_object("metrics"));
  for (const json::Member& metric : metrics) {
    if (!metric.value.is_null()) DIL_CHECK_OK(check_metric(metric.value));
  }
  DIL_CHECK_OK(read_string_map(report, "metadata"));
  return {};
}

Status check_scan_report(const json::Object& report) {
  DIL_CHECK_OK(report.require("filter"));
  DIL_CHECK_OK(report.require_int32("schema-id"));
  DIL_TRY(const json::Array ids, report.require_array("projected-field-ids"));
  for (const json::Value id : ids) DIL_CHECK_OK(id.as_int32());
  DIL_TRY(const json::Array names, report.require_array("projected-field-names"));
  for (const json::Value name : names) DIL_CHECK_OK(name.as_string());
  return {};
}

Status check_commit_report(const json::Object& report) {
  DIL_CHECK_OK(report.require_int64("sequence-number"));
  DIL_CHECK_OK(report.require_string("operation"));
  return {};
}

}  // namespace

Result<json::Document> parse_body(std::string_view body, std::size_t max_bytes) {
  if (body.empty()) return Error(Code::kInvalidArgument, "the request has no body");
  if (body.size() > max_bytes) {
    return make_error(Code::kPayloadTooLarge, "the request's body has more than {} bytes",
                      max_bytes);
  }
  return json::Document::parse(body, {max_bytes, iceberg::kSchemaJsonDepth});
}

Result<catalog::Levels> read_levels(const json::Value& value) {
  DIL_TRY(const json::Array array, value.as_array());
  if (array.empty()) return value.error("a namespace has at least one level");
  catalog::Levels out;
  for (const json::Value level : array) {
    DIL_TRY(const std::string_view text, level.as_string());
    out.emplace_back(text);
  }
  return out;
}

Result<std::map<std::string, std::string>> read_string_map(const json::Object& object,
                                                           std::string_view name) {
  std::map<std::string, std::string> out;
  DIL_TRY(const std::optional<json::Object> map, object.optional_object(name));
  if (!map) return out;
  for (const json::Member& member : *map) {
    if (member.value.is_null()) continue;
    DIL_TRY(const std::string_view text, member.value.as_string());
    out.emplace(member.name, text);
  }
  return out;
}

Result<CreateNamespaceRequest> read_create_namespace(std::string_view body) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object root, document.root_object());
  CreateNamespaceRequest out;
  DIL_TRY(const json::Value levels, root.require("namespace"));
  DIL_TRY(out.levels, read_levels(levels));
  DIL_TRY(out.properties, read_string_map(root, "properties"));
  return out;
}

Result<catalog::PropertiesUpdate> read_properties_update(std::string_view body) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object root, document.root_object());
  catalog::PropertiesUpdate out;
  DIL_TRY(out.updates, read_string_map(root, "updates"));
  DIL_TRY(const std::optional<json::Array> removals, root.optional_array("removals"));
  if (!removals) return out;
  if (removals->size() > kMaxRemovals) {
    return removals->value().error(fmt::format("more than {} keys", kMaxRemovals));
  }
  for (const json::Value key : *removals) {
    DIL_TRY(const std::string_view text, key.as_string());
    out.removals.emplace_back(text);
  }
  std::sort(out.removals.begin(), out.removals.end());
  out.removals.erase(std::unique(out.removals.begin(), out.removals.end()), out.removals.end());
  return out;
}

Result<RenameRequest> read_rename(std::string_view body) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object root, document.root_object());
  RenameRequest out;
  DIL_TRY(const json::Object source, root.require_object("source"));
  DIL_TRY(out.source, read_identifier(source));
  DIL_TRY(const json::Object destination, root.require_object("destination"));
  DIL_TRY(out.destination, read_identifier(destination));
  return out;
}

Result<catalog::CreateViewRequest> read_create_view(std::string_view body,
                                                    const catalog::Levels& levels) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object root, document.root_object());
  catalog::CreateViewRequest out;
  out.view.levels = levels;
  DIL_TRY(const std::string_view name, root.require_string("name"));
  out.view.name = name;
  DIL_TRY(const std::optional<std::string_view> location, root.optional_string("location"));
  if (location) out.location = std::string(*location);
  DIL_TRY(const json::Value schema, root.require("schema"));
  DIL_TRY(out.schema, iceberg::read_schema(schema));
  DIL_TRY(const json::Value version, root.require("view-version"));
  DIL_TRY(out.version, iceberg::read_view_version(version));
  DIL_TRY(out.properties, read_string_map(root, "properties"));
  return out;
}

Result<catalog::RegisterViewRequest> read_register_view(std::string_view body,
                                                        const catalog::Levels& levels) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object root, document.root_object());
  catalog::RegisterViewRequest out;
  out.view.levels = levels;
  DIL_TRY(const std::string_view name, root.require_string("name"));
  out.view.name = name;
  DIL_TRY(const std::string_view location, root.require_string("metadata-location"));
  out.metadata_location = location;
  return out;
}

Result<catalog::CommitViewRequest> read_commit_view(std::string_view body,
                                                    const catalog::TableRef& view) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object root, document.root_object());
  catalog::CommitViewRequest out;
  out.view = view;
  DIL_TRY(const std::optional<json::Object> identifier, root.optional_object("identifier"));
  if (identifier) {
    DIL_TRY(const catalog::TableRef named, read_identifier(*identifier));
    if (named.levels != view.levels || named.name != view.name) {
      return identifier->value().error("it is not the view of the path");
    }
  }
  DIL_TRY(const std::optional<json::Array> requirements, root.optional_array("requirements"));
  if (requirements) {
    DIL_TRY(out.requirements, iceberg::read_view_requirements(*requirements));
  }
  DIL_TRY(const json::Array updates, root.require_array("updates"));
  DIL_TRY(out.updates, iceberg::read_view_updates(updates));
  return out;
}

Result<std::string> read_metrics_report(std::string_view body) {
  DIL_TRY(const json::Document document, parse_body(body, kMaxReportBytes));
  DIL_TRY(const json::Object root, document.root_object());
  DIL_TRY(const std::string_view type, root.require_string("report-type"));
  DIL_CHECK_OK(check_report_members(root));
  if (type == "scan-report") {
    DIL_CHECK_OK(check_scan_report(root));
  } else if (type == "commit-report") {
    DIL_CHECK_OK(check_commit_report(root));
  } else {
    return root.find("report-type")->error("expected scan-report or commit-report");
  }
  return root.value().to_text();
}

}  // namespace duckicelake::rest
