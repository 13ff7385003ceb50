// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace duckicelake::iceberg {

// The first `count` code points of valid UTF-8. Of other bytes, a prefix that starts no more than
// `count` code points.
std::string_view utf8_prefix(std::string_view text, std::size_t count);

}  // namespace duckicelake::iceberg
