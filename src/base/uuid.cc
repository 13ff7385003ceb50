// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include "base/bytes.h"

namespace duckicelake {

Result<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
      text[23] != '-') {
    return invalid_argument("not a UUID");
  }
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != 8 && i != 13 && i != 18 && i != 23) digits.push_back(text[i]);
  }
  DIL_TRY(std::string raw, from_hex(digits));
  Uuid out;
  for (std::size_t i = 0; i < 16; ++i) out.bytes[i] = static_cast<std::uint8_t>(raw[i]);
  return out;
}

Uuid Uuid::from_random(std::array<std::uint8_t, 16> random) {
  random[6] = static_cast<std::uint8_t>((random[6] & 0x0F) | 0x40);
  random[8] = static_cast<std::uint8_t>((random[8] & 0x3F) | 0x80);
  return Uuid{random};
}

std::string Uuid::to_string() const {
  std::string raw(bytes.begin(), bytes.end());
  std::string hex = to_hex(raw);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

}  // namespace duckicelake
