// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "objstore/object_store.h"
#include "pg/connection.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// What Iceberg metadata names: the objects that a sweep must leave alone. Kept as hashes, so that
// memory is 8 bytes for a name; two names that meet in one keep an object for nothing.
class SweepNames {
 public:
  SweepNames(const store::Lake& lake, objstore::ObjectStore& objects)
      : lake_(lake), objects_(objects) {}

  // Reads all that is published of the table, and what clients committed beside main: metadata
  // files, lists, manifests and what their live entries name. A list or manifest that is gone names
  // nothing. What was added for the table before stays.
  Status add_table(pg::Connection& connection, TableId table);
  void add(std::string_view uri) { names_.insert(hash(uri)); }
  bool has(std::string_view uri) const { return names_.contains(hash(uri)); }
  bool has_side(std::string_view uri) const { return side_.contains(hash(uri)); }

  // Whether the table was published or changed since it was added.
  Result<bool> is_stale(pg::Connection& connection, TableId table) const;

 private:
  struct Version {
    std::int64_t version = 0;
    bool is_dirty = false;
    friend bool operator==(const Version&, const Version&) = default;
  };
  enum class Where : bool { kMain, kSide };
  static std::uint64_t hash(std::string_view uri) { return std::hash<std::string_view>{}(uri); }
  Result<std::optional<Version>> version_of(pg::Connection& connection, TableId table) const;
  void note(std::string_view uri, Where where);
  Status add_lists(const std::vector<std::string>& lists, Where where);
  Status add_manifests(const std::vector<std::string>& paths, Where where);
  Status add_document(const std::string& json);

  const store::Lake& lake_;
  objstore::ObjectStore& objects_;
  std::unordered_set<std::uint64_t> names_;
  std::unordered_set<std::uint64_t> side_;       // of these, those of snapshots beside main
  std::unordered_set<std::uint64_t> read_;       // lists and manifests of main that were read
  std::unordered_set<std::uint64_t> side_read_;  // likewise beside main
  std::unordered_map<TableId, std::optional<Version>> versions_;
};

}  // namespace duckicelake::catalog
