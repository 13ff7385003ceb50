// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::auth {

enum class Algorithm : std::uint8_t { kHs256, kRs256, kEs256 };
std::string_view algorithm_name(Algorithm algorithm);
// nullopt for every other name: "none" is none.
std::optional<Algorithm> algorithm_of(std::string_view name);

// A key that proves who made a token. It serves one algorithm only, so that the public key of one
// cannot become the secret of another. Immutable; cheap to copy; thread-safe.
class VerifyKey {
 public:
  // HS256. Pre-condition: not empty.
  static VerifyKey from_secret(std::string key_id, Secret secret);
  // RS256: big-endian bytes of modulus and exponent, 2048 to 8192 bits. kInvalidArgument.
  static Result<VerifyKey> from_rsa(std::string key_id, std::string_view modulus,
                                    std::string_view exponent);
  // ES256: coordinates of 32 bytes each of a point on P-256. kInvalidArgument.
  static Result<VerifyKey> from_p256(std::string key_id, std::string_view x, std::string_view y);

  const std::string& id() const { return id_; }
  Algorithm algorithm() const { return algorithm_; }
  bool verifies(std::string_view message, std::string_view signature) const;

 private:
  struct Public;
  VerifyKey(std::string id, Algorithm algorithm) : id_(std::move(id)), algorithm_(algorithm) {}
  std::string id_;
  Algorithm algorithm_;
  std::shared_ptr<const Secret> secret_;
  std::shared_ptr<const Public> public_;
};

// The keys of an issuer. Of a key id there may be several; tokens without one are tried with all
// keys of their algorithm, as far as kMaxTries.
class KeySet {
 public:
  static constexpr std::size_t kMaxKeys = 64;
  static constexpr std::size_t kMaxTries = 4;
  static constexpr std::size_t kMaxJwksBytes = std::size_t{256} << 10;

  KeySet() = default;
  explicit KeySet(std::vector<VerifyKey> keys) : keys_(std::move(keys)) {}
  // A JSON Web Key Set (RFC 7517). Keys that are not for signatures of the algorithms here are left
  // out, as are those that do not parse. kInvalidArgument: it is no key set, or over the bounds.
  static Result<KeySet> from_jwks(std::string_view json);

  std::size_t size() const { return keys_.size(); }
  const std::vector<VerifyKey>& keys() const { return keys_; }
  bool has_key(std::string_view key_id) const;
  // Whether one of the keys made it. `key_id` as the token names it, or nullopt.
  bool verifies(Algorithm algorithm, const std::optional<std::string>& key_id,
                std::string_view message, std::string_view signature) const;

 private:
  std::vector<VerifyKey> keys_;
};

}  // namespace duckicelake::auth
