// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/secret.h"

namespace duckicelake::sign {

// PostgreSQL's stored form of a password (RFC 5803): "SCRAM-SHA-256$4096:<salt>$<keys>". It is
// given to PostgreSQL in place of the password, for statements may be logged. Pre-condition: the
// password is ASCII without blanks, which SASLprep leaves as it is.
std::string scram_verifier(const Secret& password, std::string_view salt);

}  // namespace duckicelake::sign
