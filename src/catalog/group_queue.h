// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "pg/deadline.h"

namespace duckicelake::catalog {

// Lets threads that want the same thing at the same time do it together: what comes while one group
// is at work makes up the next one. Every member's thread waits; one of them, the leader, does the
// work for all. Thread-safe.
template <class T>
class GroupQueue {
 public:
  explicit GroupQueue(std::size_t max_group) : max_group_(max_group) {}

  // Blocks until `lead` was called, on this thread or another, with a span that holds &member.
  // Calls of `lead` never overlap; it must not throw. `before` is called by a leader before it
  // closes its group; it may take its time. false: the deadline passed before a group took it in.
  template <class Before, class Lead>
  bool join(T& member, pg::Deadline until, const Before& before, const Lead& lead) {
    Entry own;
    own.member = &member;
    std::unique_lock lock(mutex_);
    waiting_.push_back(&own);
    while (own.stage != Stage::kDone) {
      if (own.stage == Stage::kTaken) {
        own.changed.wait(lock);
      } else if (!is_led_) {
        lead_group(lock, before, lead);
      } else if (own.changed.wait_until(lock, until) == std::cv_status::timeout &&
                 own.stage == Stage::kWaiting) {
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &own));
        wake_next();
        return false;
      }
    }
    return true;
  }

 private:
  enum class Stage { kWaiting, kTaken, kDone };
  struct Entry {
    T* member = nullptr;
    Stage stage = Stage::kWaiting;
    std::condition_variable changed;
  };

  template <class Before, class Lead>
  void lead_group(std::unique_lock<std::mutex>& lock, const Before& before, const Lead& lead) {
    is_led_ = true;
    lock.unlock();
    before();
    lock.lock();
    std::vector<Entry*> group;
    std::vector<T*> members;
    while (!waiting_.empty() && group.size() < max_group_) {
      group.push_back(waiting_.front());
      members.push_back(waiting_.front()->member);
      waiting_.front()->stage = Stage::kTaken;
      waiting_.pop_front();
    }
    lock.unlock();
    lead(std::span<T* const>(members));
    lock.lock();
    is_led_ = false;
    for (Entry* entry : group) {
      entry->stage = Stage::kDone;
      entry->changed.notify_one();
    }
    wake_next();
  }

  // To lead the next group, should nobody do so already.
  void wake_next() {
    if (!is_led_ && !waiting_.empty()) waiting_.front()->changed.notify_one();
  }

  const std::size_t max_group_;
  std::mutex mutex_;  // guards all below, and the entries
  std::deque<Entry*> waiting_;
  bool is_led_ = false;
};

}  // namespace duckicelake::catalog
