// SPDX-License-Identifier: Apache-2.0
#include "avro/container.h"
#include "iceberg/table_metadata.h"
#include "manifest/manifest.h"
#include "manifest/manifest_schema.h"

namespace duckicelake::manifest {
namespace {

// Branches of ["null", T].
constexpr std::int64_t kNull = 0;
constexpr std::int64_t kPresent = 1;

template <class Int>
void append_optional(std::string& out, const std::optional<Int>& value) {
  avro::append_long(out, value ? kPresent : kNull);
  if (value) avro::append_long(out, *value);
}

void append_optional_bytes(std::string& out, const std::optional<std::string>& value) {
  avro::append_long(out, value ? kPresent : kNull);
  if (value) avro::append_bytes(out, *value);
}

// The start of an optional list or map; false when it is empty, which is written as null.
bool begin_items(std::string& out, std::size_t count) {
  avro::append_long(out, count == 0 ? kNull : kPresent);
  if (count > 0) avro::append_long(out, static_cast<std::int64_t>(count));
  return count > 0;
}

void end_items(std::string& out) { avro::append_long(out, 0); }

void append_counts(std::string& out, const CountMap& counts) {
  if (!begin_items(out, counts.size())) return;
  for (const auto& [id, count] : counts) {
    avro::append_long(out, id);
    avro::append_long(out, count);
  }
  end_items(out);
}

void append_bounds(std::string& out, const BoundMap& bounds) {
  if (!begin_items(out, bounds.size())) return;
  for (const auto& [id, bound] : bounds) {
    avro::append_long(out, id);
    avro::append_bytes(out, bound);
  }
  end_items(out);
}

template <class Int>
void append_list(std::string& out, const std::vector<Int>& values) {
  if (!begin_items(out, values.size())) return;
  for (const Int value : values) avro::append_long(out, value);
  end_items(out);
}

Status check_version(int format_version) {
  if (format_version == 2 || format_version == 3) return {};
  return invalid_argument("manifests of format version {} are not written", format_version);
}

Status check_file(const DataFile& file, const ManifestHeader& header, std::size_t columns) {
  const bool is_data = file.content == Content::kData;
  if (is_data != (header.content == ManifestContent::kData)) {
    return invalid_argument("a data file and a delete file in one manifest");
  }
  if (file.record_count < 0 || file.file_size_in_bytes < 0) {
    return invalid_argument("a data file with a negative size or record count");
  }
  if (file.partition.size() != columns) {
    return invalid_argument("a partition tuple of {} values under a spec of {} fields",
                            file.partition.size(), columns);
  }
  if (header.format_version < 3 &&
      (file.first_row_id || file.content_offset || file.content_size_in_bytes)) {
    return invalid_argument("row ids and deletion vectors need format version 3");
  }
  if (!is_data && file.first_row_id) return invalid_argument("a delete file with a first row id");
  if (file.content_offset.has_value() != file.content_size_in_bytes.has_value() ||
      (file.content_offset && !file.referenced_data_file)) {
    return invalid_argument("a deletion vector without its offset, size or data file");
  }
  if ((file.content == Content::kEqualityDeletes) == file.equality_ids.empty()) {
    return invalid_argument("equality ids belong to equality deletes, and only there");
  }
  return {};
}

Status check_entry(const ManifestEntry& entry) {
  if (entry.status == EntryStatus::kAdded) return {};
  if (entry.sequence_number && entry.file_sequence_number) return {};
  return invalid_argument("an existing or deleted entry without its sequence numbers");
}

Status append_data_file(std::string& out, const DataFile& file, int format_version,
                        std::span<const PartitionColumn> columns) {
  avro::append_long(out, static_cast<std::int64_t>(file.content));
  avro::append_bytes(out, file.file_path);
  avro::append_bytes(out, file.file_format);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    DIL_CHECK_OK(append_partition_value(out, columns[i], file.partition[i]));
  }
  avro::append_long(out, file.record_count);
  avro::append_long(out, file.file_size_in_bytes);
  append_counts(out, file.column_sizes);
  append_counts(out, file.value_counts);
  append_counts(out, file.null_value_counts);
  append_counts(out, file.nan_value_counts);
  append_bounds(out, file.lower_bounds);
  append_bounds(out, file.upper_bounds);
  append_optional_bytes(out, file.key_metadata);
  append_list(out, file.split_offsets);
  append_list(out, file.equality_ids);
  append_optional(out, file.sort_order_id);
  if (format_version >= 3) append_optional(out, file.first_row_id);
  append_optional_bytes(out, file.referenced_data_file);
  if (format_version >= 3) {
    append_optional(out, file.content_offset);
    append_optional(out, file.content_size_in_bytes);
  }
  return {};
}

avro::Metadata manifest_metadata(const ManifestHeader& header) {
  std::string schema;
  iceberg::schema_to_json(header.schema, schema);
  std::string fields;
  iceberg::partition_fields_to_json(header.spec, fields);
  return {{"schema", std::move(schema)},
          {"schema-id", std::to_string(header.schema.schema_id)},
          {"partition-spec", std::move(fields)},
          {"partition-spec-id", std::to_string(header.spec.spec_id)},
          {"format-version", std::to_string(header.format_version)},
          {"content", header.content == ManifestContent::kData ? "data" : "deletes"}};
}

void append_summaries(std::string& out, const std::vector<FieldSummary>& summaries) {
  // An unpartitioned manifest has an empty list, not null: null means that nothing is known.
  avro::append_long(out, kPresent);
  if (!summaries.empty()) avro::append_long(out, static_cast<std::int64_t>(summaries.size()));
  for (const FieldSummary& summary : summaries) {
    avro::append_boolean(out, summary.contains_null);
    avro::append_long(out, summary.contains_nan ? kPresent : kNull);
    if (summary.contains_nan) avro::append_boolean(out, *summary.contains_nan);
    append_optional_bytes(out, summary.lower_bound);
    append_optional_bytes(out, summary.upper_bound);
  }
  end_items(out);
}

bool has_negative(const ManifestFile& file) {
  return file.manifest_length < 0 || file.partition_spec_id < 0 || file.sequence_number < 0 ||
         file.min_sequence_number < 0 || file.added_files_count < 0 ||
         file.existing_files_count < 0 || file.deleted_files_count < 0 ||
         file.added_rows_count < 0 || file.existing_rows_count < 0 || file.deleted_rows_count < 0;
}

Status append_manifest_file(std::string& out, const ManifestFile& file, int format_version) {
  if (has_negative(file)) {
    return invalid_argument("a manifest list entry with an unknown count or a negative number");
  }
  if (file.first_row_id && (format_version < 3 || file.content == ManifestContent::kDeletes)) {
    return invalid_argument("a first row id on a delete manifest or before format version 3");
  }
  avro::append_bytes(out, file.manifest_path);
  avro::append_long(out, file.manifest_length);
  avro::append_long(out, file.partition_spec_id);
  avro::append_long(out, static_cast<std::int64_t>(file.content));
  avro::append_long(out, file.sequence_number);
  avro::append_long(out, file.min_sequence_number);
  avro::append_long(out, file.added_snapshot_id);
  avro::append_long(out, file.added_files_count);
  avro::append_long(out, file.existing_files_count);
  avro::append_long(out, file.deleted_files_count);
  avro::append_long(out, file.added_rows_count);
  avro::append_long(out, file.existing_rows_count);
  avro::append_long(out, file.deleted_rows_count);
  append_summaries(out, file.partitions);
  append_optional_bytes(out, file.key_metadata);
  if (format_version >= 3) append_optional(out, file.first_row_id);
  return {};
}

}  // namespace

