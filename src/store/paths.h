// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace duckicelake::store {

// DuckLake's rule: a relative path continues the one above it, an absolute one replaces it. The
// text is taken byte for byte: keys of partitioned files hold literal %20.
inline std::string join_path(std::string_view above, std::string_view path, bool is_relative) {
  if (!is_relative) return std::string(path);
  std::string out(above);
  if (!out.empty() && out.back() != '/' && !path.empty()) out.push_back('/');
  out.append(path);
  return out;
}

}  // namespace duckicelake::store
