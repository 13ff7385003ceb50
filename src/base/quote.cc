// SPDX-License-Identifier: Apache-2.0
#include "base/quote.h"

namespace duckicelake {
namespace {

std::string quote(std::string_view text, char mark) {
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back(mark);
  for (const char c : text) {
    if (c == mark) out.push_back(mark);
    out.push_back(c);
  }
  out.push_back(mark);
  return out;
}

}  // namespace

std::string quote_identifier(std::string_view name) { return quote(name, '"'); }

std::string quote_literal(std::string_view text) { return quote(text, '\''); }

}  // namespace duckicelake
