// SPDX-License-Identifier: Apache-2.0
#include "iceberg/table_metadata_json.h"

#include <unordered_set>

#include "iceberg/partition_spec_json.h"
#include "iceberg/schema_json.h"
#include "iceberg/snapshot_json.h"
#include "iceberg/sort_order_json.h"
#include "iceberg/table_metadata.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::string_view kMain = "main";
constexpr std::size_t kMaxMetadataBytes = std::size_t{512} << 20;

template <class T>
void write_array(json::Writer& writer, std::string_view name, const std::vector<T>& items,
                 void (*write)(json::Writer&, const T&)) {
  writer.key(name);
  writer.begin_array();
  for (const T& item : items) write(writer, item);
  writer.end_array();
}

void write_raw(json::Writer& writer, const std::string& json) { writer.raw(json); }

void write_snapshot_log_entry(json::Writer& writer, const SnapshotLogEntry& entry) {
  writer.begin_object();
  writer.member("timestamp-ms", entry.timestamp_ms);
  writer.member("snapshot-id", entry.snapshot_id);
  writer.end_object();
}

void write_metadata_log_entry(json::Writer& writer, const MetadataLogEntry& entry) {
  writer.begin_object();
  writer.member("timestamp-ms", entry.timestamp_ms);
  writer.member("metadata-file", entry.metadata_file);
  writer.end_object();
}

// Everything before the snapshots, in the order that Iceberg Java writes.
void write_head(json::Writer& writer, const TableMetadata& metadata) {
  writer.member("format-version", metadata.format_version);
  writer.member("table-uuid", metadata.table_uuid);
  writer.member("location", metadata.location);
  writer.member("last-sequence-number", metadata.last_sequence_number);
  writer.member("last-updated-ms", metadata.last_updated_ms);
  writer.member("last-column-id", metadata.last_column_id);
  writer.member("current-schema-id", metadata.current_schema_id);
  write_array(writer, "schemas", metadata.schemas, write_schema);
  writer.member("default-spec-id", metadata.default_spec_id);
  write_array(writer, "partition-specs", metadata.partition_specs, write_partition_spec);
  writer.member("last-partition-id", metadata.last_partition_id);
  writer.member("default-sort-order-id", metadata.default_sort_order_id);
  write_array(writer, "sort-orders", metadata.sort_orders, write_sort_order);
  writer.key("properties");
  write_string_map(writer, metadata.properties);
  writer.member("current-snapshot-id", metadata.current_snapshot_id);
  writer.member("next-row-id", metadata.next_row_id);
  if (!metadata.encryption_keys.empty()) {
    write_array(writer, "encryption-keys", metadata.encryption_keys, write_raw);
  }
  writer.key("refs");
  writer.begin_object();
  for (const auto& [name, ref] : metadata.refs) {
    writer.key(name);
    write_snapshot_ref(writer, ref);
  }
  writer.end_object();
  writer.key("snapshots");
  writer.begin_array();
}

void write_tail(json::Writer& writer, const TableMetadata& metadata) {
  writer.end_array();
  write_array(writer, "statistics", metadata.statistics, write_raw);
  write_array(writer, "partition-statistics", metadata.partition_statistics, write_raw);
  write_array(writer, "snapshot-log", metadata.snapshot_log, write_snapshot_log_entry);
  write_array(writer, "metadata-log", metadata.metadata_log, write_metadata_log_entry);
  writer.end_object();
}

template <class T>
Result<std::vector<T>> read_array(const json::Object& object, std::string_view name,
                                  Result<T> (*read)(const json::Value&)) {
  DIL_TRY(auto array, object.optional_array(name));
  std::vector<T> items;
  if (!array.has_value()) return items;
  for (json::Value value : *array) {
    DIL_TRY(T item, read(value));
    items.push_back(std::move(item));
  }
  return items;
}

template <class T>
Result<std::vector<T>> require_array(const json::Object& object, std::string_view name,
                                     Result<T> (*read)(const json::Value&)) {
  DIL_CHECK_OK(object.require_array(name));
  return read_array(object, name, read);
}

Result<SnapshotLogEntry> read_snapshot_log_entry(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  SnapshotLogEntry entry;
  DIL_TRY(entry.timestamp_ms, object.require_int64("timestamp-ms"));
  DIL_TRY(entry.snapshot_id, object.require_int64("snapshot-id"));
  return entry;
}

Result<MetadataLogEntry> read_metadata_log_entry(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  MetadataLogEntry entry;
  DIL_TRY(entry.timestamp_ms, object.require_int64("timestamp-ms"));
  DIL_TRY(std::string_view file, object.require_string("metadata-file"));
  entry.metadata_file = file;
  return entry;
}

Status read_encryption_keys(const json::Object& object, TableMetadata& metadata) {
  DIL_TRY(auto keys, object.optional_array("encryption-keys"));
  if (!keys.has_value()) return {};
  std::unordered_set<std::string_view> ids;
  for (json::Value item : *keys) {
    DIL_TRY(std::string key, read_encryption_key(item));
    DIL_TRY(json::Object members, item.as_object());
    DIL_TRY(std::string_view id, members.require_string("key-id"));
    if (!ids.insert(id).second) return item.error("the key-id is used twice");
    metadata.encryption_keys.push_back(std::move(key));
  }
  return {};
}

