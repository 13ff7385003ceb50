// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/access.h"
#include "catalog/vend_scope.h"
#include "objstore/object_store.h"
#include "pg/pool.h"
#include "sign/session_policy.h"
#include "store/key_policy.h"
#include "store/lake.h"

// What a static key opens: the bucket's policy has statements for it, which follow from the scopes
// and grants of its principal at the moment when they are made (docs/adr/0013).
namespace duckicelake::catalog {

// Of one table; key prefixes and keys of the bucket.
struct OpenedTable {
  TableId table;
  std::vector<std::string> read_prefixes;
  std::vector<std::string> read_keys;
  std::vector<std::string> write_prefixes;
};
struct KeyOpening {
  std::string bucket;
  std::vector<OpenedTable> tables;
};
std::string to_json(const KeyOpening& opening);
Result<KeyOpening> key_opening_from_json(std::string_view text);
// All of it, for a policy.
sign::SessionScope scope_of(const KeyOpening& opening);

OpenedTable opened_table(TableId table, const sign::SessionScope& scope);
// Whether `inner` opens nothing that `outer` does not.
bool is_within(const OpenedTable& inner, const OpenedTable& outer);

// The store's name for the user who has a key, from a pattern in which {principal} and
// {access-key-id} stand for these. kInvalidArgument: the pattern has neither, or they hold anything
// but letters, digits and + = , . @ _ -.
Result<std::string> store_principal(std::string_view pattern, std::string_view principal,
                                    std::string_view access_key_id);

// What one key is to open, and what it is not.
struct KeyPlan {
  store::KeyInForce key;
  KeyOpening opens;
  std::string why_nothing;            // nothing at all, whatever is granted; else empty
  bool is_too_much = false;           // why_nothing: what is granted has no room in a policy
  std::vector<std::string> left_out;  // "sales.orders: why"
};

// Works out what all static keys of a catalog are to open: exactly the tables that the gate lets
// their principals read (and write), by themselves and not by way of a token. Reads rows only.
class KeyPlanner {
 public:
  struct Config {
    AuthMode mode = AuthMode::kOn;
    std::string account;  // of the catalog; empty: none
    // The principal of this id as he is without a token. An error: why he is nobody.
    std::function<Result<Principal>(const std::string& id, const Access& access)> principal;
    // Whether masks or row filters bind the caller on a table; such a one is not opened. Empty:
    // nobody is bound.
    std::function<bool(const Caller& caller, const ObjectRef& object)> is_masked;
    sign::Wildcards wildcards = sign::Wildcards::kRefuse;
    StorageScopeLimits limits;
    pg::Deadline until;
  };
  // All references must outlive it.
  KeyPlanner(Config config, pg::Pool& pool, objstore::ObjectStore& objects, const store::Lake& lake)
      : config_(std::move(config)), pool_(pool), objects_(objects), lake_(lake) {}

  Result<std::vector<KeyPlan>> plan();

 private:
  struct Known {
    ObjectRef object;
    // Loaded when somebody may read it.
    std::optional<Result<std::shared_ptr<const StorageScope>>> scope;
  };
  Status load_tables();
  Status plan_one(KeyPlan& plan, const Access& access);
  void open(KeyPlan& plan, Known& table, bool may_write);

  const Config config_;
  pg::Pool& pool_;
  objstore::ObjectStore& objects_;
  const store::Lake& lake_;
  std::vector<Known> tables_;
};

}  // namespace duckicelake::catalog
