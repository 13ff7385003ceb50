// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"
#include "catalog/audit.h"
#include "catalog/backends.h"
#include "catalog/name_lookup.h"
#include "catalog/write_context.h"
#include "store/access.h"
#include "store/audit.h"

namespace duckicelake::catalog {

// An object of a grant, by name: the schema alone, or what lies in it.
struct GrantTarget {
  store::ObjectKind kind = store::ObjectKind::kSchema;
  Levels levels;
  std::string object;  // empty for a schema
};

struct NewClient {
  std::string id;
  std::string scope;  // every word has to mean something
  std::vector<std::string> roles;
  std::string account;
};
// The only moment at which a secret of the server's making is seen.
struct ClientWithSecret {
  store::ClientRow client;
  Secret secret;
};

// Who may come in, and what is granted to whom: the superuser's use cases. Each change and its
// audit row are one transaction, and every process answers by the new rules from its commit on
// (requests that come after it). Thread-safe; calls block and pass `authorize` first. Errors beside
// the named ones: those of run_write.
class AccessAdmin {
 public:
  static constexpr std::int64_t kMaxOverlapSeconds = 30 * 86400;

  explicit AccessAdmin(const Backends& backends) : backends_(backends) {}

  // kInvalidArgument: no fit name. Roles that are there already stay as they are.
  Status create_role(const WriteContext& context, const std::string& role) const;
  // kNotFound; kCommitFailed: it is granted to somebody, or something to it.
  Status delete_role(const WriteContext& context, const std::string& role) const;
  // kNotFound: there is no such role. What is there (or gone) already is no error.
  Status grant_role(const WriteContext& context, const store::RoleGrant& grant) const;
  Status revoke_role(const WriteContext& context, const store::RoleGrant& grant) const;
  // kNoSuchNamespace, kNoSuchTable, kNoSuchView; kInvalidArgument: no such privilege.
  Status grant_object(const WriteContext& context, const GrantTarget& target,
                      const std::string& privilege, const std::string& role) const;
  Status revoke_object(const WriteContext& context, const GrantTarget& target,
                       const std::string& privilege, const std::string& role) const;
  Result<std::vector<std::string>> list_roles(const Caller& caller) const;
  Result<std::vector<store::RoleGrant>> list_role_grants(const Caller& caller) const;
  Result<std::vector<store::NamedGrant>> list_object_grants(const Caller& caller) const;

  Status set_static_key(const WriteContext& context, const store::StaticKey& key) const;
  Status delete_static_key(const WriteContext& context, const std::string& principal) const;
  Result<std::vector<store::StaticKeySummary>> list_static_keys(const Caller& caller) const;

  // kAlreadyExists. A repeated request is no repetition: the secret is shown once.
  Result<ClientWithSecret> create_client(const WriteContext& context,
                                         const NewClient& client) const;
  // The old secrets serve `overlap_seconds` longer. kNotFound.
  Result<ClientWithSecret> rotate_client(const WriteContext& context, const std::string& id,
                                         std::int64_t overlap_seconds) const;
  Result<store::ClientRecord> update_client(const WriteContext& context, const std::string& id,
                                            const store::ClientUpdate& update) const;
  Status delete_client(const WriteContext& context, const std::string& id) const;
  Result<store::ClientRecord> load_client(const Caller& caller, const std::string& id) const;
  Result<std::vector<store::ClientRow>> list_clients(const Caller& caller) const;

  // The newest first. What this process decided before is among them.
  Result<std::vector<store::AuditRow>> audit(const Caller& caller,
                                             const store::AuditFilter& filter) const;

 private:
  Status admit(const Caller& caller, std::string_view operation, ObjectRef object) const;
  Status write(const WriteContext& context,
               const std::function<Status(pg::Transaction&)>& apply) const;
  Result<store::ObjectGrant> resolve(pg::Connection& connection, const GrantTarget& target,
                                     const std::string& privilege, const std::string& role) const;
  Result<pg::Lease> lease() const;

  const Backends& backends_;
};

}  // namespace duckicelake::catalog
