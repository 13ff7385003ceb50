// SPDX-License-Identifier: Apache-2.0
#include "auth/jwt.h"

#include <algorithm>
#include <cmath>

#include "auth/crypto.h"
#include "base/bytes.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::auth {
namespace {

constexpr std::size_t kMaxKeyIdBytes = 512;
constexpr std::size_t kMaxListEntries = 256;
constexpr json::ParseLimits kHeaderLimits{4096, 4};
constexpr json::ParseLimits kPayloadLimits{kMaxTokenBytes, 8};
constexpr double kMaxSeconds = 253'402'300'800;  // the year 10000

Error malformed() { return Error(Code::kUnauthenticated, "the token is malformed"); }

// NumericDate (RFC 7519 §2): seconds, perhaps with a fraction.
std::optional<std::int64_t> time_claim(const json::Object& claims, std::string_view name) {
  const std::optional<json::Value> value = claims.find(name);
  if (!value) return std::nullopt;
  const Result<double> seconds = value->as_double();
  if (!seconds.has_value() || !(*seconds >= 0) || *seconds > kMaxSeconds) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(*seconds));
}

std::optional<std::string> text_member(const json::Object& claims, std::string_view name) {
  const std::optional<json::Value> value = claims.find(name);
  if (!value) return std::nullopt;
  const Result<std::string_view> text = value->as_string();
  if (!text.has_value()) return std::nullopt;
  return std::string(*text);
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxSubjectBytes) return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7F'; });
}

// kBad: there is an audience of no sort we know.
enum class Audience : std::uint8_t { kAbsent, kMatches, kOther };
Audience audience_of(const json::Object& claims, const std::vector<std::string>& wanted) {
  const std::optional<json::Value> value = claims.find("aud");
  if (!value) return Audience::kAbsent;
  const auto is_wanted = [&](const json::Value& one) {
    const Result<std::string_view> text = one.as_string();
    return text.has_value() && std::find(wanted.begin(), wanted.end(), *text) != wanted.end();
  };
  if (value->kind() != json::Kind::kArray) {
    return is_wanted(*value) ? Audience::kMatches : Audience::kOther;
  }
  const Result<json::Array> all = value->as_array();
  for (std::size_t i = 0; all.has_value() && i < all->size(); ++i) {
    if (is_wanted((*all)[i])) return Audience::kMatches;
  }
  return Audience::kOther;
}

std::optional<json::Value> at_path(const json::Object& claims, std::string_view path) {
  if (std::optional<json::Value> whole = claims.find(path)) return whole;
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<json::Value> below = claims.find(path.substr(0, dot));
  if (!below) return std::nullopt;
  const Result<json::Object> object = below->as_object();
  if (!object.has_value()) return std::nullopt;
  return at_path(*object, path.substr(dot + 1));
}

TokenCheck bad(std::string_view why) { return {TokenState::kBad, why, {}}; }

}  // namespace

Result<ParsedToken> parse_token(std::string_view text) {
  if (text.size() > kMaxTokenBytes) return Error(Code::kUnauthenticated, "the token is too long");
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos) {
    return malformed();
  }
  const Result<std::string> header = from_base64url(text.substr(0, first));
  Result<std::string> payload = from_base64url(text.substr(first + 1, second - first - 1));
  Result<std::string> signature = from_base64url(text.substr(second + 1));
  if (!header.has_value() || !payload.has_value() || !signature.has_value()) return malformed();

  const Result<json::Document> document = json::Document::parse(*header, kHeaderLimits);
  if (!document.has_value()) return malformed();
  const Result<json::Object> members = document->root_object();
  if (!members.has_value() || members->has("crit")) return malformed();
  const std::optional<std::string> name = text_member(*members, "alg");
  const std::optional<Algorithm> algorithm = name ? algorithm_of(*name) : std::nullopt;
  if (!algorithm) {
    return Error(Code::kUnauthenticated, "the token is signed in no way that is taken here");
  }
  ParsedToken out;
  out.algorithm = *algorithm;
  if (members->has("kid")) {
    out.key_id = text_member(*members, "kid");
    if (!out.key_id || out.key_id->size() > kMaxKeyIdBytes) return malformed();
  }
  const Result<json::Document> claims = json::Document::parse(*payload, kPayloadLimits);
  if (!claims.has_value() || !claims->root_object().has_value()) return malformed();
  out.payload = std::move(*payload);
  out.signed_part = text.substr(0, second);
  out.signature = std::move(*signature);
  return out;
}

std::string claimed_issuer(const ParsedToken& token) {
  return text_claim(token, "iss").value_or(std::string());
}

