// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"

namespace duckicelake::manifest {

enum class Content : std::uint8_t { kData = 0, kPositionDeletes = 1, kEqualityDeletes = 2 };
enum class EntryStatus : std::uint8_t { kExisting = 0, kAdded = 1, kDeleted = 2 };
enum class ManifestContent : std::uint8_t { kData = 0, kDeletes = 1 };

// Metrics by field id, ascending by id.
using CountMap = std::vector<std::pair<std::int32_t, std::int64_t>>;
using BoundMap = std::vector<std::pair<std::int32_t, iceberg::ValueBytes>>;

// Spec "Data File Fields". Bounds and partition values are in appendix-D binary form.
struct DataFile {
  Content content = Content::kData;
  std::string file_path;
  std::string file_format =
      "PARQUET";  // PARQUET | PUFFIN (deletion vectors) | AVRO | ORC when read
  iceberg::PartitionTuple partition;
  std::int64_t record_count = 0;
  std::int64_t file_size_in_bytes = 0;
  CountMap column_sizes;
  CountMap value_counts;
  CountMap null_value_counts;
  CountMap nan_value_counts;
  BoundMap lower_bounds;
  BoundMap upper_bounds;
  std::optional<std::string> key_metadata;
  std::vector<std::int64_t> split_offsets;
  std::vector<std::int32_t> equality_ids;
  std::optional<std::int32_t> sort_order_id;
  std::optional<std::int64_t> first_row_id;  // v3
  std::optional<std::string> referenced_data_file;
  std::optional<std::int64_t> content_offset;         // v3, deletion vectors
  std::optional<std::int64_t> content_size_in_bytes;  // v3, deletion vectors
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

// Spec "Manifests", manifest_entry. A null snapshot id or sequence number is inherited from the
// manifest list.
struct ManifestEntry {
  EntryStatus status = EntryStatus::kAdded;
  std::optional<std::int64_t> snapshot_id;
  std::optional<std::int64_t> sequence_number;
  std::optional<std::int64_t> file_sequence_number;
  DataFile data_file;
  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

struct FieldSummary {
  bool contains_null = false;
  std::optional<bool> contains_nan;
  std::optional<iceberg::ValueBytes> lower_bound;
  std::optional<iceberg::ValueBytes> upper_bound;
  friend bool operator==(const FieldSummary&, const FieldSummary&) = default;
};

// Spec "Manifest Lists", manifest_file.
struct ManifestFile {
  std::string manifest_path;
  std::int64_t manifest_length = 0;
  std::int32_t partition_spec_id = 0;
  ManifestContent content = ManifestContent::kData;
  std::int64_t sequence_number = 0;
  std::int64_t min_sequence_number = 0;
  std::int64_t added_snapshot_id = 0;
  // Counts are -1 when a version 1 list leaves them out (meaning: not known to be 0); never written
  // so.
  std::int32_t added_files_count = 0;
  std::int32_t existing_files_count = 0;
  std::int32_t deleted_files_count = 0;
  std::int64_t added_rows_count = 0;
  std::int64_t existing_rows_count = 0;
  std::int64_t deleted_rows_count = 0;
  std::vector<FieldSummary> partitions;
  std::optional<std::string> key_metadata;
  std::optional<std::int64_t> first_row_id;  // v3, data manifests
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

// What a manifest file says of itself in its Avro header.
struct ManifestHeader {
  int format_version = 2;
  ManifestContent content = ManifestContent::kData;
  iceberg::Schema schema;
  iceberg::PartitionSpec spec;
};

// The Avro bytes of a manifest (deflate). The partition record is typed by header.spec over
// header.schema; a source column that the schema no longer has makes its field void-like (type from
// `fallback int`, always null).
Result<std::string> encode_manifest(const ManifestHeader& header,
                                    std::span<const ManifestEntry> entries);

struct DecodedManifest {
  ManifestHeader header;
  std::vector<ManifestEntry> entries;
};
// Hostile input: bounded by the input's size and `max_entries`; kInvalidArgument on anything
// malformed. v1 manifests are read with v1's defaults. Entries come as written (no inheritance
// applied).
Result<DecodedManifest> decode_manifest(std::string_view bytes, std::size_t max_entries);

// Applies the spec's inheritance of snapshot id, sequence numbers and first_row_id from the list's
// record.
Status inherit(const ManifestFile& file, std::vector<ManifestEntry>& entries);

// Counts, partition summaries and min_sequence_number of the entries; path, length, sequence_number
// and first_row_id are left to the caller. `sequence_number` is what entries without one will
// inherit.
Result<ManifestFile> summarize(const ManifestHeader& header, std::span<const ManifestEntry> entries,
                               std::int64_t added_snapshot_id, std::int64_t sequence_number);

struct ManifestListHeader {
  int format_version = 2;
  std::int64_t snapshot_id = 0;
  std::optional<std::int64_t> parent_snapshot_id;
  std::int64_t sequence_number = 0;
  std::optional<std::int64_t> first_row_id;  // v3
};
Result<std::string> encode_manifest_list(const ManifestListHeader& header,
                                         std::span<const ManifestFile> manifests);
Result<std::vector<ManifestFile>> decode_manifest_list(std::string_view bytes,
                                                       std::size_t max_manifests);

}  // namespace duckicelake::manifest
