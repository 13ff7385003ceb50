// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "pg/pool.h"

namespace duckicelake::catalog {

// Looks after the PostgreSQL roles that were given out and the tables that they are bound on. Of
// all processes on a lake one does the work, elected by an advisory lock:
//  - tables that DuckLake adds are armed, at once when a snapshot is announced (triggers arm most
//  in
//    the transaction that makes them; until then a table is closed);
//  - sessions of roles whose time is over end within kLook, and so do those that took an advisory
//    lock, which only this server has a use for. The latter is done by every process that is not
//    elected too, for the lock that was taken may be that of the election;
//  - roles whose time is over are dropped, in batches.
class DirectUpkeep {
 public:
  // `on_event` may be empty. `pool` must outlive it.
  DirectUpkeep(pg::Pool& pool,
               std::function<void(std::string_view what, const Error& why)> on_event);
  ~DirectUpkeep();
  DirectUpkeep(const DirectUpkeep&) = delete;
  DirectUpkeep& operator=(const DirectUpkeep&) = delete;

  struct Counters {
    bool is_leader = false;
    std::uint64_t armed = 0;
    std::uint64_t dropped = 0;
    std::uint64_t ended = 0;  // sessions
  };
  Counters counters() const;

  static constexpr std::chrono::seconds kLook{1};
  static constexpr std::chrono::seconds kCollect{5};
  static constexpr std::chrono::seconds kLookAtAll{30};
  static constexpr int kBatch = 200;

 private:
  void run();
  Status lead(pg::Connection& connection);
  Status arm(pg::Connection& connection, const std::optional<std::string>& schema);
  Status hear(pg::Connection& connection);
  Status end_sessions(pg::Connection& connection);
  Status collect(pg::Connection& connection);
  void note(std::string_view what, const Error& why) const;
  bool wait(std::chrono::milliseconds time);  // false at the end

  pg::Pool& pool_;
  const std::function<void(std::string_view, const Error&)> on_event_;
  std::atomic<bool> is_leader_{false};
  std::atomic<std::uint64_t> armed_{0}, dropped_{0}, ended_{0};
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;  // guards nothing but the wait
  std::condition_variable wake_;
  std::thread thread_;  // the last
};

}  // namespace duckicelake::catalog
