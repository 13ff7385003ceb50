// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog_admin.h"
#include "rest/catalog_api.h"
#include "rest/page_token.h"

namespace duckicelake::catalog {
class AccessCache;
class DirectAccess;
class RequestSigning;
class StorageAccess;
}  // namespace duckicelake::catalog

namespace duckicelake::rest {

// One catalog as the routes see it: everything that belongs to it alone. Calls hold it until they
// are answered. The references live as long.
struct OpenCatalog {
  std::string id;       // the {prefix}
  std::string account;  // whose tokens reach it; empty: all
  // Of the registry: the head of the catalog has the same one, or it was closed or made anew. 0:
  // the process's own, which is always there.
  std::int64_t registration = 0;
  CatalogApi& api;
  catalog::AccessCache* access = nullptr;         // nullptr: there are no rules (tests)
  catalog::StorageAccess* storage = nullptr;      // nullptr: there are no keys to be had
  catalog::RequestSigning* signing = nullptr;     // nullptr: nothing is signed
  PageTokens page_tokens = PageTokens(Secret());  // good for its listings alone
  catalog::DirectAccess* direct = nullptr;        // nullptr: no roles for DuckDB users

  bool is_own() const { return registration == 0; }
};
using CatalogPtr = std::shared_ptr<const OpenCatalog>;

// The catalogs beside the process's own. Thread-safe.
class CatalogDirectory {
 public:
  virtual ~CatalogDirectory() = default;

  // Does not block. nullptr: it is not open here, or does not exist.
  virtual CatalogPtr active(std::string_view id) = 0;

  // Whether it exists, as of a registry of at least this version (LakeHead::catalogs).
  struct Known {
    std::string account;
    std::int64_t registration = 0;
  };
  struct Answer {
    bool is_read = false;  // false, of `known` alone: the registry has to be read first
    std::optional<Known> known = {};
  };
  virtual Answer known(std::string_view id, std::int64_t version) = 0;  // does not block
  virtual Result<Answer> look_up(const std::string& id, std::int64_t version) = 0;

  // Opens it under the registration that was found; blocks. kNoSuchWarehouse: it is gone by now.
  // Other errors say what is wrong with it.
  virtual Result<CatalogPtr> open(const std::string& id, std::int64_t registration) = 0;
  // It was closed, or made anew: requests under way end, and the next one looks it up again.
  virtual void drop(const OpenCatalog& stale) = 0;

  // Registering them and taking them out.
  virtual const catalog::CatalogAdmin& admin() const = 0;
};

}  // namespace duckicelake::rest
