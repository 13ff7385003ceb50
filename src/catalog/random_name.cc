// SPDX-License-Identifier: Apache-2.0
#include "catalog/random_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <random>

#include "base/uuid.h"

namespace duckicelake::catalog {

std::string random_name() {
  thread_local std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  DIL_ASSERT(::getentropy(out.data(), out.size()) == 0);
  return out;
}

std::string random_uuid() {
  thread_local std::random_device device;
  std::array<std::uint8_t, 16> bytes{};
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(device() & 0xFFU);
  return Uuid::from_random(bytes).to_string();
}

}  // namespace duckicelake::catalog
