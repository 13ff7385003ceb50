// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "iceberg/table_metadata.h"
#include "json/value.h"

namespace duckicelake::iceberg {

// What a commit assumes about the table (REST OpenAPI "TableRequirement"), one struct for each.

struct AssertCreate {
  friend bool operator==(const AssertCreate&, const AssertCreate&) = default;
};

struct AssertTableUuid {
  std::string uuid;
  friend bool operator==(const AssertTableUuid&, const AssertTableUuid&) = default;
};

struct AssertRefSnapshotId {
  std::string ref;
  std::optional<std::int64_t> snapshot_id;  // absent: the ref must not exist
  friend bool operator==(const AssertRefSnapshotId&, const AssertRefSnapshotId&) = default;
};

struct AssertLastAssignedFieldId {
  std::int32_t last_assigned_field_id = 0;
  friend bool operator==(const AssertLastAssignedFieldId&,
                         const AssertLastAssignedFieldId&) = default;
};

struct AssertCurrentSchemaId {
  std::int32_t current_schema_id = 0;
  friend bool operator==(const AssertCurrentSchemaId&, const AssertCurrentSchemaId&) = default;
};

struct AssertLastAssignedPartitionId {
  std::int32_t last_assigned_partition_id = 0;
  friend bool operator==(const AssertLastAssignedPartitionId&,
                         const AssertLastAssignedPartitionId&) = default;
};

struct AssertDefaultSpecId {
  std::int32_t default_spec_id = 0;
  friend bool operator==(const AssertDefaultSpecId&, const AssertDefaultSpecId&) = default;
};

struct AssertDefaultSortOrderId {
  std::int32_t default_sort_order_id = 0;
  friend bool operator==(const AssertDefaultSortOrderId&,
                         const AssertDefaultSortOrderId&) = default;
};

using Requirement =
    std::variant<AssertCreate, AssertTableUuid, AssertRefSnapshotId, AssertLastAssignedFieldId,
                 AssertCurrentSchemaId, AssertLastAssignedPartitionId, AssertDefaultSpecId,
                 AssertDefaultSortOrderId>;

inline constexpr std::size_t kMaxRequirements = 10'000;

// The "requirements" of a commit. kInvalidArgument with the path for an unknown type, for one of
// views and for more than the limit.
Result<std::vector<Requirement>> read_requirements(const json::Array& array);

// kCommitFailed when the requirement does not hold for `base`, in the words of Iceberg Java, which
// clients and their tests look for. `base` is nullptr when there is no table of the name; refs are
// those of `base.refs`, main included.
Status check_requirement(const Requirement& requirement, const TableMetadata* base);

}  // namespace duckicelake::iceberg
