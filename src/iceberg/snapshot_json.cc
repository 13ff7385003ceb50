// SPDX-License-Identifier: Apache-2.0
#include "iceberg/snapshot_json.h"

#include "iceberg/table_metadata.h"

namespace duckicelake::iceberg {
namespace {

Status check_positive(const json::Value& value, std::string_view name,
                      const std::optional<std::int64_t>& number) {
  if (number.has_value() && *number <= 0) {
    return value.error(fmt::format("{} is not positive", name));
  }
  return {};
}

}  // namespace

void write_string_map(json::Writer& writer, const std::map<std::string, std::string>& map) {
  writer.begin_object();
  for (const auto& [key, value] : map) writer.member(key, value);
  writer.end_object();
}

Result<std::map<std::string, std::string>> read_string_map(const json::Object& object) {
  std::map<std::string, std::string> map;
  for (json::Member member : object) {
    if (member.value.is_null()) continue;
    DIL_TRY(std::string_view text, member.value.as_string());
    map.emplace(member.name, text);
  }
  return map;
}

void write_snapshot(json::Writer& writer, const Snapshot& snapshot) {
  writer.begin_object();
  writer.member("sequence-number", snapshot.sequence_number);
  writer.member("snapshot-id", snapshot.snapshot_id);
  writer.member("parent-snapshot-id", snapshot.parent_snapshot_id);
  writer.member("timestamp-ms", snapshot.timestamp_ms);
  writer.key("summary");
  write_string_map(writer, snapshot.summary);
  writer.member("manifest-list", snapshot.manifest_list);
  writer.member("schema-id", snapshot.schema_id);
  writer.member("first-row-id", snapshot.first_row_id);
  writer.member("added-rows", snapshot.added_rows);
  writer.member("key-id", snapshot.key_id);
  writer.end_object();
}

Result<Snapshot> read_snapshot(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  Snapshot snapshot;
  DIL_TRY(snapshot.snapshot_id, object.require_int64("snapshot-id"));
  DIL_TRY(snapshot.parent_snapshot_id, object.optional_int64("parent-snapshot-id"));
  DIL_TRY(auto sequence_number, object.optional_int64("sequence-number"));
  snapshot.sequence_number = sequence_number.value_or(0);
  DIL_TRY(snapshot.timestamp_ms, object.require_int64("timestamp-ms"));
  DIL_TRY(std::string_view manifest_list, object.require_string("manifest-list"));
  snapshot.manifest_list = manifest_list;
  DIL_TRY(auto summary, object.optional_object("summary"));
  if (summary.has_value()) {
    DIL_TRY(snapshot.summary, read_string_map(*summary));
  }
  DIL_TRY(snapshot.schema_id, object.optional_int32("schema-id"));
  DIL_TRY(snapshot.first_row_id, object.optional_int64("first-row-id"));
  DIL_TRY(snapshot.added_rows, object.optional_int64("added-rows"));
  DIL_TRY(auto key_id, object.optional_string("key-id"));
  if (key_id.has_value()) snapshot.key_id = std::string(*key_id);
  if (snapshot.snapshot_id < 0) return value.error("snapshot-id is negative");
  if (snapshot.sequence_number < 0) return value.error("sequence-number is negative");
  if (snapshot.first_row_id.value_or(0) < 0) return value.error("first-row-id is negative");
  if (snapshot.added_rows.value_or(0) < 0) return value.error("added-rows is negative");
  if (snapshot.first_row_id.has_value() && !snapshot.added_rows.has_value()) {
    return value.error("first-row-id needs added-rows");
  }
  return snapshot;
}

void write_snapshot_ref(json::Writer& writer, const SnapshotRef& ref) {
  writer.begin_object();
  writer.member("snapshot-id", ref.snapshot_id);
  writer.member("type", ref.type == RefType::kBranch ? "branch" : "tag");
  writer.member("min-snapshots-to-keep", ref.min_snapshots_to_keep);
  writer.member("max-snapshot-age-ms", ref.max_snapshot_age_ms);
  writer.member("max-ref-age-ms", ref.max_ref_age_ms);
  writer.end_object();
}

Result<SnapshotRef> read_snapshot_ref(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  SnapshotRef ref;
  DIL_TRY(ref.snapshot_id, object.require_int64("snapshot-id"));
  DIL_TRY(std::string_view type, object.require_string("type"));
  if (type != "branch" && type != "tag") return value.error("type is not branch or tag");
  ref.type = type == "branch" ? RefType::kBranch : RefType::kTag;
  DIL_TRY(ref.min_snapshots_to_keep, object.optional_int32("min-snapshots-to-keep"));
  DIL_TRY(ref.max_snapshot_age_ms, object.optional_int64("max-snapshot-age-ms"));
  DIL_TRY(ref.max_ref_age_ms, object.optional_int64("max-ref-age-ms"));
  DIL_CHECK_OK(check_positive(value, "min-snapshots-to-keep", ref.min_snapshots_to_keep));
  DIL_CHECK_OK(check_positive(value, "max-snapshot-age-ms", ref.max_snapshot_age_ms));
  DIL_CHECK_OK(check_positive(value, "max-ref-age-ms", ref.max_ref_age_ms));
  if (ref.type == RefType::kTag && (ref.min_snapshots_to_keep || ref.max_snapshot_age_ms)) {
    return value.error("a tag keeps no other snapshots, so it has no retention of them");
  }
  return ref;
}

void snapshot_to_json(const Snapshot& snapshot, std::string& out) {
  json::Writer writer(out);
  write_snapshot(writer, snapshot);
}

Result<Snapshot> snapshot_from_json(std::string_view json) {
  DIL_TRY(json::Document document, json::Document::parse(json));
  return read_snapshot(document.root());
}

void snapshot_ref_to_json(const SnapshotRef& ref, std::string& out) {
  json::Writer writer(out);
  write_snapshot_ref(writer, ref);
}

Result<SnapshotRef> snapshot_ref_from_json(std::string_view json) {
  DIL_TRY(json::Document document, json::Document::parse(json));
  return read_snapshot_ref(document.root());
}

}  // namespace duckicelake::iceberg
