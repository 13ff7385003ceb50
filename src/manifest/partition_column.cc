// SPDX-License-Identifier: Apache-2.0
#include "manifest/partition_column.h"

#include <array>
#include <bit>
#include <limits>
#include <unordered_set>

#include "base/bytes.h"
#include "iceberg/value.h"

namespace duckicelake::manifest {
namespace {

using iceberg::TransformKind;
using iceberg::Type;
using iceberg::TypeKind;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The code point at the start of `text` and its length in bytes; text that is not UTF-8 goes byte
// by byte.
std::pair<std::uint32_t, std::size_t> code_point_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  std::size_t length = 1;
  if (lead >= 0xF0)
    length = 4;
  else if (lead >= 0xE0)
    length = 3;
  else if (lead >= 0xC0)
    length = 2;
  if (length == 1 || length > text.size() || !is_valid_utf8(text.substr(0, length)))
    return {lead, 1};
  std::uint32_t point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    point = (point << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  return {point, length};
}

void append_escaped(std::string& out, std::uint32_t point) {
  if (point < 0x10000) {
    out += fmt::format("_x{:X}", point);
    return;
  }
  const std::uint32_t offset = point - 0x10000;
  out += fmt::format("_x{:X}_x{:X}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
}

// The result type where it does not depend on the source type, for sources that are gone.
std::optional<Type> sourceless_type(TransformKind kind) {
  switch (kind) {
    case TransformKind::kBucket:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kHour: return Type::primitive(TypeKind::kInt);
    case TransformKind::kDay: return Type::primitive(TypeKind::kDate);
    default: return std::nullopt;
  }
}

Status set_type(PartitionColumn& column, const iceberg::PartitionField& field,
                const iceberg::Field* source) {
  if (source != nullptr) {
    DIL_TRY(column.type, field.transform.result_type(source->type));
    if (column.type.is_primitive()) return {};
    return invalid_argument("the partition field \"{}\" is not of a primitive type", field.name);
  }
  if (auto type = sourceless_type(field.transform.kind)) {
    column.type = std::move(*type);
  } else {
    column.type = Type::primitive(TypeKind::kInt);
    column.is_lost = true;
  }
  return {};
}

std::string_view logical_type(TypeKind kind) {
  switch (kind) {
    case TypeKind::kDate: return "date";
    case TypeKind::kTime: return "time-micros";
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz: return "timestamp-micros";
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return "timestamp-nanos";
    case TypeKind::kUuid: return "uuid";
    case TypeKind::kDecimal: return "decimal";
    default: return "";
  }
}

avro::Kind avro_kind(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBoolean: return avro::Kind::kBoolean;
    case TypeKind::kInt:
    case TypeKind::kDate: return avro::Kind::kInt;
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return avro::Kind::kLong;
    case TypeKind::kFloat: return avro::Kind::kFloat;
    case TypeKind::kDouble: return avro::Kind::kDouble;
    case TypeKind::kString: return avro::Kind::kString;
    case TypeKind::kUuid:
    case TypeKind::kFixed:
    case TypeKind::kDecimal: return avro::Kind::kFixed;
    case TypeKind::kUnknown: return avro::Kind::kNull;
    default: return avro::Kind::kBytes;
  }
}

std::size_t fixed_size(const Type& type) {
  if (type.kind == TypeKind::kUuid) return 16;
  if (type.kind == TypeKind::kDecimal) return decimal_size(type.precision);
  return static_cast<std::size_t>(type.length);
}

// Two's complement, big-endian, widened to `size` bytes.
Status append_decimal(std::string& out, std::string_view value, std::size_t size) {
  if (value.empty() || value.size() > size) {
    return invalid_argument("a decimal partition value of {} bytes where at most {} fit",
                            value.size(), size);
  }
  const bool is_negative = (static_cast<unsigned char>(value[0]) & 0x80) != 0;
  out.append(size - value.size(), is_negative ? '\xFF' : '\0');
  out.append(value);
  return {};
}

// The fewest bytes that hold the same number (spec appendix D).
std::string_view minimal_decimal(std::string_view bytes) {
  while (bytes.size() > 1) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    const bool next_is_negative = (static_cast<unsigned char>(bytes[1]) & 0x80) != 0;
    if (first != (next_is_negative ? 0xFF : 0x00)) break;
    bytes.remove_prefix(1);
  }
  return bytes;
}

}  // namespace

