// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace duckicelake::iceberg {

// Names of columns, partition fields and the like that this server makes itself ("__mask_",
// "__masked_", in any case because DuckDB does not tell cases apart).
bool is_reserved_name(std::string_view name);
// kInvalidArgument when it is: `what` is "column" and the like.
Status check_unreserved_name(std::string_view what, std::string_view name);

// Properties that only this server sets: keys that begin with "duckicelake.".
bool is_server_property(std::string_view key);

// Properties that stand for a part of the metadata and are never kept as properties (Iceberg Java,
// TableProperties.RESERVED_PROPERTIES).
bool is_metadata_property(std::string_view key);
inline constexpr std::string_view kFormatVersionProperty = "format-version";

}  // namespace duckicelake::iceberg
