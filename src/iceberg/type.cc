// SPDX-License-Identifier: Apache-2.0
#include "iceberg/type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "iceberg/ascii.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::array<std::pair<TypeKind, std::string_view>, 19> kNames = {{
    {TypeKind::kBoolean, "boolean"},
    {TypeKind::kInt, "int"},
    {TypeKind::kLong, "long"},
    {TypeKind::kFloat, "float"},
    {TypeKind::kDouble, "double"},
    {TypeKind::kDecimal, "decimal"},
    {TypeKind::kDate, "date"},
    {TypeKind::kTime, "time"},
    {TypeKind::kTimestamp, "timestamp"},
    {TypeKind::kTimestamptz, "timestamptz"},
    {TypeKind::kTimestampNs, "timestamp_ns"},
    {TypeKind::kTimestamptzNs, "timestamptz_ns"},
    {TypeKind::kString, "string"},
    {TypeKind::kUuid, "uuid"},
    {TypeKind::kFixed, "fixed"},
    {TypeKind::kBinary, "binary"},
    {TypeKind::kVariant, "variant"},
    {TypeKind::kGeometry, "geometry"},
    {TypeKind::kGeography, "geography"},
}};
constexpr std::string_view kUnknownName = "unknown";
constexpr std::string_view kDefaultCrs = "OGC:CRS84";
constexpr std::string_view kDefaultAlgorithm = "spherical";
constexpr std::array<std::string_view, 5> kAlgorithms = {"spherical", "vincenty", "thomas",
                                                         "andoyer", "karney"};
constexpr std::size_t kMaxTextLength = 4096;

std::string_view name_of_kind(TypeKind kind) {
  for (const auto& [k, name] : kNames) {
    if (k == kind) return name;
  }
  return kUnknownName;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Decimal digits alone, with spaces around them.
std::optional<std::int32_t> parse_parameter(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.front() == '-') return std::nullopt;
  std::int32_t number = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// Type texts reach us from clients: messages show a bounded part of them.
Error bad_type(std::string_view text, std::string_view why) {
  std::string shown(text.substr(0, 80));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return invalid_argument("\"{}\" is not a type: {}", shown, why);
}

Result<Type> parse_decimal(std::string_view text, std::string_view parameters) {
  std::size_t comma = parameters.find(',');
  if (comma == std::string_view::npos) return bad_type(text, "decimal takes (precision, scale)");
  auto precision = parse_parameter(parameters.substr(0, comma));
  auto scale = parse_parameter(parameters.substr(comma + 1));
  if (!precision || !scale) return bad_type(text, "decimal takes (precision, scale)");
  if (*precision < 1 || *precision > 38) return bad_type(text, "the precision must be 1 to 38");
  if (*scale > *precision) return bad_type(text, "the scale must not be over the precision");
  return Type::decimal(*precision, *scale);
}

Result<Type> parse_geo(std::string_view text, TypeKind kind, std::string_view parameters) {
  Type type = Type::primitive(kind);
  std::string_view crs = trim(parameters);
  if (kind == TypeKind::kGeography) {
    if (std::size_t comma = parameters.rfind(','); comma != std::string_view::npos) {
      crs = trim(parameters.substr(0, comma));
      std::string algorithm = lower_ascii(trim(parameters.substr(comma + 1)));
      if (std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm) == kAlgorithms.end()) {
        return bad_type(text, "the edge algorithm is unknown");
      }
      if (algorithm != kDefaultAlgorithm) type.algorithm = algorithm;
    }
  }
  if (crs.find_first_of("(),\"\\") != std::string_view::npos) {
    return bad_type(text, "the reference system has a forbidden character");
  }
  if (lower_ascii(crs) != lower_ascii(kDefaultCrs)) type.crs = std::string(crs);
  return type;
}

Result<Type> parse_parameterized(std::string_view text, std::string_view name,
                                 std::string_view parameters, char bracket) {
  if (bracket == '[') {
    if (name != "fixed") return bad_type(text, "only fixed takes a length");
    auto length = parse_parameter(parameters);
    if (!length || *length < 1) return bad_type(text, "the length must be a positive number");
    return Type::fixed(*length);
  }
  if (name == "decimal") return parse_decimal(text, parameters);
  if (name == "geometry") return parse_geo(text, TypeKind::kGeometry, parameters);
  if (name == "geography") return parse_geo(text, TypeKind::kGeography, parameters);
  return bad_type(text, "it takes no parameters");
}

}  // namespace

Type Type::primitive(TypeKind kind) {
  Type type;
  type.kind = kind;
  return type;
}

Type Type::decimal(std::int32_t precision, std::int32_t scale) {
  Type type = primitive(TypeKind::kDecimal);
  type.precision = precision;
  type.scale = scale;
  return type;
}

Type Type::fixed(std::int32_t length) {
  Type type = primitive(TypeKind::kFixed);
  type.length = length;
  return type;
}

Type Type::structure(std::vector<Field> fields) {
  Type type = primitive(TypeKind::kStruct);
  type.fields = std::move(fields);
  return type;
}

Type Type::list(Field element) {
  Type type = primitive(TypeKind::kList);
  element.name = "element";
  type.fields.push_back(std::move(element));
  return type;
}

Type Type::map(Field key, Field value) {
  Type type = primitive(TypeKind::kMap);
  key.name = "key";
  key.required = true;
  value.name = "value";
  type.fields.push_back(std::move(key));
  type.fields.push_back(std::move(value));
  return type;
}

std::string primitive_to_text(const Type& type) {
  std::string text(name_of_kind(type.kind));
  switch (type.kind) {
    case TypeKind::kDecimal: return fmt::format("decimal({},{})", type.precision, type.scale);
    case TypeKind::kFixed: return fmt::format("fixed[{}]", type.length);
    case TypeKind::kGeometry: return type.crs.empty() ? text : text + "(" + type.crs + ")";
    case TypeKind::kGeography: {
      if (type.crs.empty() && type.algorithm.empty()) return text;
      text += "(" + (type.crs.empty() ? std::string(kDefaultCrs) : type.crs);
      if (!type.algorithm.empty()) text += ", " + type.algorithm;
      return text + ")";
    }
    default: return text;
  }
}

Result<Type> parse_primitive(std::string_view text) {
  if (text.size() > kMaxTextLength) return bad_type(text, "it is too long");
  std::string_view rest = trim(text);
  for (const auto& [kind, name] : kNames) {
    if (rest == name && kind != TypeKind::kDecimal && kind != TypeKind::kFixed) {
      return Type::primitive(kind);
    }
  }
  if (rest == kUnknownName) return Type::primitive(TypeKind::kUnknown);
  std::size_t open = rest.find_first_of("([");
  if (open == std::string_view::npos) return bad_type(text, "the name is unknown");
  char bracket = rest[open];
  if (rest.back() != (bracket == '(' ? ')' : ']')) return bad_type(text, "a bracket is open");
  return parse_parameterized(text, trim(rest.substr(0, open)),
                             rest.substr(open + 1, rest.size() - open - 2), bracket);
}

int required_format_version(const Type& type) {
  switch (type.kind) {
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kUnknown: return 3;
    default: break;
  }
  for (const Field& field : type.fields) {
    if (field.initial_default || field.write_default) return 3;
    if (required_format_version(field.type) == 3) return 3;
  }
  return 2;
}

}  // namespace duckicelake::iceberg
