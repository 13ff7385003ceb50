// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "catalog/vend_scope.h"

namespace duckicelake::catalog {

using Clock = std::chrono::system_clock;

// Keys that were made for one principal, table and right. In memory only.
struct VendedKeys {
  std::string access_key;
  Secret secret_key;
  Secret session_token;  // empty: the gateway's keys have none
  std::chrono::sys_seconds made{};
  std::chrono::sys_seconds expiration{};
  StorageRight right = StorageRight::kRead;
  std::vector<std::string> routes;  // URIs that they are for
  std::string mark;                 // tells these keys from others without giving them away

  // They are handed out again until then, so that whoever gets them has half of their life left.
  std::chrono::sys_seconds half_life() const { return made + (expiration - made) / 2; }
};

// Vended keys by what they were made for. Of callers that want the same at once, one makes them and
// the others wait. Bounded: the least recently used go first. Thread-safe.
class VendedKeyCache {
 public:
  using Made = Result<std::shared_ptr<const VendedKeys>>;
  explicit VendedKeyCache(std::size_t capacity) : capacity_(capacity) {}

  // nullptr: none that have half of their life left.
  std::shared_ptr<const VendedKeys> find(const std::string& purpose, Clock::time_point now);
  // Failures are not kept, but those who waited share one.
  Made find_or_make(const std::string& purpose, Clock::time_point now,
                    const std::function<Made()>& make);

  struct Counters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t entries = 0;
  };
  Counters counters() const;

 private:
  struct Entry {
    std::string purpose;
    std::shared_ptr<const VendedKeys> keys;
  };
  struct Flight {
    std::shared_ptr<const Made> outcome;
  };
  std::shared_ptr<const VendedKeys> find_locked(const std::string& purpose, Clock::time_point now);
  void keep_locked(const std::string& purpose, std::shared_ptr<const VendedKeys> keys);

  const std::size_t capacity_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable landed_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_purpose_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
  Counters counters_;
};

}  // namespace duckicelake::catalog
