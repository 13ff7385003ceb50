// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <limits>

#include "base/bytes.h"
#include "iceberg/decimal.h"
#include "iceberg/murmur3.h"
#include "iceberg/partition_spec.h"
#include "iceberg/temporal.h"
#include "iceberg/utf8.h"
#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

std::string_view kind_text(TransformKind kind) {
  switch (kind) {
    case TransformKind::kIdentity: return "identity";
    case TransformKind::kBucket: return "bucket";
    case TransformKind::kTruncate: return "truncate";
    case TransformKind::kYear: return "year";
    case TransformKind::kMonth: return "month";
    case TransformKind::kDay: return "day";
    case TransformKind::kHour: return "hour";
    case TransformKind::kVoid: return "void";
  }
  return "void";
}

bool is_timestamp(TypeKind kind) {
  return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestamptz ||
         kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
}

TimeUnit unit_of(TypeKind kind) {
  return kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs ? TimeUnit::kNanos
                                                                            : TimeUnit::kMicros;
}

// Spec "Partition Transforms", column "Source types".
bool accepts(TransformKind transform, TypeKind source) {
  switch (transform) {
    case TransformKind::kIdentity:
      return source < TypeKind::kVariant || source == TypeKind::kUnknown;
    case TransformKind::kBucket:
      return source < TypeKind::kVariant && source != TypeKind::kBoolean &&
             source != TypeKind::kFloat && source != TypeKind::kDouble;
    case TransformKind::kTruncate:
      return source == TypeKind::kInt || source == TypeKind::kLong ||
             source == TypeKind::kDecimal || source == TypeKind::kString ||
             source == TypeKind::kBinary;
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay: return source == TypeKind::kDate || is_timestamp(source);
    case TransformKind::kHour: return is_timestamp(source);
    case TransformKind::kVoid: return true;
  }
  return false;
}

std::int32_t hash_long(std::int64_t value) { return murmur3_32(value_of_long(value)); }

std::int32_t hash(const Type& source, std::string_view value) {
  switch (source.kind) {
    case TypeKind::kInt:
    case TypeKind::kDate: return hash_long(read_little_endian<std::int32_t>(value));
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
      return hash_long(floor_divide(read_little_endian<std::int64_t>(value), 1000));
    case TypeKind::kDecimal: return murmur3_32(value_of_decimal(*decimal_from_bytes(value)));
    default:
      return murmur3_32(value);  // long, time, timestamps are held as the bytes that are hashed
  }
}

template <class T>
Result<ValueBytes> truncate_integer(T value, std::int32_t width) {
  std::int64_t rest = static_cast<std::int64_t>(value) % width;
  if (rest < 0) rest += width;
  // Wrapping around would give a value above the source and lose rows in pruning.
  if (value < std::numeric_limits<T>::min() + rest) {
    return invalid_argument("the truncated value is out of range");
  }
  ValueBytes out;
  append_little_endian<T>(out, static_cast<T>(value - rest));
  return out;
}

Result<ValueBytes> truncate(const Type& source, std::string_view value, std::int32_t width) {
  auto length = static_cast<std::size_t>(width);
  switch (source.kind) {
    case TypeKind::kInt: return truncate_integer(read_little_endian<std::int32_t>(value), width);
    case TypeKind::kLong: return truncate_integer(read_little_endian<std::int64_t>(value), width);
    case TypeKind::kDecimal: {
      Int128 unscaled = *decimal_from_bytes(value);
      Int128 rest = unscaled % width;
      if (rest < 0) rest += width;
      // 16 bytes can hold values outside 38 digits.
      constexpr Int128 kLowest = -(Int128{1} << 126) - (Int128{1} << 126);
      if (unscaled < kLowest + rest) {
        return invalid_argument("the truncated value is out of range");
      }
      return value_of_decimal(unscaled - rest);
    }
    case TypeKind::kString: return ValueBytes(utf8_prefix(value, length));
    default: return ValueBytes(value.substr(0, length));
  }
}

