// SPDX-License-Identifier: Apache-2.0
#include "iceberg/default_names.h"

#include <algorithm>

namespace duckicelake::iceberg {

std::string default_partition_name(std::string_view column, const Transform& transform) {
  switch (transform.kind) {
    case TransformKind::kIdentity: return std::string(column);
    case TransformKind::kBucket: return fmt::format("{}_bucket_{}", column, transform.parameter);
    case TransformKind::kTruncate: return fmt::format("{}_trunc_{}", column, transform.parameter);
    case TransformKind::kVoid: return fmt::format("{}_null", column);
    default: return fmt::format("{}_{}", column, transform.to_text());
  }
}

std::string unique_partition_name(const Schema& schema, const std::vector<PartitionField>& taken,
                                  FieldId source, const Transform& transform) {
  std::string column = schema.name_of(source);
  if (column.empty()) column = fmt::format("field_{}", source.value);
  auto is_taken = [&](std::string_view name) {
    const Field* same_name = schema.find_top_level(name);
    bool is_own_column = transform.kind == TransformKind::kIdentity && same_name != nullptr &&
                         same_name->id == source;
    if (same_name != nullptr && !is_own_column) return true;
    return std::any_of(taken.begin(), taken.end(),
                       [&](const PartitionField& field) { return field.name == name; });
  };
  std::string base = default_partition_name(column, transform);
  std::string name = base;
  for (int i = 2; is_taken(name); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

}  // namespace duckicelake::iceberg
