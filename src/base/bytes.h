// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace duckicelake {

// Bytes are kept in std::string / std::string_view throughout; the content is not text.

template <class T>
void append_little_endian(std::string& out, T value) {
  static_assert(std::is_integral_v<T>);
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (8 * i))));
  }
}

template <class T>
void append_big_endian(std::string& out, T value) {
  static_assert(std::is_integral_v<T>);
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = sizeof(T); i-- > 0;) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (8 * i))));
  }
}

// Pre-condition: bytes.size() >= sizeof(T).
template <class T>
T read_little_endian(std::string_view bytes) {
  std::make_unsigned_t<T> bits = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    bits = static_cast<std::make_unsigned_t<T>>((sizeof(T) > 1 ? bits << 8 : 0) |
                                                static_cast<unsigned char>(bytes[i]));
  }
  return static_cast<T>(bits);
}

// Pre-condition: bytes.size() >= sizeof(T).
template <class T>
T read_big_endian(std::string_view bytes) {
  std::make_unsigned_t<T> bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits = static_cast<std::make_unsigned_t<T>>((sizeof(T) > 1 ? bits << 8 : 0) |
                                                static_cast<unsigned char>(bytes[i]));
  }
  return static_cast<T>(bits);
}

std::string to_hex(std::string_view bytes);        // lower case
std::string to_hex_upper(std::string_view bytes);  // upper case
// Either case; kInvalidArgument on an odd length or another character.
Result<std::string> from_hex(std::string_view text);

std::string to_base64(std::string_view bytes);              // with padding
std::string to_base64url(std::string_view bytes);           // without padding
Result<std::string> from_base64(std::string_view text);     // padding required
Result<std::string> from_base64url(std::string_view text);  // padding refused

// True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms, <= U+10FFFF).
bool is_valid_utf8(std::string_view text);

}  // namespace duckicelake
