// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace duckicelake::catalog {

// 16 random hex digits for object names: no two attempts of any two processes write the same
// object.
std::string random_name();

// Bytes that nobody can guess (the kernel's), at most 256: secrets, salts.
std::string random_bytes(std::size_t count);

// A random UUID (version 4) as text.
std::string random_uuid();

}  // namespace duckicelake::catalog
