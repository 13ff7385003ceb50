// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace duckicelake::iceberg {

// Iceberg types (format/spec.md, "Schemas and Data Types").
enum class TypeKind : std::uint8_t {
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kTimestamptz,
  kTimestampNs,
  kTimestamptzNs,
  kString,
  kUuid,
  kFixed,
  kBinary,
  kVariant,
  kGeometry,
  kGeography,
  kUnknown,
  kStruct,
  kList,
  kMap,
};

struct Field;

// A type by value. Equality is structural and includes the field ids, names, docs and defaults of
// children.
struct Type {
  TypeKind kind = TypeKind::kUnknown;
  std::int32_t precision = 0;  // decimal
  std::int32_t scale = 0;      // decimal
  std::int32_t length = 0;     // fixed
  std::string crs;             // geometry, geography; empty = the default (OGC:CRS84)
  std::string algorithm;       // geography; empty = the default (spherical)
  std::vector<Field> fields;   // struct: members; list: one "element"; map: "key", "value"

  static Type primitive(TypeKind kind);
  static Type decimal(std::int32_t precision, std::int32_t scale);
  static Type fixed(std::int32_t length);
  static Type structure(std::vector<Field> fields);
  static Type list(Field element);
  static Type map(Field key, Field value);

  bool is_nested() const { return kind >= TypeKind::kStruct; }
  bool is_primitive() const { return !is_nested(); }
  friend bool operator==(const Type&, const Type&);
};

// A single value in Iceberg's binary form (spec appendix D, "Binary single-value serialization"):
// how bounds, partition values and defaults are held everywhere in this project. Typed by its
// context.
using ValueBytes = std::string;

struct Field {
  FieldId id;
  std::string name;
  bool required = false;
  Type type;
  std::optional<std::string> doc;
  std::optional<ValueBytes> initial_default;  // v3, primitives only
  std::optional<ValueBytes> write_default;    // v3, primitives only

  friend bool operator==(const Field&, const Field&) = default;
};

inline bool operator==(const Type& a, const Type& b) {
  return a.kind == b.kind && a.precision == b.precision && a.scale == b.scale &&
         a.length == b.length && a.crs == b.crs && a.algorithm == b.algorithm &&
         a.fields == b.fields;
}

// "int", "decimal(9,2)", "fixed[16]", "geometry(srid:3857)"; nested types have no text form.
std::string primitive_to_text(const Type& type);
// The reverse; accepts the spacing that other writers use ("decimal(9, 2)"). kInvalidArgument
// otherwise.
Result<Type> parse_primitive(std::string_view text);

// The lowest format version that can hold the type (nested: of all its parts and their defaults).
int required_format_version(const Type& type);

}  // namespace duckicelake::iceberg
