// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "iceberg/type.h"

namespace duckicelake::translate {

// The reverse of stats_value.h: an Iceberg value as the text that DuckLake keeps in min_value and
// max_value (docs/formats/stats.md). nullopt when DuckLake has no such text: dates before year 1 or
// after 9999, NaN, strings with a NUL, geometry, variant, bytes that do not fit the type.
std::optional<std::string> stats_text_from_value(const iceberg::Type& type, std::string_view value);

// The same for the value of an identity partition field (DuckLake writes booleans, blobs and NaN
// otherwise there).
std::optional<std::string> partition_text_from_value(const iceberg::Type& type,
                                                     std::string_view value);

// The DuckLake type of a new column: "int32", "decimal(9,2)", "struct". kUnsupported for types that
// DuckLake 1.0 does not have (timestamptz_ns, unknown).
Result<std::string> ducklake_type_of(const iceberg::Type& type);

}  // namespace duckicelake::translate
