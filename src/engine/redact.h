// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace duckicelake::engine {

// `text` with every secret replaced by "***", plain as well as in libpq's and SQL's quoted
// spelling: the PostgreSQL extension puts whole connection strings into its messages.
std::string redact(std::string_view text, std::span<const Secret> secrets);

}  // namespace duckicelake::engine
