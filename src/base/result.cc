// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace duckicelake {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "invariant broken: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace duckicelake
