// SPDX-License-Identifier: Apache-2.0
#include "app/version.h"

#define DIL_TEXT_INNER(x) #x
#define DIL_TEXT(x) DIL_TEXT_INNER(x)

namespace duckicelake::app {

const std::string_view kVersion = DIL_VERSION;
#if defined(__clang__)
const std::string_view kCompiler = "clang " DIL_TEXT(__clang_major__) "." DIL_TEXT(__clang_minor__);
#else
const std::string_view kCompiler = "gcc " DIL_TEXT(__GNUC__) "." DIL_TEXT(__GNUC_MINOR__);
#endif

}  // namespace duckicelake::app
