// SPDX-License-Identifier: Apache-2.0
#include "net/url.h"

#include <algorithm>

#include "base/bytes.h"

namespace duckicelake::net {
namespace {

enum class Plus { kLiteral, kSpace };

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What stands for itself in every part of a URL: most names hold nothing else.
bool is_plain(std::string_view raw) {
  return std::all_of(raw.begin(), raw.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0 && byte < 0x80 && c != '%' && c != '+';
  });
}

Result<std::string> decode(std::string_view raw, Plus plus) {
  if (is_plain(raw)) return std::string(raw);
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '%') {
      int high = i + 2 < raw.size() ? hex_value(raw[i + 1]) : -1;
      int low = i + 2 < raw.size() ? hex_value(raw[i + 2]) : -1;
      if (high < 0 || low < 0) return invalid_argument("malformed percent-encoding in the URL");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::kSpace) {
      c = ' ';
    }
    if (c == '\0') return invalid_argument("NUL character in the URL");
    out.push_back(c);
  }
  if (!is_valid_utf8(out)) return invalid_argument("the URL does not decode to UTF-8");
  return out;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

SplitTarget split_target(std::string_view target) {
  SplitTarget split;
  std::size_t mark = target.find('?');
  split.path = target.substr(0, mark);
  if (mark != std::string_view::npos) {
    split.has_query = true;
    split.query = target.substr(mark + 1);
  }
  return split;
}

Result<std::string> decode_segment(std::string_view raw) { return decode(raw, Plus::kLiteral); }

Result<std::string> decode_query_component(std::string_view raw) {
  return decode(raw, Plus::kSpace);
}

Result<std::vector<std::string>> decode_path(std::string_view raw_path) {
  if (raw_path.empty() || raw_path.front() != '/') {
    return invalid_argument("the path does not start with '/'");
  }
  std::vector<std::string> segments;
  std::string_view rest = raw_path.substr(1);
  if (rest.empty()) return segments;
  for (;;) {
    std::size_t slash = rest.find('/');
    DIL_TRY(std::string segment, decode_segment(rest.substr(0, slash)));
    if (segment.empty()) return invalid_argument("empty segment in the path");
    if (segment == "." || segment == "..") return invalid_argument("dot segment in the path");
    if (segments.size() == kMaxPathSegments) return invalid_argument("too many path segments");
    segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) return segments;
    rest.remove_prefix(slash + 1);
  }
}

Result<QueryPairs> parse_query(std::string_view raw, QueryLimits limits) {
  if (raw.size() > limits.max_bytes) return invalid_argument("the query is too long");
  QueryPairs pairs;
  while (!raw.empty()) {
    std::size_t end = raw.find('&');
    std::string_view piece = raw.substr(0, end);
    raw = end == std::string_view::npos ? std::string_view() : raw.substr(end + 1);
    if (piece.empty()) continue;
    if (pairs.size() == limits.max_pairs) return invalid_argument("too many query parameters");
    std::size_t equals = piece.find('=');
    DIL_TRY(std::string name, decode_query_component(piece.substr(0, equals)));
    std::string value;
    if (equals != std::string_view::npos) {
      DIL_TRY(value, decode_query_component(piece.substr(equals + 1)));
    }
    pairs.emplace_back(std::move(name), std::move(value));
  }
  return pairs;
}

std::string encode_component(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (is_unreserved(c)) {
      out.push_back(c);
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

}  // namespace duckicelake::net
