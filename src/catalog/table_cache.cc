// SPDX-License-Identifier: Apache-2.0
#include "catalog/table_cache.h"

namespace duckicelake::catalog {

std::size_t TableCache::NameHash::operator()(const TableRef& table) const {
  const std::hash<std::string> hash;
  std::size_t out = hash(table.name);
  // The order counts: a.b is not b.a.
  for (const std::string& level : table.levels) out = out * 31 + hash(level);
  return out;
}

std::optional<TableCache::Named> TableCache::find_name(const TableRef& table) const {
  std::lock_guard lock(mutex_);
  auto it = names_.find(table);
  if (it == names_.end()) return std::nullopt;
  return it->second;
}

void TableCache::insert_name(const TableRef& table, const Named& named) {
  std::lock_guard lock(mutex_);
  // Names come and go with renames; a full map is dropped, it fills again with one look-up a name.
  if (names_.size() >= 4 * capacity_) names_.clear();
  names_[table] = named;
}

void TableCache::erase_name(const TableRef& table) {
  std::lock_guard lock(mutex_);
  names_.erase(table);
}

std::shared_ptr<const TableView> TableCache::find(TableId table) {
  std::lock_guard lock(mutex_);
  auto it = views_.find(table);
  if (it == views_.end()) return nullptr;
  order_.splice(order_.begin(), order_, it->second);
  return *it->second;
}

void TableCache::insert(std::shared_ptr<const TableView> view) {
  std::lock_guard lock(mutex_);
  auto it = views_.find(view->table_id());
  if (it != views_.end()) {
    const TableView& known = **it->second;
    const auto age = [](const TableView& v) { return std::pair(v.through(), v.revision()); };
    if (age(*view) >= age(known)) *it->second = std::move(view);
    return;
  }
  order_.push_front(std::move(view));
  views_.emplace(order_.front()->table_id(), order_.begin());
  while (order_.size() > capacity_) {
    views_.erase(order_.back()->table_id());
    order_.pop_back();
  }
}

void TableCache::erase(TableId table) {
  std::lock_guard lock(mutex_);
  auto it = views_.find(table);
  if (it == views_.end()) return;
  order_.erase(it->second);
  views_.erase(it);
}

std::size_t TableCache::size() const {
  std::lock_guard lock(mutex_);
  return order_.size();
}

bool TableLatch::enter(TableId table, pg::Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!freed_.wait_until(lock, deadline, [&] { return !busy_.contains(table); })) return false;
  busy_.insert(table);
  return true;
}

void TableLatch::leave(TableId table) {
  {
    std::lock_guard lock(mutex_);
    busy_.erase(table);
  }
  freed_.notify_all();
}

}  // namespace duckicelake::catalog
