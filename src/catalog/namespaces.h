// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/name_lookup.h"
#include "catalog/write_context.h"

namespace duckicelake::catalog {

using Properties = std::map<std::string, std::string>;

struct PropertiesUpdate {
  Properties updates;
  std::vector<std::string> removals;
};

struct PropertiesChange {
  std::vector<std::string> updated;
  std::vector<std::string> removed;
  std::vector<std::string> missing;  // asked to be removed, but not there
};

// Namespaces and their properties. A namespace is a DuckLake schema; one of several levels is a
// schema whose levels the sidecar holds. Thread-safe; calls block and pass `authorize` first.
// Levels that are only the upper part of another namespace's exist as well, without properties.
class Namespaces {
 public:
  explicit Namespaces(const Backends& backends) : backends_(backends) {}

  // kNoSuchNamespace.
  Result<Properties> load(const Caller& caller, const Levels& levels) const;

  // The upper levels need not exist. kAlreadyExists, also when a schema has the name in another
  // case; kInvalidArgument for a name that may not be taken.
  Status create(const WriteContext& context, const Levels& levels,
                const Properties& properties) const;

  // kNamespaceNotEmpty while tables, views, macros or namespaces are in it.
  Status drop(const WriteContext& context, const Levels& levels) const;

  // kUnprocessable when a key is in both parts.
  Result<PropertiesChange> update(const WriteContext& context, const Levels& levels,
                                  const PropertiesUpdate& update) const;

 private:
  const Backends& backends_;
};

}  // namespace duckicelake::catalog
