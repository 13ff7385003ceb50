// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "auth/scopes.h"
#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::auth {

// A client of the built-in token endpoint, as the configuration names it.
struct Client {
  Secret secret;                   // one of the two
  std::string secret_hash;         // of hash_secret
  ScopeSet scopes;                 // default: everything
  std::vector<std::string> roles;  // sorted
  std::string account;             // empty: none
};
using Clients = std::map<std::string, Client, std::less<>>;

// 1 to 128 printable ASCII characters without : | , and space, for an id stands in all of those
// places. kInvalidArgument.
Status check_client_id(std::string_view id);
// A role's name: 1 to 128 bytes, printable, no space, no comma. "actor:" and "channel:" begin
// roles that requests have by themselves: nobody is granted those. kInvalidArgument.
Status check_role_name(std::string_view role);

// "id:secret|scope|roles|account,…": what follows a bar may be missing, scope and roles are words
// separated by spaces. kInvalidArgument; messages do not repeat secrets.
Result<Clients> parse_clients(std::string_view text);
// A JSON object: id -> secret, or id -> {secret or secret-hash, scope, roles (list or words),
// account}.
Result<Clients> clients_from_json(std::string_view json);

// Whether it is the client's secret; constant time in the secret.
bool has_secret(const Client& client, std::string_view secret);

}  // namespace duckicelake::auth
