// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace duckicelake::engine {

// Calls back once a deadline has passed, and again every 50 ms until it is disarmed: DuckDB forgets
// an interrupt that arrives between two statements. One thread, started with the first `arm`.
// Thread-safe.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  // `on_late` runs on the watchdog's thread under its lock: it must be short and must not call back
  // here.
  std::uint64_t arm(Clock::time_point deadline, std::function<void()> on_late);
  // After this returns, the callback runs no more.
  void disarm(std::uint64_t id);

 private:
  struct Entry {
    Clock::time_point next;
    std::function<void()> on_late;
  };
  void run();

  std::mutex entries_mutex_;  // guards all below
  std::condition_variable changed_;
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t next_id_ = 1;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace duckicelake::engine
