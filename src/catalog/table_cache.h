// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "catalog/head_probe.h"
#include "catalog/name_lookup.h"
#include "catalog/table_view.h"

namespace duckicelake::catalog {

// Published views of tables by id, and ids of tables by name, each with the head up to which it is
// known to be right. Nothing here decides that it is still right: the caller holds a head that was
// read after its request came. Bounded (least recently used first out) and thread-safe.
class TableCache {
 public:
  explicit TableCache(std::size_t capacity) : capacity_(capacity) {}

  struct Named {
    TableId table;
    SchemaId schema;
    SnapshotId resolved_at;  // the lake's head when the name was looked up, or an older one
    std::shared_ptr<const ObjectRef> object;  // as the gate is asked about it
  };
  std::optional<Named> find_name(const TableRef& table) const;
  void insert_name(const TableRef& table, const Named& named);
  void erase_name(const TableRef& table);

  std::shared_ptr<const TableView> find(TableId table);
  // Keeps the one that was looked at later.
  void insert(std::shared_ptr<const TableView> view);
  void erase(TableId table);
  std::size_t size() const;

 private:
  struct NameHash {
    std::size_t operator()(const TableRef& table) const;
  };
  using Order = std::list<std::shared_ptr<const TableView>>;
  const std::size_t capacity_;
  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<TableRef, Named, NameHash> names_;
  Order order_;  // most recently used first
  std::unordered_map<TableId, Order::iterator> views_;
};

// Lets one thread at a time work on a table; the others wait for it and look again. Saves database
// connections and double work inside a process; between processes the projection's own lock serves.
class TableLatch {
 public:
  // false: the deadline passed.
  bool enter(TableId table, pg::Deadline deadline);
  void leave(TableId table);

 private:
  std::mutex mutex_;  // guards busy_
  std::condition_variable freed_;
  std::unordered_set<TableId> busy_;
};

}  // namespace duckicelake::catalog
