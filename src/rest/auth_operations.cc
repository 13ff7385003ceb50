// SPDX-License-Identifier: Apache-2.0
// POST /v1/oauth/tokens: forms in, tokens out. Its errors have OAuth's form, not Iceberg's (REST
// specification, OAuthErrorResponse).
#include <chrono>

#include "base/bytes.h"
#include "catalog/guard.h"
#include "json/writer.h"
#include "net/server.h"
#include "rest/answers.h"
#include "rest/auth_gate.h"
#include "rest/call.h"
#include "rest/operations.h"

namespace duckicelake::rest {
namespace {

using catalog::TokenRefusal;

constexpr std::string_view kForm = "application/x-www-form-urlencoded";
constexpr std::size_t kMaxShownId = 128;

net::Response refusal_response(const TokenRefusal& refusal) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("error", refusal.error);
  json.member("error_description", refusal.description);
  json.end_object();
  net::Response response = net::make_json_response(refusal.status, std::move(body));
  response.add_header("cache-control", "no-store");
  response.add_header("pragma", "no-cache");
  if (refusal.status == 401) {
    response.add_header("www-authenticate", "Basic realm=\"duckicelake\"");
  }
  if (refusal.retry_after_seconds > 0) {
    response.add_header("retry-after", std::to_string(refusal.retry_after_seconds));
  }
  return response;
}

TokenRefusal invalid_request(std::string description) {
  return {400, "invalid_request", std::move(description), 0};
}

// Of a client behind trusted proxies: the nearest address that is none of theirs.
std::string client_address(const Context& context, const net::Request& request) {
  const auto is_trusted = [&](std::string_view address) {
    for (const AddressRange& range : context.config.urls.trusted_proxies) {
      if (range.contains(address)) return true;
    }
    return false;
  };
  if (!is_trusted(request.peer_address)) return request.peer_address;
  std::string_view list = request.header("x-forwarded-for");
  while (!list.empty()) {
    const std::size_t comma = list.rfind(',');
    std::string_view one = comma == std::string_view::npos ? list : list.substr(comma + 1);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (!one.empty() && one.size() <= 64 && !is_trusted(one)) return std::string(one);
  }
  return request.peer_address;
}

bool is_form(const net::Request& request) {
  std::string_view type = request.header("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type.empty() || type == kForm;
}

// Each parameter once (RFC 6749 §3.2); nullopt as there: not given, or empty.
tl::expected<std::optional<std::string>, TokenRefusal> parameter(const net::QueryPairs& form,
                                                                 std::string_view name) {
  std::optional<std::string> out;
  for (const auto& [key, value] : form) {
    if (key != name || value.empty()) continue;
    if (out) return tl::unexpected(invalid_request(fmt::format("{} is given twice", name)));
    out = value;
  }
  return out;
}

// "Basic …", as clients write it: the pair is not percent-encoded.
tl::expected<void, TokenRefusal> read_basic(std::string_view credentials,
                                            catalog::TokenRequest& out) {
  while (credentials.starts_with(' ')) credentials.remove_prefix(1);
  const Result<std::string> pair = from_base64(credentials);
  const std::size_t colon = pair.has_value() ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return tl::unexpected(invalid_request("the Authorization header does not parse"));
  }
  const std::string id = pair->substr(0, colon);
  const std::string secret = pair->substr(colon + 1);
  if (out.client_id &&
      (*out.client_id != id || (!out.client_secret.empty() && !out.client_secret.equals(secret)))) {
    return tl::unexpected(invalid_request("the client shows itself in two ways that differ"));
  }
  out.client_id = id;
  out.client_secret = Secret(secret);
  return {};
}

bool is_scheme(std::string_view header, std::string_view lower_name) {
  if (header.size() <= lower_name.size() || header[lower_name.size()] != ' ') return false;
  for (std::size_t i = 0; i < lower_name.size(); ++i) {
    const char c = header[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != lower_name[i])
      return false;
  }
  return true;
}

tl::expected<catalog::TokenRequest, TokenRefusal> read_request(const Context& context,
                                                               const Call& call) {
  if (!is_form(call.request)) {
    return tl::unexpected(
        invalid_request("the body has to be a form (" + std::string(kForm) + ")"));
  }
  const Result<net::QueryPairs> form = net::parse_query(call.request.body);
  if (!form.has_value()) return tl::unexpected(invalid_request(form.error().message()));
  std::optional<TokenRefusal> twice;
  const auto text = [&](std::string_view name) -> std::optional<std::string> {
    auto value = parameter(*form, name);
    if (value.has_value()) return std::move(*value);
    twice = std::move(value).error();
    return std::nullopt;
  };
  const auto secret = [&](std::string_view name) -> std::optional<Secret> {
    std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    return Secret(std::move(*value));
  };
  catalog::TokenRequest out;
  out.peer = client_address(context, call.request);
  const auto grant_type = text("grant_type");
  out.client_id = text("client_id");
  const auto client_secret = secret("client_secret");
  const auto scope = text("scope");
  out.subject_token = secret("subject_token");
  const auto subject_type = text("subject_token_type");
  out.actor_token = secret("actor_token");
  const auto requested = text("requested_token_type");
  if (twice) return tl::unexpected(std::move(*twice));
  if (!grant_type) return tl::unexpected(invalid_request("grant_type is missing"));
  out.grant_type = *grant_type;
  if (client_secret) out.client_secret = *client_secret;
  out.scope = scope.value_or("");
  out.subject_token_type = subject_type.value_or("");
  out.requested_token_type = requested.value_or("");
  const std::string_view authorization = call.request.header("authorization");
  if (is_scheme(authorization, "basic")) {
    if (auto read = read_basic(authorization.substr(6), out); !read.has_value()) {
      return tl::unexpected(std::move(read).error());
    }
  } else if (is_scheme(authorization, "bearer")) {
    out.bearer = Secret(std::string(authorization.substr(7)));
  }
  // A client without a secret says who it is, and shows nothing.
  if (out.client_id && out.client_secret.empty()) out.client_id.reset();
  return out;
}

void note(const Context& context, Call& call, const catalog::TokenRequest& request,
          std::string_view decision, std::string_view reason) {
  if (request.client_id) {
    call.caller.principal.id = request.client_id->substr(0, kMaxShownId);
  }
  catalog::ObjectRef object;
  object.name = "oauth/tokens";
  store::AuditRow row = catalog::audit_row(call.caller, "issue_token", object);
  row.decision = decision;
  row.reason = reason;
  // Nothing was done yet that a lost row would hide: the tokens' use is recorded.
  (void)context.deps.guard->audit().submit(std::move(row));
}

}  // namespace

Answered issue_token(const Context& context, Call& call) {
  if (auth_mode(context) == catalog::AuthMode::kOff) {
    return net::make_json_response(
        501, net::default_error_body(501, "NotImplementedException",
                                     "there are no tokens here: authentication is off"));
  }
  const auto request = read_request(context, call);
  if (!request.has_value()) return refusal_response(request.error());
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  auto granted = context.deps.guard->authenticator().issue(*request, now);
  if (!granted.has_value()) {
    note(context, call, *request, "denied", granted.error().error);
    return refusal_response(granted.error());
  }
  note(context, call, *request, "ok", request->grant_type);
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("access_token", granted->access_token.reveal());
  json.member("token_type", "Bearer");
  json.member("expires_in", granted->expires_in);
  json.member("issued_token_type", "urn:ietf:params:oauth:token-type:access_token");
  json.member("scope", granted->scope);
  json.end_object();
  net::Response response = net::make_json_response(200, std::move(body));
  response.add_header("cache-control", "no-store");
  response.add_header("pragma", "no-cache");
  return response;
}

}  // namespace duckicelake::rest