Result<std::string> encode_manifest(const ManifestHeader& header,
                                    std::span<const ManifestEntry> entries) {
  DIL_CHECK_OK(check_version(header.format_version));
  DIL_TRY(const std::vector<PartitionColumn> columns,
          partition_columns(header.schema, header.spec));
  avro::ContainerWriter writer(entry_schema(header.format_version, columns),
                               manifest_metadata(header), avro::Codec::kDeflate);
  for (const ManifestEntry& entry : entries) {
    DIL_CHECK_OK(check_entry(entry));
    DIL_CHECK_OK(check_file(entry.data_file, header, columns.size()));
    std::string& out = writer.record();
    avro::append_long(out, static_cast<std::int64_t>(entry.status));
    append_optional(out, entry.snapshot_id);
    append_optional(out, entry.sequence_number);
    append_optional(out, entry.file_sequence_number);
    DIL_CHECK_OK(append_data_file(out, entry.data_file, header.format_version, columns));
    writer.end_record();
  }
  return std::move(writer).finish();
}

Result<std::string> encode_manifest_list(const ManifestListHeader& header,
                                         std::span<const ManifestFile> manifests) {
  DIL_CHECK_OK(check_version(header.format_version));
  // "null" for a missing parent is what the Java implementation writes.
  avro::Metadata metadata = {
      {"snapshot-id", std::to_string(header.snapshot_id)},
      {"parent-snapshot-id",
       header.parent_snapshot_id ? std::to_string(*header.parent_snapshot_id) : "null"},
      {"sequence-number", std::to_string(header.sequence_number)},
      {"format-version", std::to_string(header.format_version)}};
  if (header.format_version >= 3 && header.first_row_id) {
    metadata.emplace_back("first-row-id", std::to_string(*header.first_row_id));
  }
  avro::ContainerWriter writer(list_schema(header.format_version), metadata, avro::Codec::kDeflate);
  for (const ManifestFile& file : manifests) {
    DIL_CHECK_OK(append_manifest_file(writer.record(), file, header.format_version));
    writer.end_record();
  }
  return std::move(writer).finish();
}

}  // namespace duckicelake::manifest