Result<ValueBytes> temporal_part(TransformKind kind, const Type& source, std::string_view value) {
  std::int64_t days = 0;
  if (source.kind == TypeKind::kDate) {
    days = read_little_endian<std::int32_t>(value);
  } else {
    auto time = read_little_endian<std::int64_t>(value);
    std::int64_t unit = per_second(unit_of(source.kind));
    if (kind == TransformKind::kHour) {
      std::int64_t hours = floor_divide(time, 3600 * unit);
      if (hours != static_cast<std::int32_t>(hours)) {
        return invalid_argument("the hour of the timestamp is out of range");
      }
      return value_of_int(static_cast<std::int32_t>(hours));
    }
    days = floor_divide(time, 86'400 * unit);
  }
  if (kind == TransformKind::kDay) return value_of_int(static_cast<std::int32_t>(days));
  CivilDate date = civil_from_days(days);
  std::int64_t part = date.year - 1970;
  if (kind == TransformKind::kMonth) part = part * 12 + date.month - 1;
  return value_of_int(static_cast<std::int32_t>(part));
}

}  // namespace

std::string Transform::to_text() const {
  if (kind != TransformKind::kBucket && kind != TransformKind::kTruncate) {
    return std::string(kind_text(kind));
  }
  return fmt::format("{}[{}]", kind_text(kind), parameter);
}

Result<Transform> Transform::parse(std::string_view text) {
  for (TransformKind kind : {TransformKind::kIdentity, TransformKind::kYear, TransformKind::kMonth,
                             TransformKind::kDay, TransformKind::kHour, TransformKind::kVoid}) {
    if (text == kind_text(kind)) return Transform{kind, 0};
  }
  for (TransformKind kind : {TransformKind::kBucket, TransformKind::kTruncate}) {
    std::string_view name = kind_text(kind);
    if (text.substr(0, name.size()) != name) continue;
    std::string_view rest = text.substr(name.size());
    if (rest.size() < 3 || rest.front() != '[' || rest.back() != ']') break;
    std::int32_t parameter = 0;
    auto result = std::from_chars(rest.data() + 1, rest.data() + rest.size() - 1, parameter);
    if (result.ec != std::errc() || result.ptr != rest.data() + rest.size() - 1 || parameter < 1) {
      return invalid_argument("transform {} needs a positive parameter", name);
    }
    return Transform{kind, parameter};
  }
  return invalid_argument(
      "unknown transform; known are identity, bucket[N], truncate[W], year, month, "
      "day, hour and void");
}

Result<Type> Transform::result_type(const Type& source) const {
  if (kind == TransformKind::kVoid) {
    return source.is_nested() ? Type::primitive(TypeKind::kInt) : source;
  }
  if (source.is_nested() || !accepts(kind, source.kind)) {
    return invalid_argument("transform {} is not defined for {}", to_text(),
                            source.is_nested() ? "a nested type" : primitive_to_text(source));
  }
  switch (kind) {
    case TransformKind::kIdentity:
    case TransformKind::kTruncate: return source;
    case TransformKind::kDay: return Type::primitive(TypeKind::kDate);
    default: return Type::primitive(TypeKind::kInt);
  }
}

Result<std::optional<ValueBytes>> Transform::apply(const Type& source,
                                                   const std::optional<ValueBytes>& value) const {
  DIL_TRY(Type result, result_type(source));
  if (!value.has_value() || kind == TransformKind::kVoid) return std::optional<ValueBytes>();
  if (!is_valid_value(source, *value)) {
    return invalid_argument("the bytes are not a value of {}", primitive_to_text(source));
  }
  bool has_parameter = kind == TransformKind::kBucket || kind == TransformKind::kTruncate;
  if (has_parameter && parameter < 1) {
    return invalid_argument("transform {} needs a positive parameter", kind_text(kind));
  }
  if (kind == TransformKind::kIdentity) return value;
  if (kind == TransformKind::kBucket) {
    return std::optional(value_of_int((hash(source, *value) & 0x7FFFFFFF) % parameter));
  }
  if (kind == TransformKind::kTruncate) {
    DIL_TRY(ValueBytes cut, truncate(source, *value, parameter));
    return std::optional(std::move(cut));
  }
  DIL_TRY(ValueBytes part, temporal_part(kind, source, *value));
  return std::optional(std::move(part));
}

}  // namespace duckicelake::iceberg
