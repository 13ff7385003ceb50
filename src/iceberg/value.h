// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "iceberg/type.h"

namespace duckicelake::iceberg {

// Everything here is about one primitive value in binary form (ValueBytes) under a Type.

// Makers. Each returns the appendix-D bytes.
ValueBytes value_of_bool(bool v);
ValueBytes value_of_int(std::int32_t v);   // int, date
ValueBytes value_of_long(std::int64_t v);  // long, time, timestamps
ValueBytes value_of_float(float v);
ValueBytes value_of_double(double v);
// Decimals: value_of_decimal in decimal.h.

// True when the byte length (and for strings the UTF-8) fits the type. Decimals: 1 to 16 bytes.
// Geometry and geography: a bound, i.e. a point of 2 to 4 little-endian doubles. Never for unknown
// and nested types.
bool is_valid_value(const Type& type, std::string_view value);

// Typed order as Iceberg defines it for bounds: numbers by value (-0.0 < +0.0, NaN last), strings
// by unsigned UTF-8 bytes, binary and uuid by unsigned bytes, decimals by unscaled value.
// Pre-condition: both valid for the type. <0, 0, >0.
int compare_values(const Type& type, std::string_view a, std::string_view b);

// Bounds of files older than a type promotion have the old width (spec "Schema Evolution"): int
// under long, float under double, date under a timestamp. Gives them the width of `type`; valid
// values come back as they are, all others give nullopt.
std::optional<ValueBytes> widen_bound(const Type& type, std::string_view bytes);

// JSON single-value serialization (spec appendix C): a JSON text fragment such as 34, "2017-11-16",
// "AB12". Fixed and binary are upper-case hex (either case is read); NaN and infinities are the
// strings "NaN", "Infinity", "-Infinity" as Iceberg Java has them; a geometry bound is WKT ("POINT
// (30 10)") and cannot be read back. Variant and invalid bytes give null.
std::string value_to_json(const Type& type, std::string_view value);
Result<ValueBytes> value_from_json_text(const Type& type, std::string_view json);

// Bounds of strings and binary are cut to this many code points (bytes for binary).
inline constexpr std::size_t kBoundLength = 16;

// A lower bound that is <= the value; never fails for valid values (case A-40: cut on a code-point
// boundary).
ValueBytes truncate_lower(const Type& type, std::string_view value);
// An upper bound that is >= the value, or nullopt when none of that length exists. The last code
// point is incremented to the next valid one (across U+D7FF to U+E000), dropping trailing U+10FFFF.
std::optional<ValueBytes> truncate_upper(const Type& type, std::string_view value);

}  // namespace duckicelake::iceberg
