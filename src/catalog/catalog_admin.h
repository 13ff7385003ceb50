// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "store/registry.h"

namespace duckicelake::catalog {

struct NewCatalog {
  std::string id;
  std::string metadata_schema;
  std::string data_prefix;             // in the bucket of the server
  std::optional<std::string> account;  // whose tokens reach it; none: all
  bool makes_default_namespace = true;
};

// Makes lakes; a port, because that is DuckDB's work.
class LakeMaker {
 public:
  virtual ~LakeMaker() = default;
  // Makes the lake whole: DuckLake's tables, the sidecar's triggers and indexes, the namespace
  // "default" if it is wanted and the lake is new. What is there already stays, so that half a one
  // is completed. Others that make the same one wait. kAlreadyExists: something else is in the
  // schema, or a lake with another data path.
  virtual Status make(const store::CatalogRow& catalog, bool with_namespace,
                      pg::Deadline until) = 0;
};

// Catalogs beside the process's own: the superuser's use cases. Thread-safe; calls block and pass
// `authorize` first.
class CatalogAdmin {
 public:
  // Of the process's own catalog. Both must outlive it.
  CatalogAdmin(const Backends& own, LakeMaker& maker) : own_(own), maker_(maker) {}

  struct Entry {
    store::CatalogRow row;
    std::string data_prefix;
    bool is_own = false;
  };
  // The same again is no error, also when it was cut short before: it is completed then.
  // kInvalidArgument, kAlreadyExists: a name or place is taken.
  Result<Entry> create(const Caller& caller, const NewCatalog& wanted) const;
  // By id, after `after`; `next`: the id to continue after.
  struct Listing {
    std::vector<Entry> entries;
    std::optional<std::string> next;
  };
  Result<Listing> list(const Caller& caller, const std::string& after, std::int64_t limit) const;
  Result<Entry> load(const Caller& caller, const std::string& id) const;  // kNoSuchWarehouse
  // It is served no more; its tables, objects and everything said about them stay, and so its id,
  // schema and place are free for nothing but itself. One that is closed already is no error.
  // kNoSuchWarehouse; kInvalidArgument: it is a server's own.
  Status close(const Caller& caller, const std::string& id) const;

 private:
  Status admit(const Caller& caller, Action action, const std::string& id) const;
  Entry entry_of(store::CatalogRow row) const;

  const Backends& own_;
  LakeMaker& maker_;
};

}  // namespace duckicelake::catalog
