// SPDX-License-Identifier: Apache-2.0
#include "translate/stats_value.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/uuid.h"
#include "iceberg/decimal.h"
#include "iceberg/temporal.h"

namespace duckicelake::translate {
namespace {

using iceberg::Type;
using iceberg::TypeKind;
using iceberg::ValueBytes;

constexpr std::size_t kMaxNumberText = 400;

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [at, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [at, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}

// DuckDB's "2024-02-29 10:11:12.5" and the same with "+00" behind it.
std::optional<std::int64_t> parse_stamp(std::string_view text, iceberg::TimeUnit unit) {
  if (text.size() > 64) return std::nullopt;
  if (text.ends_with("+00")) text.remove_suffix(3);
  std::string iso(text);
  const std::size_t space = iso.find(' ');
  if (space == std::string::npos) {
    iso.append("T00:00:00");
  } else {
    iso[space] = 'T';
  }
  auto parsed = iceberg::parse_timestamp(iso, unit, iceberg::Zone::kNone);
  if (!parsed.has_value()) return std::nullopt;
  return *parsed;
}

std::optional<ValueBytes> parse_nanos_as_micros(std::string_view text, BoundSide side) {
  std::optional<std::int64_t> nanos = parse_stamp(text, iceberg::TimeUnit::kNanos);
  if (!nanos) return std::nullopt;
  std::int64_t micros = iceberg::floor_divide(*nanos, 1000);
  if (side == BoundSide::kUpper && micros * 1000 != *nanos) ++micros;
  return iceberg::value_of_long(micros);
}

std::optional<ValueBytes> parse_decimal_value(const Type& type, std::string_view text) {
  auto parsed = iceberg::parse_decimal(text, type.precision, type.scale);
  if (!parsed.has_value()) return std::nullopt;
  return iceberg::value_of_decimal(*parsed);
}

std::optional<ValueBytes> parse_uuid(std::string_view text) {
  auto uuid = Uuid::parse(text);
  if (!uuid.has_value()) return std::nullopt;
  return ValueBytes(uuid->bytes.begin(), uuid->bytes.end());
}

std::optional<ValueBytes> parse_number(const Type& type, std::string_view text) {
  if (text.size() > kMaxNumberText) return std::nullopt;
  switch (type.kind) {
    case TypeKind::kInt: {
      std::optional<std::int64_t> value = parse_integer(text);
      if (!value || *value < std::numeric_limits<std::int32_t>::min() ||
          *value > std::numeric_limits<std::int32_t>::max()) {
        return std::nullopt;
      }
      return iceberg::value_of_int(static_cast<std::int32_t>(*value));
    }
    case TypeKind::kLong: {
      std::optional<std::int64_t> value = parse_integer(text);
      if (!value) return std::nullopt;
      return iceberg::value_of_long(*value);
    }
    case TypeKind::kFloat: {
      float value = 0;
      const char* end = text.data() + text.size();
      auto [at, ec] = std::from_chars(text.data(), end, value);
      if (ec != std::errc() || at != end || text.empty() || std::isnan(value)) return std::nullopt;
      return iceberg::value_of_float(value);
    }
    case TypeKind::kDouble: {
      std::optional<double> value = parse_float(text);
      if (!value || std::isnan(*value)) return std::nullopt;
      return iceberg::value_of_double(*value);
    }
    case TypeKind::kDecimal: return parse_decimal_value(type, text);
    default: return std::nullopt;
  }
}

std::optional<ValueBytes> parse_temporal(const Type& type, std::string_view text) {
  switch (type.kind) {
    case TypeKind::kDate: {
      auto days = iceberg::parse_date(text);
      if (!days.has_value()) return std::nullopt;
      return iceberg::value_of_int(*days);
    }
    case TypeKind::kTime: {
      auto micros = iceberg::parse_time(text);
      if (!micros.has_value()) return std::nullopt;
      return iceberg::value_of_long(*micros);
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz: {
      std::optional<std::int64_t> micros = parse_stamp(text, iceberg::TimeUnit::kMicros);
      if (!micros) return std::nullopt;
      return iceberg::value_of_long(*micros);
    }
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: {
      std::optional<std::int64_t> nanos = parse_stamp(text, iceberg::TimeUnit::kNanos);
      if (!nanos) return std::nullopt;
      return iceberg::value_of_long(*nanos);
    }
    default: return std::nullopt;
  }
}

// DuckDB's text of a blob: printable bytes as they are, others as \xHH.
std::optional<ValueBytes> parse_blob_text(std::string_view text) {
  ValueBytes out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 3 >= text.size() || text[i + 1] != 'x') return std::nullopt;
    auto byte = from_hex(text.substr(i + 2, 2));
    if (!byte.has_value()) return std::nullopt;
    out.append(*byte);
    i += 3;
  }
  return out;
}

bool is_zero_float(const Type& type, const ValueBytes& value) {
  if (type.kind == TypeKind::kFloat) {
    return value == iceberg::value_of_float(0.0F) || value == iceberg::value_of_float(-0.0F);
  }
  if (type.kind == TypeKind::kDouble) {
    return value == iceberg::value_of_double(0.0) || value == iceberg::value_of_double(-0.0);
  }
  return false;
}

}  // namespace

std::optional<ValueBytes> value_from_stats_text(const Type& type, std::string_view text) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      if (text == "0") return iceberg::value_of_bool(false);
      if (text == "1") return iceberg::value_of_bool(true);
      return std::nullopt;
    case TypeKind::kInt:
    case TypeKind::kLong:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kDecimal: return parse_number(type, text);
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return parse_temporal(type, text);
    case TypeKind::kString:
      if (!is_valid_utf8(text)) return std::nullopt;
      return ValueBytes(text);
    case TypeKind::kBinary: {
      auto bytes = from_hex(text);
      if (!bytes.has_value()) return std::nullopt;
      return std::move(*bytes);
    }
    case TypeKind::kUuid: return parse_uuid(text);
    default: return std::nullopt;
  }
}

std::optional<ValueBytes> value_from_partition_text(const Type& type, std::string_view text) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      if (text == "false") return iceberg::value_of_bool(false);
      if (text == "true") return iceberg::value_of_bool(true);
      return value_from_stats_text(type, text);
    case TypeKind::kBinary: return parse_blob_text(text);
    default: return value_from_stats_text(type, text);
  }
}

std::optional<ValueBytes> bound_from_stats_text(const Type& type, std::string_view text,
                                                BoundSide side) {
  if (type.kind == TypeKind::kTimestamp || type.kind == TypeKind::kTimestamptz) {
    // Nanoseconds reach from 1677 to 2262; outside, text has no more than microseconds.
    if (std::optional<ValueBytes> micros = parse_nanos_as_micros(text, side)) return micros;
    return value_from_stats_text(type, text);
  }
  std::optional<ValueBytes> value = value_from_stats_text(type, text);
  if (!value) return std::nullopt;
  if (is_zero_float(type, *value)) {
    const double zero = side == BoundSide::kLower ? -0.0 : 0.0;
    return type.kind == TypeKind::kFloat ? iceberg::value_of_float(static_cast<float>(zero))
                                         : iceberg::value_of_double(zero);
  }
  if (type.kind == TypeKind::kString || type.kind == TypeKind::kBinary) {
    if (side == BoundSide::kLower) return iceberg::truncate_lower(type, *value);
    return iceberg::truncate_upper(type, *value);
  }
  return value;
}

}  // namespace duckicelake::translate
