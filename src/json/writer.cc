// SPDX-License-Identifier: Apache-2.0
#include "json/writer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

namespace duckicelake::json {
namespace {

// Bytes that may be copied as they are.
constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (std::size_t i = 0x20; i < 0x80; ++i) plain[i] = true;
  plain['"'] = false;
  plain['\\'] = false;
  return plain;
}
constexpr std::array<bool, 256> kPlain = make_plain();

// Length of the well-formed UTF-8 sequence at `text[i]` (lead byte >= 0x80), 0 when malformed.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  auto at = [&](std::size_t k) {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
  };
  auto tail = [&](std::size_t k) { return (at(k) & 0xC0U) == 0x80U; };
  unsigned lead = at(0);
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) >= 0xA0)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if ((lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) >= 0x90)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void append_escape(std::string& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': out.append("\\\""); return;
    case '\\': out.append("\\\\"); return;
    case '\b': out.append("\\b"); return;
    case '\f': out.append("\\f"); return;
    case '\n': out.append("\\n"); return;
    case '\r': out.append("\\r"); return;
    case '\t': out.append("\\t"); return;
    default:
      out.append("\\u00");
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
  }
}

template <class T>
void append_shortest(std::string& out, T value) {
  if (!std::isfinite(value)) {
    out.append("null");
    return;
  }
  std::size_t start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) out.append(".0");
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t copied = 0;
  std::size_t i = 0;
  auto flush = [&] { out.append(text.substr(copied, i - copied)); };
  while (i < text.size()) {
    auto c = static_cast<unsigned char>(text[i]);
    if (kPlain[c]) {
      ++i;
      continue;
    }
    if (c >= 0x80) {
      if (std::size_t length = utf8_length(text, i); length > 0) {
        i += length;
        continue;
      }
    }
    flush();
    if (c >= 0x80) {
      out.append("\xEF\xBF\xBD");
    } else {
      append_escape(out, c);
    }
    copied = ++i;
  }
  flush();
  out.push_back('"');
}

void append_number(std::string& out, double value) { append_shortest(out, value); }
void append_number(std::string& out, float value) { append_shortest(out, value); }

void Writer::key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_.push_back(':');
  comma_ = false;
}

void Writer::value(std::string_view text) {
  separate();
  append_string(out_, text);
}

void Writer::value(double number) {
  separate();
  append_number(out_, number);
}

void Writer::raw(std::string_view json) {
  separate();
  out_.append(json);
}

void Writer::integer(std::int64_t number) {
  separate();
  fmt::format_int digits(number);
  out_.append(digits.data(), digits.size());
}

void Writer::unsigned_integer(std::uint64_t number) {
  separate();
  fmt::format_int digits(number);
  out_.append(digits.data(), digits.size());
}

}  // namespace duckicelake::json
