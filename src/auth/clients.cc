// SPDX-License-Identifier: Apache-2.0
#include "auth/clients.h"

#include <algorithm>

#include "auth/crypto.h"
#include "json/value.h"

namespace duckicelake::auth {
namespace {

constexpr std::size_t kMaxClients = 10'000;
constexpr std::size_t kMaxIdBytes = 128;
constexpr std::size_t kMaxRoles = 256;
constexpr json::ParseLimits kFileLimits{std::size_t{8} << 20, 4};

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

// The text before `mark`; what follows it stays in `rest`.
std::string_view take_until(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view word = take_until(text, ' ');
    if (!word.empty()) out.emplace_back(word);
  }
  return out;
}

Status set_roles(Client& client, std::vector<std::string> roles) {
  if (roles.size() > kMaxRoles) return invalid_argument("more than {} roles", kMaxRoles);
  for (const std::string& role : roles) DIL_CHECK_OK(check_role_name(role));
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  client.roles = std::move(roles);
  return {};
}

Status set_scope(Client& client, std::string_view text) {
  if (trimmed(text).empty()) {
    client.scopes = ScopeSet::superuser();
    return {};
  }
  DIL_TRY(client.scopes, ScopeSet::parse(text));
  return {};
}

Status read_entry(std::string_view entry, Clients& out) {
  std::string_view rest = entry;
  const std::string_view pair = take_until(rest, '|');
  const std::string_view scope = take_until(rest, '|');
  const std::string_view roles = take_until(rest, '|');
  const std::string_view account = take_until(rest, '|');
  const std::size_t colon = pair.find(':');
  if (colon == std::string_view::npos || colon + 1 == pair.size() || !rest.empty()) {
    return Error(Code::kInvalidArgument, "not of the form id:secret|scope|roles|account");
  }
  Client client;
  client.secret = Secret(std::string(pair.substr(colon + 1)));
  client.account = trimmed(account);
  DIL_CHECK_OK(set_scope(client, scope));
  DIL_CHECK_OK(set_roles(client, words(roles)));
  const std::string id(pair.substr(0, colon));
  DIL_CHECK_OK(check_client_id(id));
  if (!out.emplace(id, std::move(client)).second) {
    return invalid_argument("the client \"{}\" is there twice", id);
  }
  return {};
}

Result<Client> client_of(const json::Value& value) {
  Client client;
  if (value.kind() == json::Kind::kString) {
    DIL_TRY(const std::string_view secret, value.as_string());
    client.secret = Secret(std::string(secret));
    client.scopes = ScopeSet::superuser();
    return client;
  }
  DIL_TRY(const json::Object object, value.as_object());
  DIL_TRY(const auto secret, object.optional_string("secret"));
  DIL_TRY(const auto hash, object.optional_string("secret-hash"));
  DIL_TRY(const auto scope, object.optional_string("scope"));
  DIL_TRY(const auto account, object.optional_string("account"));
  if (secret) client.secret = Secret(std::string(*secret));
  client.secret_hash = hash.value_or("");
  client.account = account.value_or("");
  DIL_CHECK_OK(set_scope(client, scope.value_or("")));
  std::vector<std::string> roles;
  if (const auto given = object.find("roles"); given) {
    if (given->kind() == json::Kind::kString) {
      DIL_TRY(const std::string_view text, given->as_string());
      roles = words(text);
    } else {
      DIL_TRY(const json::Array list, given->as_array());
      for (const json::Value role : list) {
        DIL_TRY(const std::string_view text, role.as_string());
        roles.emplace_back(text);
      }
    }
  }
  DIL_CHECK_OK(set_roles(client, std::move(roles)));
  return client;
}

}  // namespace

Status check_client_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxIdBytes || !is_printable(id) ||
      id.find_first_of(":|,") != std::string_view::npos) {
    return Error(Code::kInvalidArgument,
                 "a client's id has 1 to 128 printable characters, none of them : | , or a space");
  }
  return {};
}

Status check_role_name(std::string_view role) {
  if (role.empty() || role.size() > kMaxIdBytes ||
      std::any_of(role.begin(), role.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '\x7F' || c == ',' || c == '|';
      })) {
    return Error(Code::kInvalidArgument,
                 "a role's name has 1 to 128 bytes and no space, comma, bar or control character");
  }
  if (role.starts_with("actor:") || role.starts_with("channel:")) {
    return Error(Code::kInvalidArgument,
                 "roles that begin with actor: or channel: are those of requests");
  }
  return {};
}

Result<Clients> parse_clients(std::string_view text) {
  Clients out;
  std::size_t position = 0;
  while (!text.empty()) {
    const std::string_view entry = trimmed(take_until(text, ','));
    ++position;
    if (entry.empty()) continue;
    if (out.size() == kMaxClients) return invalid_argument("more than {} clients", kMaxClients);
    Status status = read_entry(entry, out);
    if (!status.has_value()) {
      return std::move(status).error().with_context(fmt::format("client {}", position));
    }
  }
  return out;
}

Result<Clients> clients_from_json(std::string_view json) {
  DIL_TRY(const json::Document document, json::Document::parse(json, kFileLimits));
  DIL_TRY(const json::Object root, document.root_object());
  if (root.size() > kMaxClients) return invalid_argument("more than {} clients", kMaxClients);
  Clients out;
  for (const json::Member member : root) {
    DIL_CHECK_OK(check_client_id(member.name));
    Result<Client> client = client_of(member.value);
    if (!client.has_value()) {
      return std::move(client).error().with_context(fmt::format("client \"{}\"", member.name));
    }
    if (client->secret.empty() == client->secret_hash.empty()) {
      return invalid_argument("client \"{}\" has to have one of secret and secret-hash",
                              member.name);
    }
    out.emplace(member.name, std::move(*client));
  }
  return out;
}

bool has_secret(const Client& client, std::string_view secret) {
  if (!client.secret_hash.empty()) return check_secret(secret, client.secret_hash).has_value();
  return !client.secret.empty() && same_secret(secret, client.secret.reveal());
}

}  // namespace duckicelake::auth
