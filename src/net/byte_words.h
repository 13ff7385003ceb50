// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

// Looks at the bytes of a text eight at a time. Marks are the highest bits of a word's bytes: the
// first one is exact, those above it may be wrong, and only whether there is one matters here.
namespace duckicelake::net {

inline constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
inline constexpr std::uint64_t kHighs = 0x8080808080808080ULL;

// Marks bytes that are less than `limit`, which is at most 128.
constexpr std::uint64_t below(std::uint64_t word, std::uint64_t limit) {
  return (word - kOnes * limit) & ~word & kHighs;
}
constexpr std::uint64_t equal_to(std::uint64_t word, std::uint64_t byte) {
  return below(word ^ (kOnes * byte), 1);
}

// Whether all of `text` passes `is_good`. Words without a mark of `suspects` need no second look.
template <class Suspects, class IsGood>
bool all_good(std::string_view text, Suspects suspects, IsGood is_good) {
  while (text.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    if (suspects(word) != 0 && !std::all_of(text.begin(), text.begin() + sizeof word, is_good)) {
      return false;
    }
    text.remove_prefix(sizeof word);
  }
  return std::all_of(text.begin(), text.end(), is_good);
}

}  // namespace duckicelake::net
