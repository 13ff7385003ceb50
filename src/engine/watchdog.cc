// SPDX-License-Identifier: Apache-2.0
#include "engine/watchdog.h"

#include <algorithm>
#include <utility>

#include "engine/signal_guard.h"

namespace duckicelake::engine {

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(entries_mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Watchdog::arm(Clock::time_point deadline, std::function<void()> on_late) {
  std::lock_guard lock(entries_mutex_);
  if (!thread_.joinable()) {
    const SignalGuard no_signals;
    thread_ = std::thread([this] { run(); });
  }
  const std::uint64_t id = next_id_++;
  entries_.emplace(id, Entry{deadline, std::move(on_late)});
  changed_.notify_all();
  return id;
}

void Watchdog::disarm(std::uint64_t id) {
  std::lock_guard lock(entries_mutex_);
  entries_.erase(id);
}

void Watchdog::run() {
  constexpr auto kRepeat = std::chrono::milliseconds(50);
  std::unique_lock lock(entries_mutex_);
  while (!is_stopping_) {
    if (entries_.empty()) {
      changed_.wait(lock);
      continue;
    }
    auto earliest = Clock::time_point::max();
    const auto now = Clock::now();
    for (auto& [id, entry] : entries_) {
      if (entry.next <= now) {
        entry.on_late();
        entry.next = now + kRepeat;
      }
      earliest = std::min(earliest, entry.next);
    }
    changed_.wait_until(lock, earliest);
  }
}

}  // namespace duckicelake::engine
