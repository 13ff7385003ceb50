// SPDX-License-Identifier: Apache-2.0
#include "rest/auth_gate.h"

#include <chrono>

#include "catalog/guard.h"
#include "net/server.h"
#include "rest/call.h"

namespace duckicelake::rest {
namespace {

using Look = catalog::Authenticator::Look;

std::int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_bearer(std::string_view scheme) {
  constexpr std::string_view kName = "bearer ";
  if (scheme.size() < kName.size()) return false;
  for (std::size_t i = 0; i < kName.size(); ++i) {
    const char c = scheme[i];
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower != kName[i]) return false;
  }
  return true;
}

std::optional<NotAuthenticated> settle(Call& call, Look look) {
  if (look.state == Look::State::kGood) {
    call.token = std::move(look.token);
    return std::nullopt;
  }
  return NotAuthenticated{look.state == Look::State::kExpired, true, look.why};
}

// Asks about a name. Records denials only: what is allowed here is asked again by the use case,
// which knows ids.
Status ask(const Context& context, const Call& call, catalog::Action action,
           const catalog::Levels& levels, const std::string& name) {
  const catalog::AuthMode mode = auth_mode(context);
  catalog::ObjectRef object;
  object.levels = levels;
  // Scopes and grants do not speak of the text of the name: it is made for a denial only.
  if (catalog::authorize(mode, call.caller, action, object).is_allowed()) return {};
  object.name = name;
  if (!levels.empty()) {
    object.name = name.empty() ? catalog::display_name(levels)
                               : catalog::display_name(catalog::TableRef{levels, name});
  }
  return catalog::check_authorized(mode, call.caller, action, object);
}

}  // namespace

catalog::AuthMode auth_mode(const Context& context) {
  return context.deps.guard == nullptr ? catalog::AuthMode::kOff : context.deps.guard->mode();
}

net::Response not_authenticated(const NotAuthenticated& reason) {
  const int status = reason.is_expired ? 419 : 401;
  net::Response response = net::make_json_response(
      status,
      net::default_error_body(
          status, reason.is_expired ? "AuthenticationTimeoutException" : "NotAuthorizedException",
          reason.why));
  // RFC 6750 §3: without a token there is nothing to say about it.
  std::string challenge = "Bearer realm=\"duckicelake\"";
  if (reason.has_token) {
    challenge.append(", error=\"invalid_token\", error_description=\"")
        .append(reason.why)
        .append("\"");
  }
  response.add_header("www-authenticate", std::move(challenge));
  response.add_header("cache-control", "no-store");
  return response;
}

std::optional<std::string_view> bearer_token(const net::Request& request, std::string_view& why) {
  std::optional<std::string_view> value;
  for (const auto& [name, text] : request.headers) {
    if (name != "authorization") continue;
    if (value) {
      why = "there is more than one Authorization header";
      return std::nullopt;
    }
    value = text;
  }
  if (!value) {
    why = "a bearer token is needed";
    return std::nullopt;
  }
  if (!is_bearer(*value)) {
    why = "the Authorization header holds no bearer token";
    return std::nullopt;
  }
  std::string_view token = value->substr(7);
  while (token.starts_with(' ')) token.remove_prefix(1);
  if (token.empty()) {
    why = "a bearer token is needed";
    return std::nullopt;
  }
  return token;
}

Identified identify(const Context& context, Call& call) {
  std::string_view why;
  const std::optional<std::string_view> token = bearer_token(call.request, why);
  if (!token) return {NotAuthenticated{false, false, why}, false};
  Look look = context.deps.guard->authenticator().look(*token, now_seconds());
  if (look.state == Look::State::kNeedsWork) return {std::nullopt, true};
  return {settle(call, std::move(look)), false};
}

Result<std::optional<NotAuthenticated>> identify_thoroughly(const Context& context, Call& call) {
  std::string_view why;
  const std::optional<std::string_view> token = bearer_token(call.request, why);
  if (!token) return std::optional<NotAuthenticated>(NotAuthenticated{false, false, why});
  DIL_TRY(Look look, context.deps.guard->authenticator().look_thoroughly(*token, now_seconds()));
  return settle(call, std::move(look));
}

bool needs_access(const Context& context, const Call& call) {
  if (context.deps.guard == nullptr || routes()[call.route].gate == RouteGate::kOpen) return false;
  if (context.deps.guard->mode() == catalog::AuthMode::kOn) return true;
  return call.acting.principal || call.acting.actor || call.acting.channel;
}

Status read_acting(Call& call) {
  if (!routes()[call.route].takes_principal || call.query.empty()) return {};
  const auto text = [&](std::string_view name) -> Result<std::optional<std::string>> {
    DIL_TRY(const std::optional<std::string_view> value, call.parameter(name));
    if (!value) return std::optional<std::string>();
    return std::optional<std::string>(std::string(*value));
  };
  DIL_TRY(const std::optional<std::string_view> delegate, call.parameter("delegate"));
  call.acting.is_delegated = delegate && is_true(*delegate);
  DIL_TRY(call.acting.principal, text("principal"));
  DIL_TRY(call.acting.actor, text("actor"));
  DIL_TRY(call.acting.channel, text("channel"));
  return {};
}

Status permit(const Context& context, Call& call, std::shared_ptr<const catalog::Access> access) {
  const Route& route = routes()[call.route];
  if (context.deps.guard != nullptr && access) {
    const catalog::Authenticator& who = context.deps.guard->authenticator();
    catalog::Principal principal;
    if (call.token) {
      DIL_TRY(principal, who.principal(*call.token, *access));
    }
    call.caller.principal = std::move(principal);  // so that a refusal is recorded as his
    if (call.acting.asks_anything()) {
      DIL_TRY(call.caller.principal, who.act_as(call.caller.principal, call.acting, *access));
    }
    call.caller.access = std::move(access);
  }
  switch (route.gate) {
    case RouteGate::kOpen:
    case RouteGate::kBody: return {};
    case RouteGate::kPath: return ask(context, call, route.action, call.levels, call.name);
    case RouteGate::kClosed: break;
  }
  return Error(Code::kPermissionDenied, "nobody may use this route");
}

Status permit_names(const Context& context, const Call& call, catalog::Action action,
                    const catalog::TableRef& name) {
  return ask(context, call, action, name.levels, name.name);
}

void note_out_of_reach(const Context& context, const Call& call) {
  store::AuditRow row = catalog::audit_row(call.caller, "reach_catalog", {});
  row.decision = "hidden";
  row.reason = "the catalog is another account's";
  // The request is refused in any case: a full queue loses this.
  (void)context.deps.guard->audit().submit(std::move(row));
}

void note_refusal(const Context& context, const Call& call, const NotAuthenticated& reason) {
  if (context.deps.guard == nullptr) return;
  store::AuditRow row = catalog::audit_row(call.caller, "authenticate", {});
  row.decision = "denied";
  row.reason = reason.why;
  // The request is refused in any case: a full queue loses this.
  (void)context.deps.guard->audit().submit(std::move(row));
}

}  // namespace duckicelake::rest
