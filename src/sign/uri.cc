// SPDX-License-Identifier: Apache-2.0
#include "sign/uri.h"

#include <algorithm>
#include <utility>

namespace duckicelake::sign {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string uri_encode(std::string_view bytes, Slash slash) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char c : bytes) {
    if (is_unreserved(c) || (c == '/' && slash == Slash::kKeep)) {
      out.push_back(c);
      continue;
    }
    auto b = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHexDigits[b >> 4]);
    out.push_back(kHexDigits[b & 15]);
  }
  return out;
}

Result<std::string> uri_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (text.size() - i < 3) return invalid_argument("truncated percent-encoding");
    int high = hex_value(text[i + 1]);
    int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return invalid_argument("malformed percent-encoding");
    out.push_back(static_cast<char>(static_cast<unsigned char>(high << 4 | low)));
    i += 2;
  }
  return out;
}

Result<std::vector<Parameter>> parse_query(std::string_view query, std::size_t max_parameters) {
  std::vector<Parameter> out;
  while (!query.empty()) {
    std::size_t end = std::min(query.find('&'), query.size());
    std::string_view piece = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (piece.empty()) continue;
    if (out.size() == max_parameters) return invalid_argument("too many query parameters");
    std::size_t equals = std::min(piece.find('='), piece.size());
    DIL_TRY(std::string name, uri_decode(piece.substr(0, equals)));
    DIL_TRY(std::string value, uri_decode(piece.substr(std::min(equals + 1, piece.size()))));
    out.push_back({std::move(name), std::move(value)});
  }
  return out;
}

std::string canonical_query(const std::vector<Parameter>& parameters) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(parameters.size());
  for (const Parameter& p : parameters) {
    encoded.emplace_back(uri_encode(p.name, Slash::kEncode), uri_encode(p.value, Slash::kEncode));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out.push_back('&');
    out.append(name).append("=").append(value);
  }
  return out;
}

}  // namespace duckicelake::sign
