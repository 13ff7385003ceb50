// SPDX-License-Identifier: Apache-2.0
// Operations of upkeep. Their bodies are optional.
#include "rest/answers.h"
#include "rest/call.h"
#include "rest/operations.h"
#include "rest/requests.h"

namespace duckicelake::rest {
namespace {

constexpr std::int64_t kMaxSeconds = std::int64_t{100} * 366 * 24 * 3600;
constexpr std::int64_t kMaxNames = 10'000;

// nullopt: there is no body, all is as by default.
Result<std::optional<json::Document>> read_body(const Call& call) {
  if (call.request.body.empty()) return std::optional<json::Document>();
  DIL_TRY(json::Document document, parse_body(call.request.body));
  return std::optional<json::Document>(std::move(document));
}

Result<bool> read_flag(const json::Object& root, std::string_view name, bool otherwise) {
  DIL_TRY(const std::optional<bool> given, root.optional_bool(name));
  return given.value_or(otherwise);
}

Result<std::optional<std::int64_t>> read_number(const json::Object& root, std::string_view name,
                                                std::int64_t most) {
  DIL_TRY(const std::optional<std::int64_t> given, root.optional_int64(name));
  if (given && (*given < 0 || *given > most)) {
    return invalid_argument("{} lies between 0 and {}", name, most);
  }
  return given;
}

Result<catalog::CompactOptions> read_compact(const Call& call) {
  catalog::CompactOptions out;
  DIL_TRY(const std::optional<json::Document> body, read_body(call));
  if (!body) return out;
  DIL_TRY(const json::Object root, body->root_object());
  DIL_TRY(out.is_dry_run, read_flag(root, "dry-run", false));
  if (const std::optional<json::Value> share = root.find("delete-threshold")) {
    DIL_TRY(out.delete_threshold, share->as_double());
    if (!(out.delete_threshold >= 0 && out.delete_threshold <= 1)) {
      return share->error("a share of deleted rows lies between 0 and 1");
    }
  }
  DIL_TRY(const std::optional<std::int64_t> age,
          read_number(root, "cleanup-older-than-seconds", kMaxSeconds));
  if (age) out.cleanup_older_than = std::chrono::seconds(*age);
  return out;
}

Result<catalog::MaintainOptions> read_maintain(const Call& call) {
  catalog::MaintainOptions out;
  DIL_TRY(const std::optional<json::Document> body, read_body(call));
  if (!body) return out;
  DIL_TRY(const json::Object root, body->root_object());
  DIL_TRY(out.is_dry_run, read_flag(root, "dry-run", false));
  DIL_TRY(out.expires, read_flag(root, "expire", true));
  DIL_TRY(out.sweeps, read_flag(root, "sweep", true));
  DIL_TRY(const std::optional<std::int64_t> grace, read_number(root, "grace-seconds", kMaxSeconds));
  if (grace) out.grace = std::chrono::seconds(*grace);
  DIL_TRY(const std::optional<std::int64_t> names, read_number(root, "max-names", kMaxNames));
  if (names) out.max_names = static_cast<std::size_t>(*names);
  return out;
}

void write_strings(json::Writer& json, std::string_view name,
                   const std::vector<std::string>& values) {
  json.key(name);
  json.begin_array();
  for (const std::string& value : values) json.value(value);
  json.end_array();
}

void write_files(json::Writer& json, std::string_view name,
                 const catalog::CompactReport::Files& files) {
  json.key(name);
  json.begin_object();
  json.member("data-files", files.data_files);
  json.member("delete-files", files.delete_files);
  json.end_object();
}

void write_expiry(json::Writer& json, const catalog::ExpireReport& report) {
  json.begin_object();
  json.key("tables");
  json.begin_array();
  for (const catalog::TableExpiry& item : report.tables) {
    json.begin_object();
    json.key("namespace");
    write_levels(json, item.table.levels);
    json.member("name", item.table.name);
    json.member("snapshots", item.snapshots);
    write_strings(json, "refs", item.dropped_refs);
    json.end_object();
  }
  json.end_array();
  json.key("ducklake-snapshots");
  json.begin_array();
  for (const SnapshotId id : report.lake_snapshots) json.value(id.value);
  json.end_array();
  json.key("failures");
  json.begin_object();
  for (const auto& [table, why] : report.failures) json.member(table, why);
  json.end_object();
  json.end_object();
}

void write_sweep(json::Writer& json, const catalog::SweepReport& report) {
  json.begin_object();
  json.member("metadata-files", report.metadata_files);
  json.member("iceberg-files", report.iceberg_files);
  json.member("data-files", report.data_files);
  json.member("bytes", report.bytes);
  json.member("young-files", report.young);
  write_strings(json, "names", report.names);
  json.key("rows");
  json.begin_object();
  json.member("side-files", report.side_files);
  json.member("inlined-files", report.inlined_files);
  json.member("revived-paths", report.revived_paths);
  json.member("dropped-tables", report.dead_tables);
  json.member("committed-files", report.committed_files);
  json.member("committed-manifests", report.committed_manifests);
  json.end_object();
  json.end_object();
}

}  // namespace

Answered compact_table(const Context&, Call& call) {
  DIL_TRY(const catalog::CompactOptions options, read_compact(call));
  DIL_TRY(const catalog::CompactReport report,
          call.at->api.compact_table(call.caller, {call.levels, call.name}, options));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("dry-run", options.is_dry_run);
  write_files(json, "before", report.before);
  write_files(json, "after", report.after);
  json.member("inlined-rows", report.inlined_rows);
  json.member("files-rewritten", report.files_rewritten);
  json.member("files-merged", report.files_merged);
  write_strings(json, "removed-objects", report.removed_objects);
  json.end_object();
  return json_answer(std::move(body));
}

Answered expire_table(const Context&, Call& call) {
  bool is_dry_run = false;
  DIL_TRY(const std::optional<json::Document> given, read_body(call));
  if (given) {
    DIL_TRY(const json::Object root, given->root_object());
    DIL_TRY(is_dry_run, read_flag(root, "dry-run", false));
  }
  DIL_TRY(const catalog::ExpireReport report,
          call.at->api.expire_table(call.caller, {call.levels, call.name}, is_dry_run));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("dry-run", is_dry_run);
  json.key("expire");
  write_expiry(json, report);
  json.end_object();
  return json_answer(std::move(body));
}

Answered maintain_catalog(const Context&, Call& call) {
  DIL_TRY(const catalog::MaintainOptions options, read_maintain(call));
  DIL_TRY(const catalog::MaintainReport report, call.at->api.maintain(call.caller, options));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("dry-run", options.is_dry_run);
  if (options.expires) {
    json.key("expire");
    write_expiry(json, report.expiry);
  }
  if (options.sweeps) {
    json.key("sweep");
    write_sweep(json, report.sweep);
  }
  json.end_object();
  return json_answer(std::move(body));
}

}  // namespace duckicelake::rest
