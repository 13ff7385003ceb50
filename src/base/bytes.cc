// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>

namespace duckicelake {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string hex(std::string_view bytes, std::string_view digits) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    auto b = static_cast<unsigned char>(c);
    out.push_back(digits[b >> 4]);
    out.push_back(digits[b & 15]);
  }
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string encode64(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::size_t i = 0;
  auto at = [&](std::size_t k) {
    return static_cast<unsigned>(static_cast<unsigned char>(bytes[k]));
  };
  for (; i + 3 <= bytes.size(); i += 3) {
    unsigned v = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) out.push_back(alphabet[(v >> shift) & 63]);
  }
  if (std::size_t rest = bytes.size() - i; rest > 0) {
    unsigned v = at(i) << 16 | (rest == 2 ? at(i + 1) << 8 : 0);
    out.push_back(alphabet[(v >> 18) & 63]);
    out.push_back(alphabet[(v >> 12) & 63]);
    if (rest == 2) out.push_back(alphabet[(v >> 6) & 63]);
    if (pad) out.append(rest == 2 ? "=" : "==");
  }
  return out;
}

Result<std::string> decode64(std::string_view text, std::string_view alphabet) {
  std::array<int, 256> reverse{};
  reverse.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    reverse[static_cast<unsigned char>(alphabet[i])] = static_cast<int>(i);
  }
  if (text.size() % 4 == 1) return invalid_argument("base64 text has an impossible length");
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  unsigned bits = 0;
  int count = 0;
  for (char c : text) {
    int digit = reverse[static_cast<unsigned char>(c)];
    if (digit < 0) return invalid_argument("base64 text has an invalid character");
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> count)));
      bits &= (1U << count) - 1;
    }
  }
  if (bits != 0) return invalid_argument("base64 text has stray bits at its end");
  return out;
}

}  // namespace

std::string to_hex(std::string_view bytes) { return hex(bytes, "0123456789abcdef"); }
std::string to_hex_upper(std::string_view bytes) { return hex(bytes, "0123456789ABCDEF"); }

Result<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return invalid_argument("hex text has an odd length");
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int high = hex_digit(text[i]);
    int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return invalid_argument("hex text has an invalid character");
    out.push_back(static_cast<char>(static_cast<unsigned char>(high << 4 | low)));
  }
  return out;
}

std::string to_base64(std::string_view bytes) { return encode64(bytes, kBase64, true); }
std::string to_base64url(std::string_view bytes) { return encode64(bytes, kBase64Url, false); }

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return invalid_argument("base64 text is not padded");
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return decode64(text.substr(0, text.size() - padding), kBase64);
}

Result<std::string> from_base64url(std::string_view text) { return decode64(text, kBase64Url); }

bool is_valid_utf8(std::string_view text) {
  std::size_t i = 0;
  auto continuation = [&](std::size_t k) {
    return k < text.size() && (static_cast<unsigned char>(text[k]) & 0xC0U) == 0x80U;
  };
  while (i < text.size()) {
    auto b = static_cast<unsigned char>(text[i]);
    if (b < 0x80) {
      i += 1;
    } else if (b >= 0xC2 && b <= 0xDF) {
      if (!continuation(i + 1)) return false;
      i += 2;
    } else if (b >= 0xE0 && b <= 0xEF) {
      if (!continuation(i + 1) || !continuation(i + 2)) return false;
      auto second = static_cast<unsigned char>(text[i + 1]);
      if (b == 0xE0 && second < 0xA0) return false;
      if (b == 0xED && second >= 0xA0) return false;
      i += 3;
    } else if (b >= 0xF0 && b <= 0xF4) {
      if (!continuation(i + 1) || !continuation(i + 2) || !continuation(i + 3)) return false;
      auto second = static_cast<unsigned char>(text[i + 1]);
      if (b == 0xF0 && second < 0x90) return false;
      if (b == 0xF4 && second >= 0x90) return false;
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace duckicelake
