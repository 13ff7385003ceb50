// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/keys.h"
#include "base/result.h"
#include "base/secret.h"

// JSON Web Tokens in JWS compact form (RFC 7515, 7519): signed ones only.
namespace duckicelake::auth {

inline constexpr std::size_t kMaxTokenBytes = 16384;

// A token taken apart. Nothing in it is proved yet.
struct ParsedToken {
  Algorithm algorithm = Algorithm::kHs256;
  std::optional<std::string> key_id;
  std::string payload;           // JSON; an object within bounds
  std::string_view signed_part;  // of the text that was parsed
  std::string signature;
};
// kUnauthenticated, with a message that says nothing of the token's content: too long, not three
// parts of base64url, a header that is none, `alg` that is not one of ours ("none" least of all),
// `crit` (nothing critical is understood here), a payload that is no JSON object.
Result<ParsedToken> parse_token(std::string_view text);

// Who made the token, as it says itself; empty: it does not say. For choosing the issuer whose keys
// are to prove it.
std::string claimed_issuer(const ParsedToken& token);

struct Expectations {
  std::string_view issuer;
  // One of them must be among the token's; empty: not asked for.
  std::vector<std::string> audiences = {};
  bool requires_audience = false;         // else a token without audience is taken
  std::int64_t now = 0;                   // seconds since the epoch
  std::int64_t skew_seconds = 60;         // of clocks, for `iat` and `nbf`
  std::int64_t expiry_skew_seconds = 60;  // likewise for `exp`
};

// The claims of a token that was proved to be the issuer's and to be valid now.
struct Claims {
  std::string issuer;
  std::string subject;
  std::int64_t issued_at = 0;
  std::int64_t expires_at = 0;
  std::string token_id;  // "jti"; may be empty
};

// What a token turned out to be. kBad has no claims.
enum class TokenState : std::uint8_t { kGood, kExpired, kBad };
struct TokenCheck {
  TokenState state = TokenState::kBad;
  std::string_view why = {};  // a constant, fit for the caller
  Claims claims = {};
};
// Proves the signature first, then the claims: iss, sub (1 to kMaxSubjectBytes bytes, no controls),
// iat and exp must be there; nbf and aud are looked at where they are. An expired token is told
// from a bad one only if it is good in all else; it has claims as well.
inline constexpr std::size_t kMaxSubjectBytes = 256;
TokenCheck check_token(const ParsedToken& token, const KeySet& keys, const Expectations& expected);

// Claims by path ("sub", "realm_access.roles"): a dot goes down into an object, unless the whole
// path is itself a member.
std::optional<std::string> text_claim(const ParsedToken& token, std::string_view path);
std::optional<std::int64_t> number_claim(const ParsedToken& token, std::string_view path);
// An array of texts, or one text of words.
std::vector<std::string> list_claim(const ParsedToken& token, std::string_view path);

// What the server writes into its own tokens.
struct NewToken {
  std::string issuer;
  std::string subject;
  std::string scope;
  std::vector<std::string> roles;
  std::string account;    // empty: none
  std::string client_id;  // of the client that holds it; empty: none of this server's
  std::string origin;     // the issuer of the token that it was exchanged for; empty: none
  std::string token_id;
  std::int64_t issued_at = 0;
  std::int64_t expires_at = 0;
  std::int64_t signed_in_at = 0;  // when the client last showed its secret
};
// HS256.
std::string sign_token(const NewToken& token, const std::string& key_id, const Secret& secret);

// A key id that follows from the secret and does not tell it: so keys need no names in settings.
std::string key_id_of(const Secret& secret);

}  // namespace duckicelake::auth
