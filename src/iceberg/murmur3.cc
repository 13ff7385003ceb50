// SPDX-License-Identifier: Apache-2.0
#include "iceberg/murmur3.h"

#include <bit>

#include "base/bytes.h"

namespace duckicelake::iceberg {
namespace {

std::uint32_t scramble(std::uint32_t k) { return std::rotl(k * 0xCC9E2D51U, 15) * 0x1B873593U; }

}  // namespace

std::int32_t murmur3_32(std::string_view bytes) {
  std::uint32_t h = 0;
  std::string_view rest = bytes;
  for (; rest.size() >= 4; rest.remove_prefix(4)) {
    h = std::rotl(h ^ scramble(read_little_endian<std::uint32_t>(rest)), 13) * 5 + 0xE6546B64U;
  }
  std::uint32_t tail = 0;
  for (std::size_t i = rest.size(); i-- > 0;)
    tail = tail << 8 | static_cast<unsigned char>(rest[i]);
  h ^= scramble(tail);  // 0 when there is no tail
  h ^= static_cast<std::uint32_t>(bytes.size());
  h = (h ^ h >> 16) * 0x85EBCA6BU;
  h = (h ^ h >> 13) * 0xC2B2AE35U;
  return static_cast<std::int32_t>(h ^ h >> 16);
}

}  // namespace duckicelake::iceberg
