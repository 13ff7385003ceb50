// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake {

// RFC 9562 UUID as 16 bytes in network order.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  // Accepts only the 36-character form, either case.
  static Result<Uuid> parse(std::string_view text);
  // Version 4 of 16 random bytes that the caller provides (base has no randomness of its own).
  static Uuid from_random(std::array<std::uint8_t, 16> random);

  std::string to_string() const;  // 36 characters, lower case
  friend bool operator==(const Uuid&, const Uuid&) = default;
};

}  // namespace duckicelake
