// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/secret.h"
#include "pg/transaction.h"
#include "store/lake.h"

// Who may come in and what is granted to whom: roles and grants of a catalog, keyed by the ids of
// objects; clients of the token endpoint, which all catalogs of the database share. Triggers raise
// LakeHead::access with every change of these tables, whoever makes it, in its own transaction.
namespace duckicelake::store {

// --- the rules, as decisions need them
// ------------------------------------------------------------------------

struct ClientRow {
  std::string id;
  std::string scope;
  std::vector<std::string> roles;
  std::string account;  // empty: none
  bool is_disabled = false;
  std::int64_t tokens_from = 0;  // seconds since the epoch: tokens issued before are void
  std::int64_t created_at = 0;   // likewise
};

enum class ObjectKind : std::uint8_t { kSchema, kTable, kView };
std::string_view object_kind_name(ObjectKind kind);
std::optional<ObjectKind> object_kind_of(std::string_view name);

struct ObjectGrant {
  ObjectKind kind = ObjectKind::kSchema;
  std::int64_t object_id = 0;
  std::string privilege;  // "select" or "modify"
  std::string role;
};
struct RoleGrant {
  std::string role;
  std::string principal;
};

struct AccessRules {
  std::int64_t version = 0;  // LakeHead::access; the rules are at least as new
  std::vector<ClientRow> clients;
  std::vector<RoleGrant> role_grants;
  std::vector<ObjectGrant> object_grants;
};
Result<std::int64_t> load_access_version(pg::Connection& connection);
Result<AccessRules> load_access_rules(pg::Connection& connection, const Lake& lake);

// --- roles and grants
// -----------------------------------------------------------------------------------------

// All of them say whether anything changed. kNotFound where a role is named that does not exist.
Result<bool> insert_role(pg::Transaction& transaction, const Lake& lake, const std::string& role);
// kCommitFailed: it is granted to somebody, or something to it.
Result<bool> delete_role(pg::Transaction& transaction, const Lake& lake, const std::string& role);
Result<bool> insert_role_grant(pg::Transaction& transaction, const Lake& lake,
                               const RoleGrant& grant);
Result<bool> delete_role_grant(pg::Transaction& transaction, const Lake& lake,
                               const RoleGrant& grant);
Result<bool> insert_object_grant(pg::Transaction& transaction, const Lake& lake,
                                 const ObjectGrant& grant);
Result<bool> delete_object_grant(pg::Transaction& transaction, const Lake& lake,
                                 const ObjectGrant& grant);

Result<std::vector<std::string>> list_roles(pg::Connection& connection, const Lake& lake);
Result<std::vector<RoleGrant>> list_role_grants(pg::Connection& connection, const Lake& lake);
// With the names that the objects have now; those of dropped objects are left out.
struct NamedGrant {
  ObjectGrant grant;
  std::vector<std::string> levels;  // of the namespace
  std::string object;               // empty for a schema
};
Result<std::vector<NamedGrant>> list_object_grants(pg::Connection& connection, const Lake& lake);

// --- keys of the object store that principals have by themselves
// ----------------------------------------------

struct StaticKey {
  std::string principal;
  std::string access_key_id;
  Secret secret_access_key;  // empty: the principal has it, the server does not
  std::string note;
  bool is_confined = false;  // may be given out to a principal whom masks bind
};
Status upsert_static_key(pg::Transaction& transaction, const Lake& lake, const StaticKey& key);
Result<bool> delete_static_key(pg::Transaction& transaction, const Lake& lake,
                               const std::string& principal);
Result<std::optional<StaticKey>> find_static_key(pg::Connection& connection, const Lake& lake,
                                                 const std::string& principal);
// Without the secrets: the member says only whether there is one.
struct StaticKeySummary {
  StaticKey key;  // no secret
  bool has_secret = false;
};
Result<std::vector<StaticKeySummary>> list_static_keys(pg::Connection& connection,
                                                       const Lake& lake);

// --- clients
// --------------------------------------------------------------------------------------------------

struct ClientSecretRow {
  std::int64_t serial = 0;
  std::string hash;
  std::int64_t created_at = 0;
  std::optional<std::int64_t> expires_at;  // seconds since the epoch
};
struct ClientRecord {
  ClientRow client;
  std::vector<ClientSecretRow> secrets;  // those that have not expired, the newest first
};

// kAlreadyExists.
Status insert_client(pg::Transaction& transaction, const ClientRow& client,
                     const std::string& secret_hash);
// Members that are nullopt stay as they are. False: there is no such client.
struct ClientUpdate {
  std::optional<std::string> scope;
  std::optional<std::vector<std::string>> roles;
  std::optional<std::string> account;
  std::optional<bool> is_disabled;
  bool voids_tokens = false;  // those issued until now
};
Result<bool> update_client(pg::Transaction& transaction, const std::string& id,
                           const ClientUpdate& update);
// The new secret beside the old ones, which end `overlap_seconds` from now at the latest. False:
// there is no such client.
Result<bool> rotate_client(pg::Transaction& transaction, const std::string& id,
                           const std::string& secret_hash, std::int64_t overlap_seconds);
Result<bool> delete_client(pg::Transaction& transaction, const std::string& id);
Result<std::optional<ClientRecord>> find_client(pg::Connection& connection, const std::string& id);
Result<std::vector<ClientRow>> list_clients(pg::Connection& connection);

}  // namespace duckicelake::store
