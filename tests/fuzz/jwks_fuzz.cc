// SPDX-License-Identifier: Apache-2.0
// Feeds key sets, discovery documents and settings of issuers, as other servers may send them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "auth/issuers.h"
#include "auth/keys.h"

namespace auth = duckicelake::auth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto keys = auth::KeySet::from_jwks(input); keys.has_value()) {
    DIL_ASSERT(keys->size() <= auth::KeySet::kMaxKeys);
    for (const auth::VerifyKey& key : keys->keys()) {
      DIL_ASSERT(key.algorithm() != auth::Algorithm::kHs256);
      DIL_ASSERT(!key.verifies("message", std::string(64, 'x')));
    }
  }
  if (const auto url = auth::jwks_url_of(input, "https://idp.example"); url.has_value()) {
    DIL_ASSERT(auth::is_fetchable_url(*url));
  }
  (void)auth::issuers_from_json(input);
  return 0;
}
