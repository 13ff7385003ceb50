// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace duckicelake::iceberg {

// Spec "Snapshots". `summary` holds "operation" too; all values are strings.
struct Snapshot {
  std::int64_t snapshot_id = 0;
  std::optional<std::int64_t> parent_snapshot_id;
  std::int64_t sequence_number = 0;
  std::int64_t timestamp_ms = 0;
  std::string manifest_list;  // absolute URI
  std::map<std::string, std::string> summary;
  std::optional<std::int32_t> schema_id;
  std::optional<std::int64_t> first_row_id;  // v3
  std::optional<std::int64_t> added_rows;    // v3
  std::optional<std::string> key_id;         // v3, of the key that encrypts the manifest list
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

enum class RefType : std::uint8_t { kBranch, kTag };

struct SnapshotRef {
  std::int64_t snapshot_id = 0;
  RefType type = RefType::kBranch;
  std::optional<std::int32_t> min_snapshots_to_keep;
  std::optional<std::int64_t> max_snapshot_age_ms;
  std::optional<std::int64_t> max_ref_age_ms;
  friend bool operator==(const SnapshotRef&, const SnapshotRef&) = default;
};

}  // namespace duckicelake::iceberg
