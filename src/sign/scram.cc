// SPDX-License-Identifier: Apache-2.0
#include "sign/scram.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "sign/hash.h"

namespace duckicelake::sign {
namespace {

constexpr int kIterations = 4096;  // PostgreSQL's own number

std::string xor_bytes(std::string a, std::string_view b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<char>(a[i] ^ b[i]);
  return a;
}

}  // namespace

std::string scram_verifier(const Secret& password, std::string_view salt) {
  // Hi() of RFC 5802: PBKDF2 with one block of HMAC-SHA-256.
  const std::string& key = password.reveal();
  std::string block(salt);
  append_big_endian(block, std::uint32_t{1});
  std::string round = hmac_sha256(key, block);
  std::string salted = round;
  for (int i = 1; i < kIterations; ++i) {
    round = hmac_sha256(key, round);
    salted = xor_bytes(std::move(salted), round);
  }
  const std::string stored = sha256(hmac_sha256(salted, "Client Key"));
  const std::string server = hmac_sha256(salted, "Server Key");
  return fmt::format("SCRAM-SHA-256${}:{}${}:{}", kIterations, to_base64(salt), to_base64(stored),
                     to_base64(server));
}

}  // namespace duckicelake::sign
