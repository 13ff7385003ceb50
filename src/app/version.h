// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace duckicelake::app {

extern const std::string_view kVersion;   // of the project, "0.1.0"
extern const std::string_view kCompiler;  // "clang 19.1.4"

}  // namespace duckicelake::app
