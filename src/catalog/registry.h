// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "pg/pool.h"
#include "store/registry.h"

namespace duckicelake::catalog {

// The shared catalogs as of one version of the registry. Immutable: a row each, and nothing else.
class RegisteredCatalogs {
 public:
  explicit RegisteredCatalogs(store::SharedCatalogs read);
  std::int64_t version() const { return version_; }
  const store::CatalogRow* find(std::string_view id) const;  // nullptr: there is none
  const store::CatalogRow* find_by_schema(std::string_view schema) const;
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::int64_t version_;
  std::unordered_map<std::string, store::CatalogRow, Hash, std::equal_to<>> by_id_;
  std::unordered_map<std::string_view, const store::CatalogRow*> by_schema_;
};

// The newest ones that this process has read. A name that is not among them costs no query as long
// as the registry stays as it is. Thread-safe.
class CatalogRegistry {
 public:
  explicit CatalogRegistry(pg::Pool& pool) : pool_(pool) {}  // which must outlive it

  // Does not block: those known, when they are at least of this version; else nullptr.
  std::shared_ptr<const RegisteredCatalogs> at_least(std::int64_t version) const;
  // Reads them when the known ones are older. Blocks.
  Result<std::shared_ptr<const RegisteredCatalogs>> load(std::int64_t version, pg::Deadline until);

 private:
  pg::Pool& pool_;
  mutable std::mutex mutex_;  // guards newest_
  std::shared_ptr<const RegisteredCatalogs> newest_;
  std::mutex reading_;  // held by who reads: the others find its result
};

}  // namespace duckicelake::catalog
