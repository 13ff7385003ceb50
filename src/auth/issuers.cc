// SPDX-License-Identifier: Apache-2.0
#include "auth/issuers.h"

#include <algorithm>
#include <array>

#include "auth/clients.h"
#include "json/value.h"

namespace duckicelake::auth {
namespace {

constexpr json::ParseLimits kFileLimits{std::size_t{1} << 20, 6};
constexpr json::ParseLimits kDiscoveryLimits{std::size_t{256} << 10, 8};
constexpr std::size_t kMaxIssuers = 64;
constexpr std::array<std::string_view, 10> kMembers = {
    "issuer",      "audience",      "jwks-url",    "principal-claim", "principal-prefix",
    "roles-claim", "account-claim", "scope-claim", "scope",           "role-scopes"};

Status read_text(const json::Object& object, std::string_view member, std::string& out) {
  DIL_TRY(const auto text, object.optional_string(member));
  if (text) out = std::string(*text);
  return {};
}

Result<ScopeSet> read_scope(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!word.empty() && !ScopeSet::is_known_word(word)) {
      return invalid_argument("\"{}\" is no scope", word);
    }
  }
  return ScopeSet::parse(text);
}

Result<ExternalIssuer> read_issuer(const json::Object& object) {
  for (const json::Member member : object) {
    if (std::find(kMembers.begin(), kMembers.end(), member.name) == kMembers.end()) {
      return member.value.error("is no setting of an issuer");
    }
  }
  ExternalIssuer out;
  DIL_TRY(const std::string_view issuer, object.require_string("issuer"));
  out.issuer = std::string(issuer);
  DIL_TRY(const json::Value audience, object.require("audience"));
  if (audience.kind() == json::Kind::kString) {
    DIL_TRY(const std::string_view text, audience.as_string());
    out.audiences.emplace_back(text);
  } else {
    DIL_TRY(const json::Array list, audience.as_array());
    for (const json::Value one : list) {
      DIL_TRY(const std::string_view text, one.as_string());
      out.audiences.emplace_back(text);
    }
  }
  if (out.audiences.empty()) return audience.error("is empty");
  DIL_CHECK_OK(read_text(object, "jwks-url", out.jwks_url));
  DIL_CHECK_OK(read_text(object, "principal-claim", out.principal_claim));
  DIL_CHECK_OK(read_text(object, "principal-prefix", out.principal_prefix));
  DIL_CHECK_OK(read_text(object, "roles-claim", out.roles_claim));
  DIL_CHECK_OK(read_text(object, "account-claim", out.account_claim));
  DIL_CHECK_OK(read_text(object, "scope-claim", out.scope_claim));
  DIL_TRY(const auto scope, object.optional_string("scope"));
  if (scope) {
    DIL_TRY(out.scopes, read_scope(*scope));
  }
  DIL_TRY(const auto role_scopes, object.optional_object("role-scopes"));
  if (role_scopes) {
    for (const json::Member member : *role_scopes) {
      DIL_TRY(const std::string_view text, member.value.as_string());
      DIL_TRY(ScopeSet scopes, read_scope(text));
      out.role_scopes.emplace(member.name, std::move(scopes));
    }
  }
  const std::string& url = out.jwks_url.empty() ? out.issuer : out.jwks_url;
  if (!is_fetchable_url(url)) {
    return invalid_argument("\"{}\" is no https URL, or http one of this machine", url);
  }
  return out;
}

void append(ScopeSet& scopes, const ScopeSet& more) {
  const std::string text = scopes.to_text() + " " + more.to_text();
  if (auto joined = ScopeSet::parse(text); joined.has_value()) scopes = std::move(*joined);
}

}  // namespace

Result<std::vector<ExternalIssuer>> issuers_from_json(std::string_view json) {
  DIL_TRY(const json::Document document, json::Document::parse(json, kFileLimits));
  DIL_TRY(const json::Array list, document.root().as_array());
  if (list.size() > kMaxIssuers) return invalid_argument("more than {} issuers", kMaxIssuers);
  std::vector<ExternalIssuer> out;
  for (const json::Value value : list) {
    DIL_TRY(const json::Object object, value.as_object());
    DIL_TRY(ExternalIssuer issuer, read_issuer(object));
    for (const ExternalIssuer& known : out) {
      if (known.issuer == issuer.issuer) return value.error("names an issuer that is there twice");
    }
    out.push_back(std::move(issuer));
  }
  return out;
}

Result<MappedPrincipal> map_claims(const ExternalIssuer& issuer, const ParsedToken& token) {
  MappedPrincipal out;
  const std::optional<std::string> name = text_claim(token, issuer.principal_claim);
  if (!name || name->empty()) {
    return Error(Code::kUnauthenticated, "the token names no principal");
  }
  out.id = issuer.principal_prefix + *name;
  const bool is_name =
      out.id.size() <= kMaxSubjectBytes && std::none_of(out.id.begin(), out.id.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == '\x7F';
      });
  if (!is_name) return Error(Code::kUnauthenticated, "the token's principal is no name");
  if (!issuer.account_claim.empty()) {
    out.account = text_claim(token, issuer.account_claim).value_or(std::string());
  }
  if (!issuer.roles_claim.empty()) {
    for (std::string& role : list_claim(token, issuer.roles_claim)) {
      if (check_role_name(role).has_value()) out.roles.push_back(std::move(role));
    }
    std::sort(out.roles.begin(), out.roles.end());
    out.roles.erase(std::unique(out.roles.begin(), out.roles.end()), out.roles.end());
  }
  out.scopes = issuer.scopes;
  for (const std::string& role : out.roles) {
    const auto found = issuer.role_scopes.find(role);
    if (found != issuer.role_scopes.end()) append(out.scopes, found->second);
  }
  if (!issuer.scope_claim.empty()) {
    std::string text;
    for (const std::string& word : list_claim(token, issuer.scope_claim)) {
      text.append(word).push_back(' ');
    }
    if (auto scopes = ScopeSet::parse(text); scopes.has_value()) append(out.scopes, *scopes);
  }
  return out;
}

bool is_fetchable_url(std::string_view url) {
  const bool is_clean =
      url.size() <= 2048 && std::all_of(url.begin(), url.end(), [](char c) {
        return c > ' ' && c < '\x7F' && c != '"' && c != '\\' && c != '@' && c != '#';
      });
  if (!is_clean) return false;
  if (url.starts_with("https://")) return url.size() > 8;
  for (const std::string_view here : {"http://127.0.0.1", "http://localhost", "http://[::1]"}) {
    if (!url.starts_with(here)) continue;
    const std::string_view rest = url.substr(here.size());
    if (rest.empty() || rest.front() == ':' || rest.front() == '/') return true;
  }
  return false;
}

std::string discovery_url(std::string_view issuer) {
  while (issuer.ends_with('/')) issuer.remove_suffix(1);
  return std::string(issuer) + "/.well-known/openid-configuration";
}

Result<std::string> jwks_url_of(std::string_view discovery_document, std::string_view issuer) {
  DIL_TRY(const json::Document document,
          json::Document::parse(discovery_document, kDiscoveryLimits));
  DIL_TRY(const json::Object root, document.root_object());
  DIL_TRY(const std::string_view named, root.require_string("issuer"));
  DIL_TRY(const std::string_view url, root.require_string("jwks_uri"));
  if (named != issuer) return invalid_argument("the discovery document is that of \"{}\"", named);
  if (!is_fetchable_url(url)) return invalid_argument("keys are not fetched from \"{}\"", url);
  return std::string(url);
}

}  // namespace duckicelake::auth
