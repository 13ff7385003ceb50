// SPDX-License-Identifier: Apache-2.0
#include "catalog/s3_gateway_keys.h"

#include "base/bytes.h"
#include "json/value.h"
#include "json/writer.h"
#include "sign/hash.h"

namespace duckicelake::catalog {
namespace {

constexpr std::string_view kMark = "DLGW1.";
constexpr std::size_t kMaxAccessKey = 16 * 1024;
constexpr std::size_t kMaxRoles = 1000;

Error foreign() { return Error(Code::kPermissionDenied, "no such access key"); }

void write_names(json::Writer& json, std::string_view name, const std::vector<std::string>& names) {
  if (names.empty()) return;
  json.key(name);
  json.begin_array();
  for (const std::string& one : names) json.value(one);
  json.end_array();
}

Result<std::vector<std::string>> read_names(const json::Object& object, std::string_view name) {
  std::vector<std::string> out;
  const auto found = object.find(name);
  if (!found) return out;
  DIL_TRY(const json::Array names, found->as_array());
  if (names.size() > kMaxRoles) return foreign();
  for (const json::Value& one : names) {
    DIL_TRY(const std::string_view text, one.as_string());
    out.emplace_back(text);
  }
  return out;
}

Result<std::string> text_of(const json::Object& object, std::string_view name) {
  const auto found = object.find(name);
  if (!found) return std::string();
  DIL_TRY(const std::string_view text, found->as_string());
  return std::string(text);
}

Result<GatewayClaims> read_claims(std::string_view text) {
  DIL_TRY(const json::Document document, json::Document::parse(text, {kMaxAccessKey, 8}));
  DIL_TRY(const json::Object object, document.root_object());
  GatewayClaims out;
  DIL_TRY(out.catalog_id, text_of(object, "cat"));
  DIL_TRY(const json::Value table, object.require("tab"));
  DIL_TRY(const std::int64_t id, table.as_int64());
  out.table = TableId(id);
  DIL_TRY(out.uuid, text_of(object, "uuid"));
  DIL_TRY(out.location, text_of(object, "loc"));
  DIL_TRY(out.staged.name, text_of(object, "nam"));
  if (const auto schema = object.find("sch")) {
    DIL_TRY(const std::int64_t schema_id, schema->as_int64());
    out.schema = SchemaId(schema_id);
  }
  DIL_TRY(out.staged.levels, read_names(object, "lev"));
  DIL_TRY(const std::string right, text_of(object, "rgt"));
  if (right != "r" && right != "w") return foreign();
  out.right = right == "w" ? StorageRight::kWrite : StorageRight::kRead;
  DIL_TRY(const json::Value end, object.require("exp"));
  DIL_TRY(const std::int64_t seconds, end.as_int64());
  out.expiration = std::chrono::sys_seconds(std::chrono::seconds(seconds));
  Principal& principal = out.principal;
  DIL_TRY(principal.id, text_of(object, "sub"));
  principal.is_named = object.has("act");
  if (principal.is_named) {
    DIL_TRY(principal.actor, text_of(object, "act"));
    DIL_TRY(principal.channel, text_of(object, "cha"));
  }
  if (const auto who = object.find("aut")) {
    DIL_TRY(const json::Object whose, who->as_object());
    auto subject = std::make_shared<Subject>();
    DIL_TRY(subject->id, text_of(whose, "id"));
    DIL_TRY(subject->client_id, text_of(whose, "cli"));
    DIL_TRY(subject->issuer, text_of(whose, "iss"));
    DIL_TRY(subject->account, text_of(whose, "acc"));
    DIL_TRY(const std::string scope, text_of(whose, "sco"));
    DIL_TRY(subject->scopes, auth::ScopeSet::parse(scope));
    DIL_TRY(subject->token_roles, read_names(whose, "rol"));
    DIL_TRY(const json::Value issued, whose.require("iat"));
    DIL_TRY(subject->issued_at, issued.as_int64());
    subject->expires_at = out.expiration.time_since_epoch().count();
    principal.is_authenticated = true;
    principal.subject = std::move(subject);
  }
  return out;
}

}  // namespace

GatewayKeys::Minted GatewayKeys::mint(const GatewayClaims& claims) const {
  std::string text;
  json::Writer json(text);
  json.begin_object();
  json.member("cat", claims.catalog_id);
  json.member("tab", claims.table.value);
  json.member("uuid", claims.uuid);
  if (!claims.location.empty()) {
    json.member("loc", claims.location);
    json.member("nam", claims.staged.name);
    json.member("sch", claims.schema.value);
    write_names(json, "lev", claims.staged.levels);
  }
  json.member("rgt", claims.right == StorageRight::kWrite ? "w" : "r");
  json.member("exp", static_cast<std::int64_t>(claims.expiration.time_since_epoch().count()));
  const Principal& principal = claims.principal;
  json.member("sub", principal.id);
  if (principal.is_named) {
    json.member("act", principal.actor);
    json.member("cha", principal.channel);
  }
  if (principal.subject) {
    const Subject& subject = *principal.subject;
    json.key("aut");
    json.begin_object();
    json.member("id", subject.id);
    json.member("cli", subject.client_id);
    json.member("iss", subject.issuer);
    json.member("acc", subject.account);
    json.member("sco", subject.scopes.to_text());
    write_names(json, "rol", subject.token_roles);
    json.member("iat", subject.issued_at);
    json.end_object();
  }
  json.end_object();
  Minted out;
  out.access_key = std::string(kMark) + to_base64url(text);
  out.secret_key = secret_of(out.access_key);
  return out;
}

Secret GatewayKeys::secret_of(std::string_view access_key) const {
  return Secret(to_base64url(sign::hmac_sha256(secret_.reveal(), access_key)));
}

bool GatewayKeys::is_ours(std::string_view access_key) { return access_key.starts_with(kMark); }

Result<GatewayClaims> GatewayKeys::parse(std::string_view access_key) {
  if (!is_ours(access_key) || access_key.size() > kMaxAccessKey) return foreign();
  const Result<std::string> text = from_base64url(access_key.substr(kMark.size()));
  if (!text) return foreign();
  Result<GatewayClaims> out = read_claims(*text);
  if (!out) return foreign();
  return out;
}

std::chrono::sys_seconds GatewayKeys::expiration_at(std::chrono::sys_seconds now) const {
  const std::chrono::seconds half = std::max(ttl_ / 2, std::chrono::seconds(1));
  const auto steps = now.time_since_epoch() / half;
  return std::chrono::sys_seconds(half * (steps + 1) + half);
}

}  // namespace duckicelake::catalog
