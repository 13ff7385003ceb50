// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "iceberg/type.h"

namespace duckicelake::iceberg {

__extension__ typedef __int128 Int128;  // holds every unscaled value of decimal(38, S)

// Appendix D: two's complement, big-endian, as few bytes as the value needs (case A-41: -128 is one
// byte, 128 is two). The appendix-B hash runs over the same bytes.
ValueBytes value_of_decimal(Int128 unscaled);
// Accepts 1 to 16 bytes, padded ones too; nullopt otherwise.
std::optional<Int128> decimal_from_bytes(std::string_view bytes);

// "-0.50" for -50 at scale 2: exactly `scale` digits after the point, no exponent.
std::string decimal_to_text(Int128 unscaled, std::int32_t scale);
// Reads "14.20", "-3", "2E+3", "0E-10". kInvalidArgument when the value cannot be held exactly with
// this precision (1..38) and scale.
Result<Int128> parse_decimal(std::string_view text, std::int32_t precision, std::int32_t scale);

}  // namespace duckicelake::iceberg
