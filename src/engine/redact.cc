// SPDX-License-Identifier: Apache-2.0
#include "engine/redact.h"

namespace duckicelake::engine {
namespace {

void replace_all(std::string& text, const std::string& what) {
  constexpr std::string_view kMask = "***";
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + kMask.size())) {
    text.replace(at, what.size(), kMask);
  }
}

std::string escape(const std::string& value, std::string_view special, std::string_view with) {
  std::string out;
  for (char c : value) {
    if (special.find(c) != std::string_view::npos)
      out += with.empty() ? std::string(1, c) : std::string(with);
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string redact(std::string_view text, std::span<const Secret> secrets) {
  std::string out(text);
  for (const Secret& secret : secrets) {
    const std::string& value = secret.reveal();
    const Secret libpq(escape(value, "'\\", "\\"));
    const Secret sql(escape(value, "'", ""));
    replace_all(out, libpq.reveal());
    replace_all(out, sql.reveal());
    replace_all(out, value);
  }
  return out;
}

}  // namespace duckicelake::engine
