// SPDX-License-Identifier: Apache-2.0
#include "pg/statement_cache.h"

#include "base/bytes.h"

namespace duckicelake::pg {

std::string StatementCache::key_of(const Statement& statement) {
  std::string key(statement.sql.text());
  key.push_back('\0');
  for (const Param& param : statement.params) append_little_endian(key, param.type_oid());
  return key;
}

std::string StatementCache::find(const std::string& key) {
  auto found = index_.find(key);
  if (found == index_.end()) return {};
  order_.splice(order_.begin(), order_, found->second);
  return found->second->name;
}

std::string StatementCache::next_name() { return fmt::format("dil_{}", ++next_); }

void StatementCache::insert(const std::string& key, std::string name) {
  if (index_.contains(key)) {
    evicted_.push_back(std::move(name));
    return;
  }
  order_.push_front(Entry{key, std::move(name)});
  index_[key] = order_.begin();
  while (order_.size() > capacity_) {
    evicted_.push_back(std::move(order_.back().name));
    index_.erase(order_.back().key);
    order_.pop_back();
  }
}

void StatementCache::clear() {
  order_.clear();
  index_.clear();
  evicted_.clear();
}

std::vector<std::string> StatementCache::take_evicted() {
  std::vector<std::string> out;
  out.swap(evicted_);
  return out;
}

}  // namespace duckicelake::pg
