// SPDX-License-Identifier: Apache-2.0
#include "iceberg/decimal.h"

#include <algorithm>
#include <charconv>

namespace duckicelake::iceberg {
namespace {

__extension__ typedef unsigned __int128 UInt128;

constexpr std::size_t kMaxTextLength = 128;

std::size_t digits_from(std::string_view text, std::size_t i) {
  std::size_t end = i;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - i;
}

struct DecimalText {
  bool negative = false;
  std::string digits;         // without leading zeros
  std::int64_t exponent = 0;  // of the last digit
};

std::optional<DecimalText> split(std::string_view text) {
  if (text.size() > kMaxTextLength) return std::nullopt;
  DecimalText parts;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) parts.negative = text[i++] == '-';
  std::size_t whole = digits_from(text, i);
  parts.digits = text.substr(i, whole);
  i += whole;
  std::size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    fraction = digits_from(text, ++i);
    parts.digits += text.substr(i, fraction);
    i += fraction;
  }
  if (whole + fraction == 0) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    if (++i < text.size() && text[i] == '+' && digits_from(text, i + 1) > 0) ++i;
    auto result = std::from_chars(text.data() + i, text.data() + text.size(), parts.exponent);
    if (result.ec != std::errc() || parts.exponent < -1000 || parts.exponent > 1000) {
      return std::nullopt;
    }
    i = static_cast<std::size_t>(result.ptr - text.data());
  }
  if (i != text.size()) return std::nullopt;
  parts.exponent -= static_cast<std::int64_t>(fraction);
  parts.digits.erase(0, std::min(parts.digits.find_first_not_of('0'), parts.digits.size()));
  return parts;
}

}  // namespace

ValueBytes value_of_decimal(Int128 unscaled) {
  std::string bytes(16, '\0');
  auto bits = static_cast<UInt128>(unscaled);
  for (std::size_t i = 16; i-- > 0; bits >>= 8) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(bits & 0xFF));
  }
  // A leading byte may go while the next one carries the same sign.
  char sign = unscaled < 0 ? '\xff' : '\0';
  std::size_t drop = 0;
  while (drop < 15 && bytes[drop] == sign &&
         (static_cast<unsigned char>(bytes[drop + 1]) >> 7 == 1) == (unscaled < 0)) {
    ++drop;
  }
  return bytes.substr(drop);
}

std::optional<Int128> decimal_from_bytes(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > 16) return std::nullopt;
  UInt128 bits = static_cast<unsigned char>(bytes[0]) >> 7 == 1 ? ~UInt128{0} : UInt128{0};
  for (char c : bytes) bits = bits << 8 | static_cast<unsigned char>(c);
  return static_cast<Int128>(bits);
}

std::string decimal_to_text(Int128 unscaled, std::int32_t scale) {
  UInt128 rest =
      unscaled < 0 ? ~static_cast<UInt128>(unscaled) + 1 : static_cast<UInt128>(unscaled);
  std::string text;  // from the last digit to the first
  std::int32_t written = 0;
  do {
    if (written == scale && scale > 0) text.push_back('.');
    text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
    ++written;
  } while (rest != 0 || written <= scale);
  if (unscaled < 0) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

Result<Int128> parse_decimal(std::string_view text, std::int32_t precision, std::int32_t scale) {
  auto parts = split(text);
  if (!parts) return invalid_argument("not a decimal number");
  std::string& digits = parts->digits;
  if (digits.empty()) return Int128{0};
  std::int64_t shift = parts->exponent + scale;
  for (; shift < 0; ++shift) {
    if (digits.empty() || digits.back() != '0') {
      return invalid_argument("the number has over {} digits after the point", scale);
    }
    digits.pop_back();
  }
  if (static_cast<std::int64_t>(digits.size()) + shift > std::min(precision, 38)) {
    return invalid_argument("the number does not fit decimal({},{})", precision, scale);
  }
  digits.append(static_cast<std::size_t>(shift), '0');
  Int128 value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return parts->negative ? -value : value;
}

}  // namespace duckicelake::iceberg
