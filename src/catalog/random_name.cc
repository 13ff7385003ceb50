// SPDX-License-Identifier: Apache-2.0
#include "catalog/random_name.h"

#include <fmt/format.h>

#include <random>

namespace duckicelake::catalog {

std::string random_name() {
  thread_local std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace duckicelake::catalog
