// SPDX-License-Identifier: Apache-2.0
// Feeds bearer tokens through parser, proof and claims. No input is a token of the server's.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "auth/issuers.h"
#include "auth/jwt.h"

namespace auth = duckicelake::auth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const auth::KeySet keys({auth::VerifyKey::from_secret(
      "k", duckicelake::Secret("a secret that no fuzzer finds by chance"))});
  const auto token = auth::parse_token(input);
  if (!token.has_value()) return 0;
  auth::Expectations expected;
  expected.issuer = "duckicelake";
  expected.audiences = {"duckicelake"};
  expected.now = 1'800'000'000;
  DIL_ASSERT(auth::check_token(*token, keys, expected).state == auth::TokenState::kBad);
  (void)auth::claimed_issuer(*token);
  auth::ExternalIssuer issuer;
  issuer.roles_claim = "realm.roles";
  issuer.scope_claim = "scp";
  issuer.account_claim = "a.b.c";
  issuer.scopes = auth::ScopeSet::parse("ns:a:r").value();
  if (const auto who = auth::map_claims(issuer, *token); who.has_value()) {
    DIL_ASSERT(!who->id.empty() && who->id.size() <= auth::kMaxSubjectBytes);
  }
  return 0;
}
