// SPDX-License-Identifier: Apache-2.0
#include "iceberg/value_json.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/uuid.h"
#include "iceberg/decimal.h"
#include "iceberg/temporal.h"
#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

template <class T>
void write_float(json::Writer& writer, T number) {
  if (std::isnan(number)) return writer.value("NaN");
  if (std::isinf(number)) return writer.value(number > 0 ? "Infinity" : "-Infinity");
  std::string text;
  json::append_number(text, number);
  writer.raw(text);
}

// WKT of a bound: x y, x y z, or x y z m with NaN for an absent z (spec "Bound serialization").
std::string point_to_text(std::string_view bytes) {
  auto at = [&](std::size_t i) {
    return std::bit_cast<double>(read_little_endian<std::uint64_t>(bytes.substr(8 * i)));
  };
  if (bytes.size() == 16) return fmt::format("POINT ({} {})", at(0), at(1));
  if (bytes.size() == 24) return fmt::format("POINT Z ({} {} {})", at(0), at(1), at(2));
  if (std::isnan(at(2))) return fmt::format("POINT M ({} {} {})", at(0), at(1), at(3));
  return fmt::format("POINT ZM ({} {} {} {})", at(0), at(1), at(2), at(3));
}

std::string uuid_to_text(std::string_view bytes) {
  Uuid uuid;
  for (std::size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(bytes[i]);
  return uuid.to_string();
}

Result<double> read_double(const json::Value& value) {
  if (value.kind() != json::Kind::kString) return value.as_double();
  std::string_view text = *value.as_string();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return value.error("expected a number");
}

Result<ValueBytes> read_float(const json::Value& value) {
  DIL_TRY(double number, read_double(value));
  // From half a step above the largest float on, rounding gives infinity.
  if (std::isfinite(number) && std::fabs(number) >= 0x1.ffffffp127) {
    return value.error("the number is outside the range of a float");
  }
  return value_of_float(static_cast<float>(number));
}

template <class T>
Result<ValueBytes> located(const json::Value& value, Result<T> parsed, ValueBytes (*make)(T)) {
  if (!parsed.has_value()) return value.error(parsed.error().message());
  return make(*parsed);
}

Result<ValueBytes> read_hex(const Type& type, const json::Value& value, std::string_view text) {
  auto bytes = from_hex(text);
  if (!bytes.has_value()) return value.error(bytes.error().message());
  if (!is_valid_value(type, *bytes)) return value.error("the length is not that of the type");
  return ValueBytes(*std::move(bytes));
}

Result<ValueBytes> read_text(const Type& type, const json::Value& value, std::string_view text) {
  auto timestamp = [&](TimeUnit unit, Zone zone) {
    return located(value, parse_timestamp(text, unit, zone), value_of_long);
  };
  switch (type.kind) {
    case TypeKind::kString: return ValueBytes(text);
    case TypeKind::kDecimal:
      return located(value, parse_decimal(text, type.precision, type.scale), value_of_decimal);
    case TypeKind::kDate: return located(value, parse_date(text), value_of_int);
    case TypeKind::kTime: return located(value, parse_time(text), value_of_long);
    case TypeKind::kTimestamp: return timestamp(TimeUnit::kMicros, Zone::kNone);
    case TypeKind::kTimestamptz: return timestamp(TimeUnit::kMicros, Zone::kUtc);
    case TypeKind::kTimestampNs: return timestamp(TimeUnit::kNanos, Zone::kNone);
    case TypeKind::kTimestamptzNs: return timestamp(TimeUnit::kNanos, Zone::kUtc);
    case TypeKind::kUuid: {
      auto uuid = Uuid::parse(text);
      if (!uuid.has_value()) return value.error("not a UUID");
      return ValueBytes(uuid->bytes.begin(), uuid->bytes.end());
    }
    case TypeKind::kFixed:
    case TypeKind::kBinary: return read_hex(type, value, text);
    default:
      return value.error(type.is_nested()
                             ? "nested types have no single value here"
                             : primitive_to_text(type) + " has no single value in JSON");
  }
}

}  // namespace

void write_value(json::Writer& writer, const Type& type, std::string_view value) {
  if (!is_valid_value(type, value)) return writer.null();
  auto number32 = [&] { return read_little_endian<std::int32_t>(value); };
  auto number64 = [&] { return read_little_endian<std::int64_t>(value); };
  switch (type.kind) {
    case TypeKind::kBoolean: return writer.value(value[0] != '\0');
    case TypeKind::kInt: return writer.value(number32());
    case TypeKind::kLong: return writer.value(number64());
    case TypeKind::kFloat: return write_float(writer, std::bit_cast<float>(number32()));
    case TypeKind::kDouble: return write_float(writer, std::bit_cast<double>(number64()));
    case TypeKind::kDecimal:
      return writer.value(decimal_to_text(*decimal_from_bytes(value), type.scale));
    case TypeKind::kDate: return writer.value(date_to_text(number32()));
    case TypeKind::kTime: return writer.value(time_to_text(number64()));
    case TypeKind::kTimestamp:
      return writer.value(timestamp_to_text(number64(), TimeUnit::kMicros, Zone::kNone));
    case TypeKind::kTimestamptz:
      return writer.value(timestamp_to_text(number64(), TimeUnit::kMicros, Zone::kUtc));
    case TypeKind::kTimestampNs:
      return writer.value(timestamp_to_text(number64(), TimeUnit::kNanos, Zone::kNone));
    case TypeKind::kTimestamptzNs:
      return writer.value(timestamp_to_text(number64(), TimeUnit::kNanos, Zone::kUtc));
    case TypeKind::kString: return writer.value(value);
    case TypeKind::kUuid: return writer.value(uuid_to_text(value));
    case TypeKind::kFixed:
    case TypeKind::kBinary: return writer.value(to_hex_upper(value));
    case TypeKind::kGeometry:
    case TypeKind::kGeography: return writer.value(point_to_text(value));
    default: return writer.null();
  }
}

Result<ValueBytes> read_value(const Type& type, const json::Value& value) {
  switch (type.kind) {
    case TypeKind::kBoolean: {
      DIL_TRY(bool flag, value.as_bool());
      return value_of_bool(flag);
    }
    case TypeKind::kInt: {
      DIL_TRY(std::int32_t number, value.as_int32());
      return value_of_int(number);
    }
    case TypeKind::kLong: {
      DIL_TRY(std::int64_t number, value.as_int64());
      return value_of_long(number);
    }
    case TypeKind::kFloat: return read_float(value);
    case TypeKind::kDouble: {
      DIL_TRY(double number, read_double(value));
      return value_of_double(number);
    }
    default: {
      DIL_TRY(std::string_view text, value.as_string());
      return read_text(type, value, text);
    }
  }
}

std::string value_to_json(const Type& type, std::string_view value) {
  std::string out;
  json::Writer writer(out);
  write_value(writer, type, value);
  return out;
}

Result<ValueBytes> value_from_json_text(const Type& type, std::string_view json) {
  DIL_TRY(json::Document document, json::Document::parse(json));
  return read_value(type, document.root());
}

}  // namespace duckicelake::iceberg
