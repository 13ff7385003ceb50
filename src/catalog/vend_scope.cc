// SPDX-License-Identifier: Apache-2.0
#include "catalog/vend_scope.h"

#include <algorithm>

#include "catalog/table_places.h"
#include "catalog/vend_reachable.h"
#include "store/registry.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

// An ARN takes some 60 bytes, a policy has 2048.
constexpr std::size_t kMaxPolicyKeys = 64;

// The key prefix of a folder's URI, which ends in '/'.
Result<std::string> prefix_of(const objstore::ObjectStore& objects, const std::string& folder) {
  Result<std::string> key = objects.key_of(folder);
  if (!key) {
    return make_error(Code::kUnsupported, "{} is not in the catalog's bucket", folder);
  }
  return key;
}

bool is_below(std::string_view key, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); });
}

class ScopeLoader {
 public:
  ScopeLoader(pg::Pool& pool, pg::Deadline until, objstore::ObjectStore& objects,
              const store::Lake& lake, TableId table, const StorageScopeLimits& limits)
      : pool_(pool), until_(until), objects_(objects), lake_(lake), limits_(limits) {
    out_->table = table;
    out_->bucket = objects.bucket();
  }

  Result<std::shared_ptr<const StorageScope>> load() {
    DIL_TRY(const store::TableStorage found, read());
    DIL_CHECK_OK(add_folders(found));
    if (needs_every_name_) {
      DIL_CHECK_OK(add_reachable());
    } else {
      DIL_CHECK_OK(add_outside(found));
    }
    DIL_CHECK_OK(check_own());
    return std::shared_ptr<const StorageScope>(std::move(out_));
  }

 private:
  Result<store::TableStorage> read() {
    DIL_TRY(pg::Lease lease, pool_.acquire(until_));
    // Its uuid names the folder beside DATA_PATH.
    DIL_TRY(const std::optional<store::TableDefinition> definition,
            store::load_table_definition(*lease, lake_, out_->table));
    if (!definition) return Error(Code::kNoSuchTable, "Table does not exist any more");
    DIL_TRY(places_, places_of(lake_, definition->table));
    return store::load_table_storage(*lease, lake_, out_->table, places_.iceberg_only,
                                     {limits_.max_outside, limits_.max_folders});
  }

  Status add_folders(const store::TableStorage& found) {
    out_->uuid = found.uuid;
    DIL_TRY(out_->location, prefix_of(objects_, found.location.uri));
    out_->is_location_shared = found.location.is_shared;
    DIL_CHECK_OK(add_folder(found.location));
    for (const store::StorageFolder& folder : found.earlier) DIL_CHECK_OK(add_folder(folder));
    return add_folder({places_.iceberg_only, found.is_uuid_shared});
  }

  Status add_folder(const store::StorageFolder& folder) {
    if (folder.is_shared) {
      needs_every_name_ = true;
      return {};
    }
    DIL_TRY(std::string prefix, prefix_of(objects_, folder.uri));
    out_->prefixes.push_back(std::move(prefix));
    return {};
  }

  Status add_outside(const store::TableStorage& found) {
    for (const std::string& uri : found.outside) {
      DIL_TRY(std::string key, prefix_of(objects_, uri));
      out_->keys.insert(std::move(key));
    }
    out_->has_all_keys = !found.has_more_outside;
    out_->does_wider_hold_all = !found.has_more_folders;
    for (const store::StorageFolder& folder : found.outside_folders) {
      // Elsewhere there may be objects that nobody here knows of.
      if (folder.is_shared || !folder.uri.starts_with(lake_.data_path)) {
        out_->does_wider_hold_all = false;
        continue;
      }
      DIL_TRY(std::string prefix, prefix_of(objects_, folder.uri));
      out_->wider.push_back(std::move(prefix));
    }
    return {};
  }

  Status add_reachable() {
    Result<std::vector<std::string>> files =
        load_reachable_files(pool_, until_, objects_, lake_, out_->table, limits_.max_reachable);
    if (!files) return std::move(files).error();
    for (const std::string& uri : *files) {
      DIL_TRY(std::string key, prefix_of(objects_, uri));
      if (!is_below(key, out_->prefixes)) out_->keys.insert(std::move(key));
    }
    return {};
  }