TokenCheck check_token(const ParsedToken& token, const KeySet& keys, const Expectations& expected) {
  if (!keys.verifies(token.algorithm, token.key_id, token.signed_part, token.signature)) {
    return bad("the token's signature is not that of a known key");
  }
  const Result<json::Document> document = json::Document::parse(token.payload, kPayloadLimits);
  if (!document.has_value()) return bad("the token is malformed");
  const Result<json::Object> claims = document->root_object();
  if (!claims.has_value()) return bad("the token is malformed");

  TokenCheck out;
  out.claims.issuer = text_member(*claims, "iss").value_or(std::string());
  out.claims.subject = text_member(*claims, "sub").value_or(std::string());
  out.claims.token_id = text_member(*claims, "jti").value_or(std::string());
  if (out.claims.issuer != expected.issuer) return bad("the token is another issuer's");
  if (!is_name(out.claims.subject)) return bad("the token names no subject");
  const std::optional<std::int64_t> issued_at = time_claim(*claims, "iat");
  const std::optional<std::int64_t> expires_at = time_claim(*claims, "exp");
  if (!issued_at || !expires_at) return bad("the token does not say when it is valid");
  if (claims->has("nbf")) {
    const std::optional<std::int64_t> not_before = time_claim(*claims, "nbf");
    if (!not_before || *not_before > expected.now + expected.skew_seconds) {
      return bad("the token is not valid yet");
    }
  }
  if (*issued_at > expected.now + expected.skew_seconds) return bad("the token is not valid yet");
  switch (audience_of(*claims, expected.audiences)) {
    case Audience::kMatches: break;
    case Audience::kAbsent:
      if (expected.requires_audience) return bad("the token names no audience");
      break;
    case Audience::kOther: return bad("the token is meant for another audience");
  }
  out.claims.issued_at = *issued_at;
  out.claims.expires_at = *expires_at;
  // The last of all: only a token that was good once has expired.
  if (*expires_at + expected.expiry_skew_seconds <= expected.now) {
    out.state = TokenState::kExpired;
    out.why = "the token has expired";
    return out;
  }
  out.state = TokenState::kGood;
  return out;
}

std::optional<std::string> text_claim(const ParsedToken& token, std::string_view path) {
  const Result<json::Document> document = json::Document::parse(token.payload, kPayloadLimits);
  if (!document.has_value()) return std::nullopt;
  const Result<json::Object> claims = document->root_object();
  if (!claims.has_value()) return std::nullopt;
  const std::optional<json::Value> value = at_path(*claims, path);
  if (!value) return std::nullopt;
  const Result<std::string_view> text = value->as_string();
  if (!text.has_value()) return std::nullopt;
  return std::string(*text);
}

std::optional<std::int64_t> number_claim(const ParsedToken& token, std::string_view path) {
  const Result<json::Document> document = json::Document::parse(token.payload, kPayloadLimits);
  if (!document.has_value()) return std::nullopt;
  const Result<json::Object> claims = document->root_object();
  if (!claims.has_value()) return std::nullopt;
  const std::optional<json::Value> value = at_path(*claims, path);
  if (!value) return std::nullopt;
  const Result<std::int64_t> number = value->as_int64();
  if (!number.has_value()) return std::nullopt;
  return *number;
}

std::vector<std::string> list_claim(const ParsedToken& token, std::string_view path) {
  std::vector<std::string> out;
  const Result<json::Document> document = json::Document::parse(token.payload, kPayloadLimits);
  if (!document.has_value()) return out;
  const Result<json::Object> claims = document->root_object();
  if (!claims.has_value()) return out;
  const std::optional<json::Value> value = at_path(*claims, path);
  if (!value) return out;
  if (const Result<std::string_view> text = value->as_string(); text.has_value()) {
    std::string_view rest = *text;
    while (!rest.empty() && out.size() < kMaxListEntries) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (end > 0) out.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }
  const Result<json::Array> all = value->as_array();
  for (std::size_t i = 0; all.has_value() && i < all->size() && i < kMaxListEntries; ++i) {
    const Result<std::string_view> text = (*all)[i].as_string();
    if (text.has_value() && !text->empty()) out.emplace_back(*text);
  }
  return out;
}

std::string sign_token(const NewToken& token, const std::string& key_id, const Secret& secret) {
  std::string header;
  {
    json::Writer json(header);
    json.begin_object();
    json.key("alg");
    json.value(algorithm_name(Algorithm::kHs256));
    json.key("typ");
    json.value("JWT");
    json.key("kid");
    json.value(key_id);
    json.end_object();
  }
  std::string payload;
  json::Writer json(payload);
  const auto text = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    json.key(name);
    json.value(value);
  };
  json.begin_object();
  text("iss", token.issuer);
  text("aud", token.issuer);
  text("sub", token.subject);
  json.key("iat");
  json.value(token.issued_at);
  json.key("exp");
  json.value(token.expires_at);
  json.key("auth_time");
  json.value(token.signed_in_at);
  text("jti", token.token_id);
  text("client_id", token.client_id);
  text("idp", token.origin);
  json.key("scope");
  json.value(token.scope);
  if (!token.roles.empty()) {
    json.key("roles");
    json.begin_array();
    for (const std::string& role : token.roles) json.value(role);
    json.end_array();
  }
  text("account", token.account);
  json.end_object();
  std::string out = to_base64url(header);
  out.append(".").append(to_base64url(payload));
  const std::string signature = hmac_sha256(secret.reveal(), out);
  out.append(".").append(to_base64url(signature));
  return out;
}

std::string key_id_of(const Secret& secret) {
  return to_hex(hmac_sha256(secret.reveal(), "duckicelake key id")).substr(0, 16);
}

}  // namespace duckicelake::auth
