// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"
#include "iceberg/snapshot.h"

namespace duckicelake::iceberg {

struct SnapshotLogEntry {
  std::int64_t timestamp_ms = 0;
  std::int64_t snapshot_id = 0;
  friend bool operator==(const SnapshotLogEntry&, const SnapshotLogEntry&) = default;
};

struct MetadataLogEntry {
  std::int64_t timestamp_ms = 0;
  std::string metadata_file;
  friend bool operator==(const MetadataLogEntry&, const MetadataLogEntry&) = default;
};

// Spec "Table Metadata Fields", versions 2 and 3.
struct TableMetadata {
  int format_version = 2;
  std::string table_uuid;
  std::string location;
  std::int64_t last_sequence_number = 0;
  std::int64_t last_updated_ms = 0;
  std::int32_t last_column_id = 0;
  std::vector<Schema> schemas;
  std::int32_t current_schema_id = 0;
  std::vector<PartitionSpec> partition_specs;
  std::int32_t default_spec_id = 0;
  std::int32_t last_partition_id = 999;
  std::vector<SortOrder> sort_orders;
  std::int32_t default_sort_order_id = 0;
  std::map<std::string, std::string> properties;
  std::optional<std::int64_t> current_snapshot_id;
  std::vector<Snapshot> snapshots;
  std::vector<SnapshotLogEntry> snapshot_log;
  std::vector<MetadataLogEntry> metadata_log;
  std::map<std::string, SnapshotRef> refs;
  std::vector<std::string> statistics;            // JSON objects as given
  std::vector<std::string> partition_statistics;  // JSON objects as given
  std::vector<std::string> encryption_keys;       // v3; JSON objects as given
  std::optional<std::int64_t> next_row_id;        // v3, required there

  friend bool operator==(const TableMetadata&, const TableMetadata&) = default;
};

// JSON codecs (spec appendix C). Absent members are omitted, never null (case A-14); explicit nulls
// in the input count as absent, unknown members are ignored. `*_to_json` append to `out`. To read
// or write a part of a larger document use schema_json.h, partition_spec_json.h, sort_order_json.h,
// snapshot_json.h. Ids that a client leaves to the server are read as 0 (schema-id, spec-id, a
// partition field's field-id).
void schema_to_json(const Schema& schema, std::string& out);
Result<Schema> schema_from_json(std::string_view json);
void partition_spec_to_json(const PartitionSpec& spec, std::string& out);
Result<PartitionSpec> partition_spec_from_json(std::string_view json);
void partition_fields_to_json(const PartitionSpec& spec,
                              std::string& out);  // the "fields" array alone
void sort_order_to_json(const SortOrder& order, std::string& out);
Result<SortOrder> sort_order_from_json(std::string_view json);
void snapshot_to_json(const Snapshot& snapshot, std::string& out);
Result<Snapshot> snapshot_from_json(std::string_view json);
void snapshot_ref_to_json(const SnapshotRef& ref, std::string& out);
Result<SnapshotRef> snapshot_ref_from_json(std::string_view json);

// The metadata document. Writing 1,000 snapshots must be linear and allocation-lean.
std::string metadata_to_json(const TableMetadata& metadata);

// The document in three parts so that a growing table need not be written anew: `head` up to and
// including
// `"snapshots":[`, then the snapshot objects joined by ',', then `tail` from `]` on. The snapshots
// of `metadata` are ignored here.
struct MetadataFrame {
  std::string head;
  std::string tail;
};
MetadataFrame metadata_frame_to_json(const TableMetadata& metadata);

// Validates as the readers do: referenced ids exist, refs name snapshots, current = main, and so
// on. kInvalidArgument with the path of the member; kUnsupported for format versions other than 2
// and 3.
// `main` is added to `refs` when only current-snapshot-id is given; -1 there counts as absent.
Result<TableMetadata> metadata_from_json(std::string_view json);

// The rules that metadata_from_json holds its result to, for metadata made in memory.
Status check_metadata(const TableMetadata& metadata);

}  // namespace duckicelake::iceberg
