// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "iceberg/type.h"

namespace duckicelake::iceberg {

// A table or view schema (spec "Schemas and Data Types").
struct Schema {
  std::int32_t schema_id = 0;
  std::vector<Field> fields;
  std::vector<FieldId> identifier_field_ids;

  // Depth-first search over all nested fields; nullptr when absent. Valid while this schema lives.
  const Field* find(FieldId id) const;
  // Top-level field by exact name; nullptr when absent.
  const Field* find_top_level(std::string_view name) const;
  // Full dotted name of the field ("a.b.element"), or empty.
  std::string name_of(FieldId id) const;
  FieldId highest_field_id() const;

  // Equal but for schema_id.
  bool same_columns(const Schema& other) const {
    return fields == other.fields && identifier_field_ids == other.identifier_field_ids;
  }
  friend bool operator==(const Schema&, const Schema&) = default;
};

// Calls `visit(field, parent)` for each field depth first; parent is nullptr at the top.
void visit_fields(const std::vector<Field>& fields,
                  const std::function<void(const Field&, const Field* parent)>& visit);

// What every reader relies on: ids are unique, not negative and below the reserved ones (from
// 2147483447), member names are unique in their struct, decimals and fixed have legal parameters,
// lists and maps their parts, map keys are required, unknown is optional, defaults are valid
// primitives, identifier fields are required primitives (no floats) outside lists and maps.
// kInvalidArgument otherwise, naming the field.
Status check_schema(const Schema& schema);

// The lowest format version that can hold the schema.
int required_format_version(const Schema& schema);

}  // namespace duckicelake::iceberg
