// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/scopes.h"
#include "catalog/authorize.h"
#include "pg/pool.h"
#include "store/access.h"

namespace duckicelake::catalog {

// The access rules of a catalog at one version of them: what is granted to whom, by ids.
// Immutable; shared by requests.
//
// Object grants: as long as nobody holds "select" on an object or its schema, everybody who may
// read the namespace sees it. Once somebody does, only holders of a role to which "select" or
// "modify" on either was granted see it; for all others it does not exist. Likewise "modify": once
// granted to somebody, only its holders change the object.
class Access {
 public:
  // Scopes of clients that do not parse give nothing.
  explicit Access(store::AccessRules rules);

  std::int64_t version() const { return version_; }
  // Of these very rules: no others in the process have it, be they another catalog's of the same
  // version.
  std::uint64_t mark() const { return mark_; }

  struct Client {
    auth::ScopeSet scopes;
    std::vector<std::string> roles;  // sorted
    std::string account;
    bool is_disabled = false;
    std::int64_t tokens_from = 0;  // see store::ClientRow
  };
  // nullptr: none of PostgreSQL's.
  const Client* client(std::string_view id) const;

  std::vector<std::string> roles_of(std::string_view principal) const;  // sorted

  // Of the objects that `object` names by id. One without ids is seen.
  bool sees(const std::vector<std::string>& roles, const ObjectRef& object) const;
  bool may_modify(const std::vector<std::string>& roles, const ObjectRef& object) const;
  // Tables, or views, that a listing of the schema leaves out. (Ids do not tell their schema: those
  // of others are among them.)
  std::vector<std::int64_t> hidden_in(const std::vector<std::string>& roles, SchemaId schema,
                                      store::ObjectKind kind) const;
  bool has_object_grants() const { return !grants_.empty(); }
  // Tables and views of all schemas that have grants of their own and are hidden from the roles.
  std::vector<std::int64_t> hidden(const std::vector<std::string>& roles,
                                   store::ObjectKind kind) const;
  bool hides_schema(const std::vector<std::string>& roles, SchemaId schema) const;

 private:
  using Roles = std::vector<std::string>;  // sorted
  struct Grants {
    Roles select;
    Roles modify;
  };
  using Key = std::pair<store::ObjectKind, std::int64_t>;
  const Grants* grants(store::ObjectKind kind, std::int64_t id) const;
  static bool allows_reading(const Roles& roles, const Grants* own, const Grants* of_schema);

  std::int64_t version_;
  std::uint64_t mark_;
  std::map<std::string, Client, std::less<>> clients_;
  std::map<std::string, Roles, std::less<>> roles_by_principal_;
  std::map<Key, Grants> grants_;
};

// The newest rules that this process has read. Thread-safe.
class AccessCache {
 public:
  // The references must outlive it.
  AccessCache(pg::Pool& pool, const store::Lake& lake) : pool_(pool), lake_(lake) {}

  // Does not block: the rules, when they are at least of this version; else nullptr.
  std::shared_ptr<const Access> at_least(std::int64_t version) const;
  // Reads them when the known ones are older. Blocks.
  Result<std::shared_ptr<const Access>> load(std::int64_t version, pg::Deadline until);

 private:
  pg::Pool& pool_;
  const store::Lake& lake_;
  mutable std::mutex mutex_;  // guards newest_
  std::shared_ptr<const Access> newest_;
  std::mutex reading_;  // held by who reads: the others find its result
};

}  // namespace duckicelake::catalog
