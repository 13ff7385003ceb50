// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace duckicelake::puffin {

struct CountedBlob {
  std::string blob;
  std::int64_t cardinality = 0;  // positions that are really in it
};
// encode_deletion_vector that also says how many positions it holds.
CountedBlob encode_counted(std::span<const std::int64_t> positions);

}  // namespace duckicelake::puffin
