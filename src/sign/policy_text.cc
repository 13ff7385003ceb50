// SPDX-License-Identifier: Apache-2.0
#include "sign/policy_text.h"

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace duckicelake::sign {
namespace {

constexpr std::size_t kMaxKeyBytes = 1024;

std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto first = static_cast<unsigned char>(text[i++]);
  if (first < 0x80) return first;
  int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  std::uint32_t point = first & (0x3FU >> more);
  for (; more > 0; --more) {
    point = point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
  }
  return point;
}

void append_escape(std::string& out, std::uint32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(kDigits[unit >> shift & 15U]);
}

bool is_wildcard(char c) { return c == '*' || c == '?' || c == '$'; }

Status check_prefix(std::string_view prefix) {
  if (!prefix.ends_with('/')) return invalid_argument("a prefix must end in '/'");
  return check_plain_key(prefix.substr(0, prefix.size() - 1));
}

void append_list(std::string& out, std::string_view name, const auto& texts) {
  append_ascii_string(out, name);
  out.append(":[");
  bool is_first = true;
  for (const auto& text : texts) {
    if (!is_first) out.push_back(',');
    is_first = false;
    append_ascii_string(out, text);
  }
  out.push_back(']');
}

}  // namespace

void append_strings(std::string& out, std::string_view name, std::span<const std::string> texts) {
  append_list(out, name, texts);
}

void append_strings(std::string& out, std::string_view name,
                    std::span<const std::string_view> texts) {
  append_list(out, name, texts);
}

void append_ascii_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t i = 0; i < text.size();) {
    const std::uint32_t point = next_code_point(text, i);
    if (point == '"' || point == '\\') {
      out.push_back('\\');
      out.push_back(static_cast<char>(point));
    } else if (point >= 0x20 && point < 0x7F) {
      out.push_back(static_cast<char>(point));
    } else if (point < 0x10000) {
      append_escape(out, point);
    } else {
      append_escape(out, 0xD800 + ((point - 0x10000) >> 10));
      append_escape(out, 0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  out.push_back('"');
}

bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

Result<std::string> literal(std::string_view key, Wildcards wildcards) {
  std::string out;
  out.reserve(key.size());
  for (char c : key) {
    if (!is_wildcard(c)) {
      out.push_back(c);
    } else if (wildcards == Wildcards::kEscape) {
      out.append("${").append(1, c).append("}");
    } else {
      return invalid_argument("a name with '{}' cannot be told from a pattern by the store", c);
    }
  }
  return out;
}

void sort_unique(PolicyNames& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

bool is_below(std::string_view key, const PolicyNames& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); });
}

Result<PolicyNames> normal_prefixes(const PolicyNames& given) {
  PolicyNames sorted = given;
  sort_unique(sorted);
  PolicyNames out;
  for (std::string& prefix : sorted) {
    DIL_CHECK_OK(check_prefix(prefix));
    // Sorted: what holds it came just before.
    if (out.empty() || !prefix.starts_with(out.back())) out.push_back(std::move(prefix));
  }
  return out;
}

bool is_partition(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Status check_plain_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) return invalid_argument("no key has this length");
  if (!is_valid_utf8(key)) return invalid_argument("a key must be UTF-8");
  for (char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return invalid_argument("a key with a control character");
    // Some stores take it for '/'.
    if (c == '\\') return invalid_argument("a key with '\\'");
  }
  while (true) {
    const std::size_t slash = std::min(key.find('/'), key.size());
    const std::string_view segment = key.substr(0, slash);
    // Some stores resolve these, and another object is meant.
    if (segment.empty() || segment == "." || segment == "..") {
      return invalid_argument("a key with an empty or dotted segment");
    }
    if (slash == key.size()) return {};
    key.remove_prefix(slash + 1);
  }
}

}  // namespace duckicelake::sign
