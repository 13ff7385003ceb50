// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "iceberg/type.h"

namespace duckicelake::iceberg {

enum class TransformKind : std::uint8_t {
  kIdentity,
  kBucket,
  kTruncate,
  kYear,
  kMonth,
  kDay,
  kHour,
  kVoid,
};

// A partition or sort transform (spec "Partition Transforms").
struct Transform {
  TransformKind kind = TransformKind::kIdentity;
  std::int32_t parameter = 0;  // bucket count or truncate width

  std::string to_text() const;  // "bucket[16]"
  static Result<Transform> parse(std::string_view text);
  // kInvalidArgument when the transform is not defined for the source type.
  Result<Type> result_type(const Type& source) const;
  // Applies the transform to a source value; nullopt in (null) gives nullopt out, void always
  // nullopt. bucket is murmur3 as the spec defines it; year…hour count from 1970 in UTC, floored
  // before it.
  Result<std::optional<ValueBytes>> apply(const Type& source,
                                          const std::optional<ValueBytes>& value) const;
  friend bool operator==(const Transform&, const Transform&) = default;
};

struct PartitionField {
  FieldId source_id;
  std::int32_t field_id = 0;  // from 1000
  std::string name;
  Transform transform;
  friend bool operator==(const PartitionField&, const PartitionField&) = default;
};

struct PartitionSpec {
  std::int32_t spec_id = 0;
  std::vector<PartitionField> fields;  // empty = unpartitioned

  bool is_unpartitioned() const { return fields.empty(); }
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;
};

// The partition tuple of a file, in the order of its spec's fields; nullopt = null.
using PartitionTuple = std::vector<std::optional<ValueBytes>>;

enum class SortDirection : std::uint8_t { kAscending, kDescending };
enum class NullOrder : std::uint8_t { kNullsFirst, kNullsLast };

struct SortField {
  FieldId source_id;
  Transform transform;
  SortDirection direction = SortDirection::kAscending;
  NullOrder null_order = NullOrder::kNullsFirst;
  friend bool operator==(const SortField&, const SortField&) = default;
};

struct SortOrder {
  std::int32_t order_id = 0;  // 0 = unsorted, no fields
  std::vector<SortField> fields;
  friend bool operator==(const SortOrder&, const SortOrder&) = default;
};

}  // namespace duckicelake::iceberg
