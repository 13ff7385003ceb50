// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"
#include "iceberg/snapshot.h"

namespace duckicelake::iceberg {

// The changes that a commit asks for (REST OpenAPI "TableUpdate"), one struct for each action, as
// the client sent them: ids of schemas, specs, orders and partition fields are the client's wish.
// What becomes of them is up to update_apply.h.

// Where a schema, spec, order or view version is named: the one that this commit added last.
inline constexpr std::int32_t kLastAdded = -1;

struct AssignUuid {
  std::string uuid;
  friend bool operator==(const AssignUuid&, const AssignUuid&) = default;
};

struct UpgradeFormatVersion {
  int format_version = 0;
  friend bool operator==(const UpgradeFormatVersion&, const UpgradeFormatVersion&) = default;
};

struct AddSchema {
  Schema schema;
  // Deprecated in the OpenAPI; the server works it out from the schema.
  std::optional<std::int32_t> last_column_id;
  friend bool operator==(const AddSchema&, const AddSchema&) = default;
};

struct SetCurrentSchema {
  std::int32_t schema_id = 0;  // or kLastAdded
  friend bool operator==(const SetCurrentSchema&, const SetCurrentSchema&) = default;
};

struct AddPartitionSpec {
  PartitionSpec spec;  // a field-id of 0 is left to the server
  friend bool operator==(const AddPartitionSpec&, const AddPartitionSpec&) = default;
};

struct SetDefaultSpec {
  std::int32_t spec_id = 0;  // or kLastAdded
  friend bool operator==(const SetDefaultSpec&, const SetDefaultSpec&) = default;
};

struct AddSortOrder {
  SortOrder order;
  friend bool operator==(const AddSortOrder&, const AddSortOrder&) = default;
};

struct SetDefaultSortOrder {
  std::int32_t order_id = 0;  // or kLastAdded
  friend bool operator==(const SetDefaultSortOrder&, const SetDefaultSortOrder&) = default;
};

struct AddSnapshot {
  Snapshot snapshot;
  friend bool operator==(const AddSnapshot&, const AddSnapshot&) = default;
};

struct SetSnapshotRef {
  std::string name;
  SnapshotRef ref;
  friend bool operator==(const SetSnapshotRef&, const SetSnapshotRef&) = default;
};

struct RemoveSnapshots {
  std::vector<std::int64_t> snapshot_ids;
  friend bool operator==(const RemoveSnapshots&, const RemoveSnapshots&) = default;
};

struct RemoveSnapshotRef {
  std::string name;
  friend bool operator==(const RemoveSnapshotRef&, const RemoveSnapshotRef&) = default;
};

struct SetLocation {
  std::string location;
  friend bool operator==(const SetLocation&, const SetLocation&) = default;
};

struct SetProperties {
  std::map<std::string, std::string> updates;
  friend bool operator==(const SetProperties&, const SetProperties&) = default;
};

struct RemoveProperties {
  std::vector<std::string> removals;
  friend bool operator==(const RemoveProperties&, const RemoveProperties&) = default;
};

struct SetStatistics {
  std::int64_t snapshot_id = 0;  // that of the file
  std::string json;              // a StatisticsFile, checked to be readable by clients
  friend bool operator==(const SetStatistics&, const SetStatistics&) = default;
};

struct RemoveStatistics {
  std::int64_t snapshot_id = 0;
  friend bool operator==(const RemoveStatistics&, const RemoveStatistics&) = default;
};

struct SetPartitionStatistics {
  std::int64_t snapshot_id = 0;
  std::string json;  // a PartitionStatisticsFile, checked likewise
  friend bool operator==(const SetPartitionStatistics&, const SetPartitionStatistics&) = default;
};

struct RemovePartitionStatistics {
  std::int64_t snapshot_id = 0;
  friend bool operator==(const RemovePartitionStatistics&,
                         const RemovePartitionStatistics&) = default;
};

struct RemovePartitionSpecs {
  std::vector<std::int32_t> spec_ids;
  friend bool operator==(const RemovePartitionSpecs&, const RemovePartitionSpecs&) = default;
};

struct RemoveSchemas {
  std::vector<std::int32_t> schema_ids;
  friend bool operator==(const RemoveSchemas&, const RemoveSchemas&) = default;
};

struct AddEncryptionKey {
  std::string key_id;
  std::string json;  // an EncryptedKey, checked likewise
  friend bool operator==(const AddEncryptionKey&, const AddEncryptionKey&) = default;
};

struct RemoveEncryptionKey {
  std::string key_id;
  friend bool operator==(const RemoveEncryptionKey&, const RemoveEncryptionKey&) = default;
};

using TableUpdate =
    std::variant<AssignUuid, UpgradeFormatVersion, AddSchema, SetCurrentSchema, AddPartitionSpec,
                 SetDefaultSpec, AddSortOrder, SetDefaultSortOrder, AddSnapshot, SetSnapshotRef,
                 RemoveSnapshots, RemoveSnapshotRef, SetLocation, SetProperties, RemoveProperties,
                 SetStatistics, RemoveStatistics, SetPartitionStatistics, RemovePartitionStatistics,
                 RemovePartitionSpecs, RemoveSchemas, AddEncryptionKey, RemoveEncryptionKey>;

}  // namespace duckicelake::iceberg
