// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "iceberg/value.h"
#include "manifest/manifest.h"
#include "manifest/partition_column.h"

namespace duckicelake::manifest {
namespace {

using iceberg::TypeKind;

bool is_floating(TypeKind kind) { return kind == TypeKind::kFloat || kind == TypeKind::kDouble; }

bool is_nan(TypeKind kind, std::string_view value) {
  if (kind == TypeKind::kFloat) {
    return std::isnan(std::bit_cast<float>(read_little_endian<std::uint32_t>(value)));
  }
  return kind == TypeKind::kDouble &&
         std::isnan(std::bit_cast<double>(read_little_endian<std::uint64_t>(value)));
}

// Gathers one partition field over all entries. Views point into the entries.
class FieldStats {
 public:
  explicit FieldStats(const PartitionColumn& column) : column_(column) {}

  Status add(const std::optional<iceberg::ValueBytes>& value) {
    if (!value || column_.is_lost || column_.type.kind == TypeKind::kUnknown) {
      contains_null_ = true;
      return {};
    }
    if (!iceberg::is_valid_value(column_.type, *value)) {
      return invalid_argument("a value of the partition field \"{}\" is not a valid {}",
                              column_.name, iceberg::primitive_to_text(column_.type));
    }
    if (is_nan(column_.type.kind, *value)) {
      contains_nan_ = true;
    } else if (!lower_) {
      lower_ = upper_ = *value;
    } else if (iceberg::compare_values(column_.type, *value, *lower_) < 0) {
      lower_ = *value;
    } else if (iceberg::compare_values(column_.type, *value, *upper_) > 0) {
      upper_ = *value;
    }
    return {};
  }

  FieldSummary summary() const {
    FieldSummary result;
    result.contains_null = contains_null_;
    if (is_floating(column_.type.kind)) result.contains_nan = contains_nan_;
    if (!lower_) return result;
    result.lower_bound = iceberg::truncate_lower(column_.type, *lower_);
    result.upper_bound = iceberg::truncate_upper(column_.type, *upper_);
    // Readers take a missing bound for "all values are null", so a bound that cannot be cut stays
    // whole.
    if (!result.upper_bound) result.upper_bound = *upper_;
    return result;
  }

 private:
  const PartitionColumn& column_;
  bool contains_null_ = false;
  bool contains_nan_ = false;
  std::optional<std::string_view> lower_;
  std::optional<std::string_view> upper_;
};

Status count(ManifestFile& file, const ManifestEntry& entry) {
  std::int32_t* files = &file.deleted_files_count;
  std::int64_t* rows = &file.deleted_rows_count;
  if (entry.status == EntryStatus::kAdded) {
    files = &file.added_files_count;
    rows = &file.added_rows_count;
  } else if (entry.status == EntryStatus::kExisting) {
    files = &file.existing_files_count;
    rows = &file.existing_rows_count;
  }
  const std::int64_t more = entry.data_file.record_count;
  if (more < 0 || more > std::numeric_limits<std::int64_t>::max() - *rows ||
      *files == std::numeric_limits<std::int32_t>::max()) {
    return invalid_argument("the entries of a manifest count more rows than fit");
  }
  *rows += more;
  ++*files;
  return {};
}

Status inherit_sequence_numbers(const ManifestFile& file, ManifestEntry& entry) {
  if (!entry.snapshot_id) entry.snapshot_id = file.added_snapshot_id;
  if (entry.sequence_number && entry.file_sequence_number) return {};
  // Manifests of version 1 have no sequence numbers; theirs is 0, whatever the status.
  if (entry.status != EntryStatus::kAdded && file.sequence_number != 0) {
    return invalid_argument("an existing or deleted entry without its sequence numbers");
  }
  if (!entry.sequence_number) entry.sequence_number = file.sequence_number;
  if (!entry.file_sequence_number) entry.file_sequence_number = file.sequence_number;
  return {};
}

}  // namespace

Result<ManifestFile> summarize(const ManifestHeader& header, std::span<const ManifestEntry> entries,
                               std::int64_t added_snapshot_id, std::int64_t sequence_number) {
  DIL_TRY(const std::vector<PartitionColumn> columns,
          partition_columns(header.schema, header.spec));
  std::vector<FieldStats> stats;
  stats.reserve(columns.size());
  for (const PartitionColumn& column : columns) stats.emplace_back(column);

  ManifestFile file;
  file.partition_spec_id = header.spec.spec_id;
  file.content = header.content;
  file.added_snapshot_id = added_snapshot_id;
  std::optional<std::int64_t> min_sequence_number;
  for (const ManifestEntry& entry : entries) {
    DIL_CHECK_OK(count(file, entry));
    if (entry.data_file.partition.size() != columns.size()) {
      return invalid_argument("a partition tuple of {} values under a spec of {} fields",
                              entry.data_file.partition.size(), columns.size());
    }
    for (std::size_t i = 0; i < stats.size(); ++i) {
      DIL_CHECK_OK(stats[i].add(entry.data_file.partition[i]));
    }
    if (entry.status == EntryStatus::kDeleted) continue;
    const std::int64_t own = entry.sequence_number.value_or(sequence_number);
    min_sequence_number = std::min(min_sequence_number.value_or(own), own);
  }
  file.min_sequence_number = min_sequence_number.value_or(sequence_number);
  file.partitions.reserve(stats.size());
  for (const FieldStats& field : stats) file.partitions.push_back(field.summary());
  return file;
}

Status inherit(const ManifestFile& file, std::vector<ManifestEntry>& entries) {
  std::optional<std::int64_t> next_row_id = file.first_row_id;
  if (file.content == ManifestContent::kDeletes) next_row_id.reset();
  for (ManifestEntry& entry : entries) {
    DIL_CHECK_OK(inherit_sequence_numbers(file, entry));
    // Deleted entries take no range: the list's first_row_id of the next manifest counts only added
    // and existing rows.
    if (!next_row_id || entry.status == EntryStatus::kDeleted || entry.data_file.first_row_id)
      continue;
    const std::int64_t rows = entry.data_file.record_count;
    if (rows < 0 || rows > std::numeric_limits<std::int64_t>::max() - *next_row_id) {
      return invalid_argument("row ids of a manifest beyond 64 bits");
    }
    entry.data_file.first_row_id = *next_row_id;
    *next_row_id += rows;
  }
  return {};
}

}  // namespace duckicelake::manifest
