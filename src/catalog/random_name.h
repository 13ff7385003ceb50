// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace duckicelake::catalog {

// 16 random hex digits for object names: no two attempts of any two processes write the same
// object.
std::string random_name();

// A random UUID (version 4) as text.
std::string random_uuid();

}  // namespace duckicelake::catalog
