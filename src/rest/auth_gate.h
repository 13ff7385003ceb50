// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "catalog/access.h"
#include "catalog/authorize.h"
#include "catalog/name_lookup.h"
#include "net/http.h"

// What stands between a route and its operation: who asks, as whom, and whether that may.
namespace duckicelake::rest {

struct Call;
struct Context;

catalog::AuthMode auth_mode(const Context& context);

// Why a request is nobody's: 401, or 419 for a token that has expired (REST specification,
// responses UnauthorizedResponse and AuthenticationTimeoutResponse).
struct NotAuthenticated {
  bool is_expired = false;
  bool has_token = false;
  std::string_view why = {};  // fit for the caller
};
net::Response not_authenticated(const NotAuthenticated& reason);

// The token of "Authorization: Bearer …" (RFC 6750 §2.1). nullopt with `why` set: there is none, or
// more than one, or another scheme.
std::optional<std::string_view> bearer_token(const net::Request& request, std::string_view& why);

// Finds the call's token on the I/O thread. nullopt: call.token is there. A reason: refuse. With
// `needs_work`, the rest belongs on a worker: identify_thoroughly.
struct Identified {
  std::optional<NotAuthenticated> refusal;
  bool needs_work = false;
};
Identified identify(const Context& context, Call& call);
// Blocks. An error: keys of another issuer cannot be had.
Result<std::optional<NotAuthenticated>> identify_thoroughly(const Context& context, Call& call);

// Whether the access rules decide about this call: then its head is read first.
bool needs_access(const Context& context, const Call& call);

// Reads `delegate`, `principal`, `actor` and `channel` of routes that take them.
Status read_acting(Call& call);

// Makes the caller, and asks the gate by the names in the path: what is denied by its scope alone
// is denied before anything is looked up. kUnauthenticated: the token is void under these rules.
Status permit(const Context& context, Call& call, std::shared_ptr<const catalog::Access> access);
// The same question about names from a body.
Status permit_names(const Context& context, const Call& call, catalog::Action action,
                    const catalog::TableRef& name);

// Tells the record of call.trail's catalog that somebody asked for it who may not know of it.
void note_out_of_reach(const Context& context, const Call& call);
// Tells the record that nobody came in.
void note_refusal(const Context& context, const Call& call, const NotAuthenticated& reason);

}  // namespace duckicelake::rest
