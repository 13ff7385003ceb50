// SPDX-License-Identifier: Apache-2.0
#include "catalog/vend_keys.h"

namespace duckicelake::catalog {

std::shared_ptr<const VendedKeys> VendedKeyCache::find_locked(const std::string& purpose,
                                                              Clock::time_point now) {
  const auto found = by_purpose_.find(purpose);
  if (found == by_purpose_.end()) return nullptr;
  if (now >= found->second->keys->half_life()) {
    entries_.erase(found->second);
    by_purpose_.erase(found);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  ++counters_.hits;
  return found->second->keys;
}

std::shared_ptr<const VendedKeys> VendedKeyCache::find(const std::string& purpose,
                                                       Clock::time_point now) {
  std::lock_guard lock(mutex_);
  return find_locked(purpose, now);
}

void VendedKeyCache::keep_locked(const std::string& purpose,
                                 std::shared_ptr<const VendedKeys> keys) {
  if (const auto known = by_purpose_.find(purpose); known != by_purpose_.end()) {
    known->second->keys = std::move(keys);
    return;
  }
  entries_.push_front({purpose, std::move(keys)});
  by_purpose_.emplace(purpose, entries_.begin());
  while (entries_.size() > capacity_) {
    by_purpose_.erase(entries_.back().purpose);
    entries_.pop_back();
  }
}

VendedKeyCache::Made VendedKeyCache::find_or_make(const std::string& purpose, Clock::time_point now,
                                                  const std::function<Made()>& make) {
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    if (auto known = find_locked(purpose, now)) return known;
    ++counters_.misses;
    if (const auto under_way = flights_.find(purpose); under_way != flights_.end()) {
      flight = under_way->second;
      landed_.wait(lock, [&] { return flight->outcome != nullptr; });
      return *flight->outcome;
    }
    flight = flights_.emplace(purpose, std::make_shared<Flight>()).first->second;
  }
  auto outcome = std::make_shared<const Made>(make());
  std::lock_guard lock(mutex_);
  flight->outcome = outcome;
  flights_.erase(purpose);
  landed_.notify_all();
  if (outcome->has_value()) keep_locked(purpose, **outcome);
  return *outcome;
}

VendedKeyCache::Counters VendedKeyCache::counters() const {
  std::lock_guard lock(mutex_);
  Counters out = counters_;
  out.entries = entries_.size();
  return out;
}

}  // namespace duckicelake::catalog
