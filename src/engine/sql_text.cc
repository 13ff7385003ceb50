// SPDX-License-Identifier: Apache-2.0
#include "engine/sql_text.h"

namespace duckicelake::engine {
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
