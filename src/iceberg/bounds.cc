// SPDX-License-Identifier: Apache-2.0
// Truncation of bounds (cases ).
#include "base/bytes.h"
#include "iceberg/utf8.h"
#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Pre-condition: `bytes` is one well-formed sequence.
char32_t decode_code_point(std::string_view bytes) {
  auto at = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(bytes[i]));
  };
  switch (bytes.size()) {
    case 1: return at(0);
    case 2: return (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
    case 3: return (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
    default:
      return (at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
  }
}

void append_code_point(std::string& out, char32_t c) {
  auto put = [&](char32_t b) { out.push_back(static_cast<char>(static_cast<unsigned char>(b))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::optional<ValueBytes> string_upper(std::string_view value) {
  if (!is_valid_utf8(value)) return std::nullopt;
  std::string_view prefix = utf8_prefix(value, kBoundLength);
  if (prefix.size() == value.size()) return ValueBytes(value);
  while (!prefix.empty()) {
    std::size_t last = prefix.size() - 1;
    while (is_continuation(prefix[last])) --last;
    char32_t c = decode_code_point(prefix.substr(last));
    prefix = prefix.substr(0, last);
    if (c == 0x10FFFF) continue;
    ValueBytes bound(prefix);
    append_code_point(bound, c == 0xD7FF ? 0xE000 : c + 1);
    return bound;
  }
  return std::nullopt;
}

std::optional<ValueBytes> binary_upper(std::string_view value) {
  if (value.size() <= kBoundLength) return ValueBytes(value);
  ValueBytes bound(value.substr(0, kBoundLength));
  while (!bound.empty()) {
    auto last = static_cast<unsigned char>(bound.back());
    if (last != 0xFF) {
      bound.back() = static_cast<char>(static_cast<unsigned char>(last + 1));
      return bound;
    }
    bound.pop_back();
  }
  return std::nullopt;
}

}  // namespace

std::string_view utf8_prefix(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!is_continuation(text[end]) && count-- == 0) break;
  }
  return text.substr(0, end);
}

ValueBytes truncate_lower(const Type& type, std::string_view value) {
  if (type.kind == TypeKind::kString) return ValueBytes(utf8_prefix(value, kBoundLength));
  if (type.kind == TypeKind::kBinary) return ValueBytes(value.substr(0, kBoundLength));
  return ValueBytes(value);
}

std::optional<ValueBytes> truncate_upper(const Type& type, std::string_view value) {
  if (type.kind == TypeKind::kString) return string_upper(value);
  if (type.kind == TypeKind::kBinary) return binary_upper(value);
  return ValueBytes(value);
}

}  // namespace duckicelake::iceberg
