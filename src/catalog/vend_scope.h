// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "objstore/object_store.h"
#include "pg/pool.h"
#include "sign/s3_operation.h"
#include "sign/session_policy.h"
#include "store/lake.h"

namespace duckicelake::catalog {

enum class StorageRight : std::uint8_t { kRead, kWrite };

// Which keys of the bucket belong to one table, as published at one moment. Immutable; shared.
//
// A folder stands for its objects only where nothing of anybody else can lie in it. Of a folder
// that is shared, and of folders outside of DATA_PATH, single objects are the table's.
struct StorageScope {
  TableId table;
  std::string uuid;
  std::string bucket;
  std::string location;  // key prefix ending in '/': where clients write
  bool is_location_shared = false;
  std::vector<std::string> prefixes;     // exclusively its own; end in '/'
  std::unordered_set<std::string> keys;  // single objects elsewhere
  bool has_all_keys = true;              // else there are more than are listed
  std::vector<std::string> wider;        // folders that hold `keys` and are its own as far as
                                         // DATA_PATH goes
  bool does_wider_hold_all = false;      // every object is below `prefixes` or `wider`

  // Whether the object is known to be the table's; false does not mean that it is not when
  // has_all_keys is false.
  bool holds(std::string_view key) const;
  // Whether everything that a listing of `prefix` shows is the table's.
  bool holds_listing(std::string_view prefix) const;
  // Prefixes by which clients choose keys: URIs.
  std::vector<std::string> routes() const;
};

// What keys for the right may do. Writers may put below the location, when it is the table's alone.
// kUnsupported when the table's objects cannot be told apart from others' that briefly.
Result<sign::SessionScope> session_scope(const StorageScope& scope, StorageRight right);

struct StorageScopeLimits {
  std::int64_t max_outside = 64;  // more do not fit into a policy
  std::int64_t max_folders = 16;
  std::size_t max_reachable = 200'000;  // objects of tables that share a folder
};

// kNoSuchTable when the table is not live; kUnsupported when objects lie in another bucket, or
// where DATA_PATH leaves no room beside it.
Result<std::shared_ptr<const StorageScope>> load_storage_scope(pg::Pool& pool, pg::Deadline until,
                                                               objstore::ObjectStore& objects,
                                                               const store::Lake& lake,
                                                               TableId table,
                                                               const StorageScopeLimits& limits);

// Of a table that is to be made at `location` (a URI): the folder, when nothing else is in it.
// kInvalidArgument: it lies outside of the catalog; kUnsupported: it is shared.
Result<std::shared_ptr<const StorageScope>> staged_storage_scope(pg::Pool& pool, pg::Deadline until,
                                                                 objstore::ObjectStore& objects,
                                                                 const store::Lake& lake,
                                                                 std::string_view uuid,
                                                                 std::string_view location);

}  // namespace duckicelake::catalog