Result<std::vector<PartitionColumn>> partition_columns(const iceberg::Schema& schema,
                                                       const iceberg::PartitionSpec& spec) {
  std::vector<PartitionColumn> columns;
  std::unordered_set<std::string> names;
  std::unordered_set<std::int32_t> ids;
  columns.reserve(spec.fields.size());
  for (const iceberg::PartitionField& field : spec.fields) {
    PartitionColumn column;
    column.field_id = field.field_id;
    column.name = field.name;
    DIL_CHECK_OK(set_type(column, field, schema.find(field.source_id)));
    if (field.field_id < 1 || !ids.insert(field.field_id).second) {
      return invalid_argument("the partition field id {} is missing or occurs twice",
                              field.field_id);
    }
    column.avro_name = make_avro_name(field.name);
    while (!names.insert(column.avro_name).second) {
      column.avro_name += fmt::format("_{}", field.field_id);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string make_avro_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const auto [point, length] = code_point_at(name);
    const char c = name[0];
    if (length == 1 && (is_letter(c) || c == '_' || (is_digit(c) && !out.empty()))) {
      out.push_back(c);
    } else if (length == 1 && is_digit(c)) {
      out.push_back('_');
      out.push_back(c);
    } else {
      append_escaped(out, point);
    }
    name.remove_prefix(length);
  }
  return out.empty() ? "_" : out;
}

std::size_t decimal_size(std::int32_t precision) {
  // The highest precision that 1, 2, … bytes can hold.
  constexpr std::array<std::int32_t, 16> kMaxPrecision = {2,  4,  6,  9,  11, 14, 16, 18,
                                                          21, 23, 26, 28, 31, 33, 35, 38};
  for (std::size_t i = 0; i < kMaxPrecision.size(); ++i) {
    if (precision <= kMaxPrecision[i]) return i + 1;
  }
  return kMaxPrecision.size();
}

avro::NodeId add_partition_type(avro::Schema& schema, const PartitionColumn& column) {
  const TypeKind kind = column.type.kind;
  avro::Node node(avro_kind(kind));
  node.logical_type = logical_type(kind);
  if (kind == TypeKind::kTimestamp || kind == TypeKind::kTimestampNs) node.adjust_to_utc = false;
  if (kind == TypeKind::kTimestamptz || kind == TypeKind::kTimestamptzNs) node.adjust_to_utc = true;
  if (node.kind == avro::Kind::kFixed) {
    node.fixed_size = fixed_size(column.type);
    node.precision = column.type.precision;
    node.scale = column.type.scale;
    node.name = fmt::format("fixed_r{}", column.field_id);
  }
  return schema.add(std::move(node));
}

Status append_partition_value(std::string& out, const PartitionColumn& column,
                              const std::optional<iceberg::ValueBytes>& value) {
  if (column.type.kind == TypeKind::kUnknown) return {};  // the type "null" takes no bytes
  avro::append_long(out, value && !column.is_lost ? 1 : 0);
  if (!value || column.is_lost) return {};
  if (!iceberg::is_valid_value(column.type, *value)) {
    return invalid_argument("a value of the partition field \"{}\" is not a valid {}", column.name,
                            iceberg::primitive_to_text(column.type));
  }
  switch (avro_kind(column.type.kind)) {
    case avro::Kind::kBoolean: avro::append_boolean(out, (*value)[0] != '\0'); break;
    case avro::Kind::kInt: avro::append_long(out, read_little_endian<std::int32_t>(*value)); break;
    case avro::Kind::kLong: avro::append_long(out, read_little_endian<std::int64_t>(*value)); break;
    case avro::Kind::kFixed:
      if (column.type.kind == TypeKind::kDecimal) {
        return append_decimal(out, *value, fixed_size(column.type));
      }
      out.append(*value);
      break;
    // Avro keeps both as Iceberg does: IEEE 754, little-endian.
    case avro::Kind::kFloat:
    case avro::Kind::kDouble: out.append(*value); break;
    default: avro::append_bytes(out, *value); break;
  }
  return {};
}

bool can_read_partition_value(const avro::Node& node, const PartitionColumn& column) {
  if (column.is_lost || node.kind == avro::Kind::kNull) return true;
  switch (avro_kind(column.type.kind)) {
    case avro::Kind::kBoolean: return node.kind == avro::Kind::kBoolean;
    case avro::Kind::kInt:
    case avro::Kind::kLong: return avro::is_integer(node.kind);
    case avro::Kind::kFloat: return node.kind == avro::Kind::kFloat;
    case avro::Kind::kDouble: return avro::is_number(node.kind);
    case avro::Kind::kNull: return false;
    case avro::Kind::kFixed:
      if (column.type.kind == TypeKind::kDecimal) {
        return node.kind == avro::Kind::kFixed || node.kind == avro::Kind::kBytes;
      }
      return node.kind == avro::Kind::kFixed && node.fixed_size == fixed_size(column.type);
    default: return avro::is_binary(node.kind);
  }
}

iceberg::ValueBytes read_partition_value(const avro::Node& node, const PartitionColumn& column,
                                         avro::Decoder& decoder) {
  iceberg::ValueBytes value;
  switch (avro_kind(column.type.kind)) {
    case avro::Kind::kBoolean: value = iceberg::value_of_bool(decoder.read_boolean()); break;
    case avro::Kind::kInt: value = iceberg::value_of_int(decoder.read_int()); break;
    case avro::Kind::kLong: value = iceberg::value_of_long(decoder.read_long()); break;
    case avro::Kind::kFloat: value = iceberg::value_of_float(decoder.read_float()); break;
    case avro::Kind::kDouble:
      value = iceberg::value_of_double(avro::read_number(node, decoder));
      break;
    default: value = avro::read_binary(node, decoder); break;
  }
  if (column.type.kind == TypeKind::kDecimal) value = std::string(minimal_decimal(value));
  if (decoder.ok() && !iceberg::is_valid_value(column.type, value)) {
    decoder.fail("a partition value that does not fit its type");
  }
  return value;
}

}  // namespace duckicelake::manifest
