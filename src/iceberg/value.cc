// SPDX-License-Identifier: Apache-2.0
#include "iceberg/value.h"

#include <bit>
#include <cmath>

#include "base/bytes.h"
#include "iceberg/decimal.h"
#include "iceberg/temporal.h"

namespace duckicelake::iceberg {
namespace {

template <class T>
int three_way(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// -0.0 < +0.0; NaN after everything, all NaN equal.
template <class Float, class Bits>
int compare_floats(Bits a_bits, Bits b_bits) {
  auto a = std::bit_cast<Float>(a_bits);
  auto b = std::bit_cast<Float>(b_bits);
  if (std::isnan(a) || std::isnan(b))
    return three_way(std::isnan(a) ? 1 : 0, std::isnan(b) ? 1 : 0);
  if (a != b) return a < b ? -1 : 1;
  return three_way(std::signbit(a) ? 0 : 1, std::signbit(b) ? 0 : 1);
}

// char_traits compare as unsigned char.
int compare_bytes(std::string_view a, std::string_view b) { return three_way(a.compare(b), 0); }

}  // namespace

ValueBytes value_of_bool(bool v) { return ValueBytes(1, v ? '\1' : '\0'); }

ValueBytes value_of_int(std::int32_t v) {
  ValueBytes out;
  append_little_endian(out, v);
  return out;
}

ValueBytes value_of_long(std::int64_t v) {
  ValueBytes out;
  append_little_endian(out, v);
  return out;
}

ValueBytes value_of_float(float v) { return value_of_int(std::bit_cast<std::int32_t>(v)); }
ValueBytes value_of_double(double v) { return value_of_long(std::bit_cast<std::int64_t>(v)); }

bool is_valid_value(const Type& type, std::string_view value) {
  switch (type.kind) {
    case TypeKind::kBoolean: return value.size() == 1;
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kDate: return value.size() == 4;
    case TypeKind::kLong:
    case TypeKind::kDouble:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return value.size() == 8;
    case TypeKind::kDecimal: return !value.empty() && value.size() <= 16;
    case TypeKind::kString: return is_valid_utf8(value);
    case TypeKind::kUuid: return value.size() == 16;
    case TypeKind::kFixed:
      return type.length >= 0 && value.size() == static_cast<std::size_t>(type.length);
    case TypeKind::kBinary: return true;
    case TypeKind::kVariant: return !value.empty();
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
      return value.size() == 16 || value.size() == 24 || value.size() == 32;
    case TypeKind::kUnknown:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap: return false;
  }
  return false;
}

int compare_values(const Type& type, std::string_view a, std::string_view b) {
  switch (type.kind) {
    case TypeKind::kBoolean: return three_way(a[0] != '\0' ? 1 : 0, b[0] != '\0' ? 1 : 0);
    case TypeKind::kInt:
    case TypeKind::kDate:
      return three_way(read_little_endian<std::int32_t>(a), read_little_endian<std::int32_t>(b));
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
      return three_way(read_little_endian<std::int64_t>(a), read_little_endian<std::int64_t>(b));
    case TypeKind::kFloat:
      return compare_floats<float>(read_little_endian<std::uint32_t>(a),
                                   read_little_endian<std::uint32_t>(b));
    case TypeKind::kDouble:
      return compare_floats<double>(read_little_endian<std::uint64_t>(a),
                                    read_little_endian<std::uint64_t>(b));
    case TypeKind::kDecimal: return three_way(*decimal_from_bytes(a), *decimal_from_bytes(b));
    default: return compare_bytes(a, b);
  }
}

std::optional<ValueBytes> widen_bound(const Type& type, std::string_view bytes) {
  if (is_valid_value(type, bytes)) return ValueBytes(bytes);
  if (bytes.size() != 4) return std::nullopt;
  auto narrow = read_little_endian<std::int32_t>(bytes);
  auto days_to = [&](TimeUnit unit) -> std::optional<ValueBytes> {
    Int128 value = Int128{narrow} * 86'400 * per_second(unit);
    if (value != static_cast<std::int64_t>(value)) return std::nullopt;
    return value_of_long(static_cast<std::int64_t>(value));
  };
  switch (type.kind) {
    case TypeKind::kLong: return value_of_long(narrow);
    case TypeKind::kDouble:
      return value_of_double(static_cast<double>(std::bit_cast<float>(narrow)));
    case TypeKind::kTimestamp: return days_to(TimeUnit::kMicros);
    case TypeKind::kTimestampNs: return days_to(TimeUnit::kNanos);
    default: return std::nullopt;
  }
}

}  // namespace duckicelake::iceberg