Result<std::map<std::string, SnapshotRef>> read_refs(const json::Object& object) {
  std::map<std::string, SnapshotRef> refs;
  DIL_TRY(auto members, object.optional_object("refs"));
  if (!members.has_value()) return refs;
  for (json::Member member : *members) {
    if (member.value.is_null()) continue;
    DIL_TRY(SnapshotRef ref, read_snapshot_ref(member.value));
    refs.emplace(member.name, ref);
  }
  return refs;
}

Status read_basics(const json::Object& object, TableMetadata& metadata) {
  DIL_TRY(metadata.format_version, object.require_int32("format-version"));
  if (metadata.format_version != 2 && metadata.format_version != 3) {
    return make_error(Code::kUnsupported, "format-version {} is not supported, 2 and 3 are",
                      metadata.format_version);
  }
  DIL_TRY(std::string_view uuid, object.require_string("table-uuid"));
  metadata.table_uuid = uuid;
  DIL_TRY(std::string_view location, object.require_string("location"));
  metadata.location = location;
  DIL_TRY(metadata.last_sequence_number, object.require_int64("last-sequence-number"));
  DIL_TRY(metadata.last_updated_ms, object.require_int64("last-updated-ms"));
  DIL_TRY(metadata.last_column_id, object.require_int32("last-column-id"));
  DIL_TRY(auto properties, object.optional_object("properties"));
  if (properties.has_value()) {
    DIL_TRY(metadata.properties, read_string_map(*properties));
  }
  return {};
}

Status read_definitions(const json::Object& object, TableMetadata& metadata) {
  DIL_TRY(metadata.schemas, require_array(object, "schemas", read_schema));
  DIL_TRY(metadata.current_schema_id, object.require_int32("current-schema-id"));
  DIL_TRY(metadata.partition_specs, require_array(object, "partition-specs", read_partition_spec));
  DIL_TRY(metadata.default_spec_id, object.require_int32("default-spec-id"));
  DIL_TRY(metadata.last_partition_id, object.require_int32("last-partition-id"));
  DIL_TRY(metadata.sort_orders, require_array(object, "sort-orders", read_sort_order));
  DIL_TRY(metadata.default_sort_order_id, object.require_int32("default-sort-order-id"));
  return {};
}

Status read_history(const json::Object& object, TableMetadata& metadata) {
  DIL_TRY(metadata.current_snapshot_id, object.optional_int64("current-snapshot-id"));
  if (metadata.current_snapshot_id == -1) metadata.current_snapshot_id.reset();
  DIL_TRY(metadata.snapshots, read_array(object, "snapshots", read_snapshot));
  DIL_TRY(metadata.snapshot_log, read_array(object, "snapshot-log", read_snapshot_log_entry));
  DIL_TRY(metadata.metadata_log, read_array(object, "metadata-log", read_metadata_log_entry));
  DIL_TRY(metadata.statistics, read_array(object, "statistics", read_statistics_file));
  DIL_TRY(metadata.partition_statistics,
          read_array(object, "partition-statistics", read_statistics_file));
  DIL_CHECK_OK(read_encryption_keys(object, metadata));
  DIL_TRY(metadata.refs, read_refs(object));
  if (metadata.current_snapshot_id.has_value()) {
    SnapshotRef main;
    main.snapshot_id = *metadata.current_snapshot_id;
    metadata.refs.emplace(kMain, main);  // keeps a main that is there
  }
  if (metadata.format_version >= 3) {
    DIL_TRY(metadata.next_row_id, object.require_int64("next-row-id"));
  }
  return {};
}

}  // namespace

MetadataFrame metadata_frame_to_json(const TableMetadata& metadata) {
  MetadataFrame frame;
  json::Writer head(frame.head);
  head.begin_object();
  write_head(head, metadata);
  json::Writer tail(frame.tail);
  write_tail(tail, metadata);
  return frame;
}

std::string metadata_to_json(const TableMetadata& metadata) {
  std::string out;
  out.reserve(4096 + 768 * metadata.snapshots.size() + 64 * metadata.snapshot_log.size());
  json::Writer writer(out);
  writer.begin_object();
  write_head(writer, metadata);
  for (const Snapshot& snapshot : metadata.snapshots) write_snapshot(writer, snapshot);
  write_tail(writer, metadata);
  return out;
}

Result<TableMetadata> metadata_from_json(std::string_view json) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxMetadataBytes;
  limits.max_depth = kSchemaJsonDepth;
  DIL_TRY(json::Document document, json::Document::parse(json, limits));
  DIL_TRY(json::Object object, document.root_object());
  TableMetadata metadata;
  DIL_CHECK_OK(read_basics(object, metadata));
  DIL_CHECK_OK(read_definitions(object, metadata));
  DIL_CHECK_OK(read_history(object, metadata));
  DIL_CHECK_OK(check_metadata(metadata));
  return metadata;
}

}  // namespace duckicelake::iceberg
