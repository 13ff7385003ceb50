// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>

#include "base/ids.h"

namespace duckicelake::catalog {

// Leaves DuckDB's writers their share of a lake. Every commit needs the next snapshot id, and a
// DuckDB session that loses the race for it waits 50 ms and more before it tries again, ten times
// at most; our commits would always be faster. So while others commit to the lake, ours come in
// short windows with longer pauses between them. Thread-safe; one for each lake of a process.
class SlotPacer {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kWindow{30};
  static constexpr std::chrono::milliseconds kPause{60};
  // Others count as active for so long after a snapshot of theirs was seen.
  static constexpr std::chrono::milliseconds kMemory{2000};

  // When a commit that is ready at `now` may take its slot; `now` itself when nobody else writes.
  Clock::time_point admit(Clock::time_point now);
  // A commit let go of the slot. One that outlasted its window ended the window: the pause is
  // whole.
  void released(Clock::time_point now);
  // The newest snapshot of others that the slot's transaction saw.
  void note(SnapshotId newest_foreign, Clock::time_point now);

 private:
  std::mutex mutex_;  // guards all below
  SnapshotId known_foreign_{-1};
  bool has_noted_ = false;
  Clock::time_point foreign_at_ = Clock::time_point::min();
  Clock::time_point window_start_ = Clock::time_point::min();
};

}  // namespace duckicelake::catalog
