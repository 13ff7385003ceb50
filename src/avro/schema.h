// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace duckicelake::avro {

enum class Kind : std::uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kRecord,
  kEnum,
  kArray,
  kMap,
  kUnion,
  kFixed,
};

// A type's place in its Schema.
using NodeId = std::uint32_t;

struct RecordField {
  std::string name;
  NodeId type = 0;
  std::optional<std::int32_t> field_id;
  std::string iceberg_name;  // "iceberg-field-name": the name before it was made a valid Avro name
  bool defaults_to_null = false;
};

// One type with the attributes that Iceberg adds (Iceberg spec appendix A "Avro").
struct Node {
  Node() = default;
  explicit Node(Kind k) : kind(k) {}

  Kind kind = Kind::kNull;
  std::string name;          // record, enum, fixed: full name
  std::string logical_type;  // "date", "decimal", "map", …; empty = none
  std::optional<bool> adjust_to_utc;
  std::int32_t precision = 0;              // decimal
  std::int32_t scale = 0;                  // decimal
  std::size_t fixed_size = 0;              // fixed, in bytes
  std::vector<RecordField> fields;         // record
  std::vector<NodeId> children;            // union: branches; array: its item; map: its value
  std::vector<std::string> symbols;        // enum
  std::optional<std::int32_t> element_id;  // array
  std::optional<std::int32_t> key_id;      // map
  std::optional<std::int32_t> value_id;    // map
};

// An Avro schema: its types in one vector, linked by NodeId, so that recursive types need no
// pointers. Immutable once parsed or built; valid NodeIds are those it handed out.
class Schema {
 public:
  // Refuses (kInvalidArgument) malformed or deeply nested JSON, unknown or doubly defined names,
  // more than 10,000 types. Unknown attributes are ignored.
  static Result<Schema> parse(std::string_view text);
  // Compact JSON; a named type stands in full where it is first met and by name after that.
  std::string to_json() const;

  NodeId add(Node node);
  NodeId add(Kind primitive) { return add(Node(primitive)); }
  NodeId add_optional(NodeId type);  // ["null", type]
  void set_root(NodeId root) { root_ = root; }

  const Node& node(NodeId id) const { return nodes_[id]; }
  NodeId root() const { return root_; }

 private:
  friend class SchemaParser;
  std::vector<Node> nodes_;
  NodeId root_ = 0;
};

}  // namespace duckicelake::avro