  // DuckLake takes any path. What lies in another catalog's place is never given out through a row
  // of this one.
  Status check_own() const {
    std::vector<std::string> elsewhere;
    const auto look = [&](const auto& keys) {
      for (const std::string& key : keys) {
        std::string uri = objects_.uri_of(key);
        if (!is_in_own_place(lake_, uri)) elsewhere.push_back(std::move(uri));
      }
    };
    look(std::vector<std::string>{out_->location});
    look(out_->prefixes);
    look(out_->keys);
    look(out_->wider);
    if (elsewhere.empty()) return {};
    DIL_TRY(pg::Lease lease, pool_.acquire(until_));
    DIL_TRY(const bool is_foreign, store::touches_other_catalog(*lease, lake_, elsewhere));
    if (!is_foreign) return {};
    return Error(Code::kUnsupported, "objects of the table lie in the place of another catalog");
  }

  pg::Pool& pool_;
  const pg::Deadline until_;
  objstore::ObjectStore& objects_;
  const store::Lake& lake_;
  const StorageScopeLimits& limits_;
  TablePlaces places_;
  bool needs_every_name_ = false;
  std::shared_ptr<StorageScope> out_ = std::make_shared<StorageScope>();
};

}  // namespace

bool StorageScope::holds(std::string_view key) const {
  return is_below(key, prefixes) || keys.contains(std::string(key));
}

bool StorageScope::holds_listing(std::string_view prefix) const {
  return is_below(prefix, prefixes);
}

std::vector<std::string> StorageScope::routes() const {
  std::vector<std::string> out;
  const std::string root = "s3://" + bucket + "/";
  out.push_back(root + location);
  for (const std::string& prefix : prefixes) out.push_back(root + prefix);
  for (const std::string& prefix : wider) out.push_back(root + prefix);
  for (const std::string& key : keys) {
    if (!is_below(key, prefixes) && !is_below(key, wider)) {
      out.push_back(root + key.substr(0, key.rfind('/') + 1));
    }
  }
  std::sort(out.begin(), out.end());
  std::vector<std::string> least;
  for (std::string& route : out) {
    if (least.empty() || !route.starts_with(least.back())) least.push_back(std::move(route));
  }
  return least;
}

Result<sign::SessionScope> session_scope(const StorageScope& scope, StorageRight right) {
  sign::SessionScope out;
  out.bucket = scope.bucket;
  out.read_prefixes = scope.prefixes;
  if (scope.has_all_keys && (scope.does_wider_hold_all || scope.keys.size() <= kMaxPolicyKeys)) {
    out.read_keys.assign(scope.keys.begin(), scope.keys.end());
    if (scope.does_wider_hold_all) out.wider_prefixes = scope.wider;
  } else if (scope.does_wider_hold_all) {
    out.read_prefixes.insert(out.read_prefixes.end(), scope.wider.begin(), scope.wider.end());
  } else {
    return Error(
        Code::kUnsupported,
        "the table has too many files in folders that are not its own for keys of its own");
  }
  if (right == StorageRight::kWrite) {
    if (scope.is_location_shared) {
      return Error(Code::kUnsupported,
                   "the table shares its folder, so there are no keys that may write into it");
    }
    out.write_prefixes = {scope.location};
  }
  return out;
}

Result<std::shared_ptr<const StorageScope>> load_storage_scope(pg::Pool& pool, pg::Deadline until,
                                                               objstore::ObjectStore& objects,
                                                               const store::Lake& lake,
                                                               TableId table,
                                                               const StorageScopeLimits& limits) {
  return ScopeLoader(pool, until, objects, lake, table, limits).load();
}

Result<std::shared_ptr<const StorageScope>> staged_storage_scope(pg::Pool& pool, pg::Deadline until,
                                                                 objstore::ObjectStore& objects,
                                                                 const store::Lake& lake,
                                                                 std::string_view uuid,
                                                                 std::string_view location) {
  std::string folder(location);
  while (folder.ends_with('/')) folder.pop_back();
  folder.push_back('/');
  // Below DATA_PATH, and not DATA_PATH itself.
  if (!folder.starts_with(lake.data_path) || folder.size() == lake.data_path.size()) {
    return invalid_argument("location {} does not lie inside the catalog", location);
  }
  auto out = std::make_shared<StorageScope>();
  out->table = TableId(-1);
  out->uuid = uuid;
  out->bucket = objects.bucket();
  DIL_TRY(out->location, prefix_of(objects, folder));
  DIL_TRY(pg::Lease lease, pool.acquire(until));
  DIL_TRY(const bool is_shared, store::is_folder_shared(*lease, lake, store::kNewTable, folder));
  if (is_shared) {
    return make_error(Code::kUnsupported, "location {} is not free for a table of its own",
                      location);
  }
  out->prefixes = {out->location};
  return std::shared_ptr<const StorageScope>(std::move(out));
}

}  // namespace duckicelake::catalog
