// SPDX-License-Identifier: Apache-2.0
#include "pg/param.h"

#include <cmath>

#include "pg/value.h"

namespace duckicelake::pg {

namespace {

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);  // the shortest text that reads back as the same value
}

}  // namespace

Param::Param(double value) : Param(kFloat8, double_text(value)) {}

Param Param::integer(std::int64_t value) { return Param(kInt8, fmt::format_int(value).str()); }

Param Param::bytea(std::string bytes) { return Param(kBytea, std::move(bytes)); }

Param Param::int64_array(std::span<const std::int64_t> values) {
  return Param(kInt8Array, int64_array_literal(values));
}

Param Param::text_array(std::span<const std::string> values) {
  return Param(kTextArray, text_array_literal(values));
}

Param Param::text_array(std::span<const std::optional<std::string>> values) {
  return Param(kTextArray, text_array_literal(values));
}

Status check_params(std::span<const Param> params) {
  constexpr std::size_t kMostParams = 65'535;  // a 16-bit count in the protocol
  if (params.size() > kMostParams) {
    return invalid_argument("a database statement takes at most {} parameters", kMostParams);
  }
  for (const Param& param : params) {
    if (!param.is_binary() && param.bytes() && param.bytes()->find('\0') != std::string::npos) {
      return invalid_argument("text may not contain a NUL character");
    }
  }
  return {};
}

}  // namespace duckicelake::pg
