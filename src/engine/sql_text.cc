// SPDX-License-Identifier: Apache-2.0
#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

std::string quote(std::string_view text, char mark) {
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back(mark);
  for (char c : text) {
    if (c == mark) out.push_back(mark);
    out.push_back(c);
  }
  out.push_back(mark);
  return out;
}

}  // namespace

std::string quote_identifier(std::string_view name) { return quote(name, '"'); }

std::string quote_literal(std::string_view text) { return quote(text, '\''); }

std::string escape_local_glob(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (char c : path) {
    const bool is_special = c == '*' || c == '?' || c == '[';
    if (is_special) out.push_back('[');
    out.push_back(c);
    if (is_special) out.push_back(']');
  }
  return out;
}

}  // namespace duckicelake::engine
