// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "pg/statement.h"

namespace duckicelake::pg {

// Which statements are prepared on one connection, least recently used first out. The key is the
// text and the types of the parameters, for the types decide what the server infers. Not
// thread-safe.
class StatementCache {
 public:
  explicit StatementCache(std::size_t capacity) : capacity_(capacity) {}

  static std::string key_of(const Statement& statement);

  // The server's name of the statement, or empty. A hit becomes the most recently used.
  std::string find(const std::string& key);
  // A name that was never used on this connection.
  std::string next_name();
  // Takes note that `name` is prepared now; what falls out goes to `take_evicted`.
  void insert(const std::string& key, std::string name);
  void clear();
  std::size_t size() const { return index_.size(); }

  // Names to DEALLOCATE. Given back with `restore_evicted` when that did not happen.
  std::vector<std::string> take_evicted();
  void restore_evicted(std::string name) { evicted_.push_back(std::move(name)); }

 private:
  struct Entry {
    std::string key;
    std::string name;
  };
  std::size_t capacity_;
  std::uint64_t next_ = 0;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::vector<std::string> evicted_;
};

}  // namespace duckicelake::pg
