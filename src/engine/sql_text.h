// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/quote.h"

namespace duckicelake::engine {

// A local path with the glob characters escaped, so that it names one file.
std::string escape_local_glob(std::string_view path);

}  // namespace duckicelake::engine
