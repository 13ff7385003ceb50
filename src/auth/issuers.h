// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwt.h"
#include "auth/scopes.h"
#include "base/result.h"

namespace duckicelake::auth {

// Another issuer (OpenID Connect) whose tokens are taken here, and what its claims mean.
struct ExternalIssuer {
  std::string issuer;                  // "iss" of its tokens, to the letter
  std::vector<std::string> audiences;  // at least one: a token must name one of them
  std::string jwks_url;                // empty: the one of its discovery document
  std::string principal_claim = "sub";
  std::string principal_prefix;  // put before the claim's value
  std::string roles_claim;       // empty: no roles
  std::string account_claim;     // empty: no account
  std::string scope_claim;       // empty: its tokens say nothing of scopes
  ScopeSet scopes;               // of each of its principals
  std::map<std::string, ScopeSet, std::less<>> role_scopes;  // of those that hold the role
};

// A JSON array of objects with the members issuer, audience (text or list), jwks-url,
// principal-claim, principal-prefix, roles-claim, account-claim, scope-claim, scope, role-scopes
// (role -> scope). kInvalidArgument: also for unknown members, URLs that are not https (or http on
// this machine), issuers that are there twice.
Result<std::vector<ExternalIssuer>> issuers_from_json(std::string_view json);

// What the claims of a token of the issuer, proved before, come to. kUnauthenticated: the claim
// that names the principal is missing or is no name.
struct MappedPrincipal {
  std::string id;
  std::vector<std::string> roles;  // sorted; names that are no roles are left out
  std::string account;
  ScopeSet scopes;
};
Result<MappedPrincipal> map_claims(const ExternalIssuer& issuer, const ParsedToken& token);

// Whether keys may be fetched from there.
bool is_fetchable_url(std::string_view url);
// The discovery document of an issuer, and the key set that it names (kInvalidArgument: none, or of
// another issuer).
std::string discovery_url(std::string_view issuer);
Result<std::string> jwks_url_of(std::string_view discovery_document, std::string_view issuer);

}  // namespace duckicelake::auth
