// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace duckicelake::iceberg {

// 32-bit Murmur3, x86 variant, seed 0 (spec appendix B).
std::int32_t murmur3_32(std::string_view bytes);

}  // namespace duckicelake::iceberg
