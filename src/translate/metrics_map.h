// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "iceberg/schema.h"
#include "iceberg/value.h"
#include "manifest/manifest.h"

// Ways through the metrics of manifest entries.
namespace duckicelake::translate {

template <class Map>
auto find_in(const Map& map, std::int32_t id) {
  const auto it =
      std::find_if(map.begin(), map.end(), [&](const auto& m) { return m.first == id; });
  using Value = typename Map::value_type::second_type;
  return it == map.end() ? std::optional<Value>() : std::optional<Value>(it->second);
}

// Calls visit(field, is_repeated) for each leaf; is_repeated: it lies in a list or map.
template <class Visit>
void visit_leaves(const std::vector<iceberg::Field>& fields, bool is_repeated, const Visit& visit) {
  for (const iceberg::Field& field : fields) {
    if (field.type.is_nested()) {
      visit_leaves(field.type.fields, is_repeated || field.type.kind != iceberg::TypeKind::kStruct,
                   visit);
    } else {
      visit(field, is_repeated);
    }
  }
}

inline std::optional<iceberg::ValueBytes> bound_of(const manifest::BoundMap& bounds,
                                                   const iceberg::Field& field) {
  const std::optional<iceberg::ValueBytes> bytes = find_in(bounds, field.id.value);
  if (!bytes) return std::nullopt;
  return iceberg::widen_bound(field.type, *bytes);
}

inline bool is_float(const iceberg::Field& field) {
  return field.type.kind == iceberg::TypeKind::kFloat ||
         field.type.kind == iceberg::TypeKind::kDouble;
}
// Types whose bounds clients shorten.
inline bool may_be_cut(const iceberg::Field& field) {
  return field.type.kind == iceberg::TypeKind::kString ||
         field.type.kind == iceberg::TypeKind::kBinary ||
         field.type.kind == iceberg::TypeKind::kFixed;
}
inline bool has_no_bounds(const iceberg::Field& field) {
  return field.type.kind == iceberg::TypeKind::kVariant ||
         field.type.kind == iceberg::TypeKind::kGeometry ||
         field.type.kind == iceberg::TypeKind::kGeography ||
         field.type.kind == iceberg::TypeKind::kUnknown;
}

}  // namespace duckicelake::translate
