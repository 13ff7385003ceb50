// SPDX-License-Identifier: Apache-2.0
#include "translate/value_text.h"

#include <bit>
#include <cmath>

#include "base/bytes.h"
#include "base/uuid.h"
#include "iceberg/decimal.h"
#include "iceberg/temporal.h"
#include "iceberg/value.h"

namespace duckicelake::translate {
namespace {

using iceberg::Type;
using iceberg::TypeKind;

// DuckDB writes years outside 1..9999 in forms of its own.
bool is_plain_year(std::int64_t days) {
  const std::int64_t year = iceberg::civil_from_days(days).year;
  return year >= 1 && year <= 9999;
}

std::optional<std::string> stamp_text(std::int64_t value, iceberg::TimeUnit unit, bool has_zone) {
  const std::int64_t per_day = iceberg::per_second(unit) * 86'400;
  if (!is_plain_year(iceberg::floor_divide(value, per_day))) return std::nullopt;
  std::string text = iceberg::timestamp_to_text(value, unit, iceberg::Zone::kNone);
  if (const std::size_t t = text.find('T'); t != std::string::npos) text[t] = ' ';
  if (has_zone) text.append("+00");
  return text;
}

template <class Float>
std::optional<std::string> float_text(Float value) {
  if (std::isnan(value)) return std::nullopt;
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return "0.0";
  return fmt::format("{}", value);
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::string blob_text(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte <= 0x7e && c != '\\' && c != '\'' && c != '"';
    if (is_plain) {
      out.push_back(c);
    } else {
      out.append(fmt::format("\\x{:02X}", byte));
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> stats_text_from_value(const Type& type, std::string_view value) {
  if (!iceberg::is_valid_value(type, value)) return std::nullopt;
  switch (type.kind) {
    case TypeKind::kBoolean: return value[0] == '\0' ? "0" : "1";
    case TypeKind::kInt: return std::to_string(read_little_endian<std::int32_t>(value));
    case TypeKind::kLong: return std::to_string(read_little_endian<std::int64_t>(value));
    case TypeKind::kFloat:
      return float_text(std::bit_cast<float>(read_little_endian<std::int32_t>(value)));
    case TypeKind::kDouble:
      return float_text(std::bit_cast<double>(read_little_endian<std::int64_t>(value)));
    case TypeKind::kDecimal: {
      const std::optional<iceberg::Int128> unscaled = iceberg::decimal_from_bytes(value);
      if (!unscaled) return std::nullopt;
      return iceberg::decimal_to_text(*unscaled, type.scale);
    }
    case TypeKind::kDate: {
      const std::int32_t days = read_little_endian<std::int32_t>(value);
      if (!is_plain_year(days)) return std::nullopt;
      return iceberg::date_to_text(days);
    }
    case TypeKind::kTime: return iceberg::time_to_text(read_little_endian<std::int64_t>(value));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
      return stamp_text(read_little_endian<std::int64_t>(value), iceberg::TimeUnit::kMicros,
                        type.kind == TypeKind::kTimestamptz);
    case TypeKind::kTimestampNs:
      return stamp_text(read_little_endian<std::int64_t>(value), iceberg::TimeUnit::kNanos, false);
    case TypeKind::kString:
      if (has_nul(value)) return std::nullopt;
      return std::string(value);
    case TypeKind::kFixed:
    case TypeKind::kBinary: return to_hex_upper(value);
    case TypeKind::kUuid: {
      Uuid uuid;
      for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
        uuid.bytes[i] = static_cast<std::uint8_t>(value[i]);
      }
      return uuid.to_string();
    }
    default: return std::nullopt;
  }
}

std::optional<std::string> partition_text_from_value(const Type& type, std::string_view value) {
  if (!iceberg::is_valid_value(type, value)) return std::nullopt;
  switch (type.kind) {
    case TypeKind::kBoolean: return value[0] == '\0' ? "false" : "true";
    case TypeKind::kFixed:
    case TypeKind::kBinary: return blob_text(value);
    case TypeKind::kFloat:
      if (std::isnan(std::bit_cast<float>(read_little_endian<std::int32_t>(value)))) return "nan";
      return stats_text_from_value(type, value);
    case TypeKind::kDouble:
      if (std::isnan(std::bit_cast<double>(read_little_endian<std::int64_t>(value)))) return "nan";
      return stats_text_from_value(type, value);
    default: return stats_text_from_value(type, value);
  }
}

Result<std::string> ducklake_type_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean: return std::string("boolean");
    case TypeKind::kInt: return std::string("int32");
    case TypeKind::kLong: return std::string("int64");
    case TypeKind::kFloat: return std::string("float32");
    case TypeKind::kDouble: return std::string("float64");
    case TypeKind::kDecimal: return fmt::format("decimal({},{})", type.precision, type.scale);
    case TypeKind::kDate: return std::string("date");
    case TypeKind::kTime: return std::string("time");
    case TypeKind::kTimestamp: return std::string("timestamp");
    case TypeKind::kTimestamptz: return std::string("timestamptz");
    case TypeKind::kTimestampNs: return std::string("timestamp_ns");
    case TypeKind::kString: return std::string("varchar");
    case TypeKind::kUuid: return std::string("uuid");
    case TypeKind::kFixed:
    case TypeKind::kBinary: return std::string("blob");
    case TypeKind::kVariant: return std::string("variant");
    case TypeKind::kGeometry: return std::string("geometry");
    case TypeKind::kStruct: return std::string("struct");
    case TypeKind::kList: return std::string("list");
    case TypeKind::kMap: return std::string("map");
    default: break;
  }
  return make_error(Code::kUnsupported, "columns of type {} cannot be kept in DuckLake",
                    iceberg::primitive_to_text(type));
}

}  // namespace duckicelake::translate
