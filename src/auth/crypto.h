// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::auth {

// 32 raw bytes each. They cannot fail: a libcrypto without SHA-256 ends the process.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Whether two secrets are the same; constant time in both contents and lengths.
bool same_secret(std::string_view a, std::string_view b);

// How a secret is stored: "scrypt$<log2 N>$<r>$<p>$<salt>$<hash>", the last two in base64url. The
// salt (16 to 64 bytes of good randomness) comes from the caller. The costs are small ones, for
// the secrets of this server are random and long; they keep short ones from being guessed at once.
Result<std::string> hash_secret(std::string_view secret, std::string_view salt);

// kUnauthenticated: not the secret. kCorruptData: `hash` is no hash of hash_secret, or one whose
// costs lie beyond what this server spends.
Status check_secret(std::string_view secret, std::string_view hash);

}  // namespace duckicelake::auth
