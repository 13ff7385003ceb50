// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

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

}  // namespace duckicelake::iceberg
