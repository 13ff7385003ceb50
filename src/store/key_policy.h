// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/access.h"
#include "store/lake.h"

// What the bucket's policy opens to static keys, as far as it is known: which part of it
// `bucket-policy --apply` put there and saw at work.
namespace duckicelake::store {

// How the Sids of this database's statements begin; the same for its life.
Result<std::string> load_policy_sid(pg::Connection& connection);

struct AppliedKey {
  std::string principal;
  std::string access_key_id;  // the key that was tried
  std::string opens;          // JSON (catalog/key_policy.h)
  bool is_proved = false;     // by requests with the key itself
};
// In place of what was known of the principal's key. kNotFound: he has no static key any more.
Status save_applied_key(pg::Transaction& transaction, const std::string& catalog_id,
                        const AppliedKey& applied);
Status forget_applied_key(pg::Transaction& transaction, const std::string& catalog_id,
                          const std::string& principal);
// Of all catalogs of the database.
Status forget_applied_keys(pg::Transaction& transaction);

// A principal's key and what is known of it. nullopt: he has none.
struct KeyInForce {
  StaticKey key;
  std::optional<AppliedKey> applied;
  bool is_shared = false;  // another principal, or one of another catalog, has the same access key
};
Result<std::optional<KeyInForce>> find_key_in_force(pg::Connection& connection, const Lake& lake,
                                                    const std::string& principal);
// All of a catalog, by principal, with their secrets.
Result<std::vector<KeyInForce>> load_keys_in_force(pg::Connection& connection, const Lake& lake);
// All of the database, by catalog id: whether or not the catalog is open, or there at all.
Result<std::map<std::string, std::vector<KeyInForce>>> load_all_keys_in_force(
    pg::Connection& connection);

}  // namespace duckicelake::store
