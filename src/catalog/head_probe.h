// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Proof of freshness for cached answers: the head of a lake that was read after the question was
// asked. Questions that arrive while a read is under way share the next one. Under load a read also
// waits, up to kGatherWindow, for half as many questions as reads lately had at most: so half of
// the connections are answered while the other half is asked for, and a lone client never waits.
// Thread-safe. It also keeps, from the changes of each advance, which tables changed when.
class HeadProbe {
 public:
  struct Fresh {
    store::LakeHead head;
  };
  using Callback = std::function<void(const Result<Fresh>&)>;
  // Runs a task on an I/O thread; false when that thread is over.
  using Post = std::function<bool(std::size_t thread_index, std::function<void()>)>;

  // `pool` must outlive the probe. `post` may be empty when only await_blocking is used.
  HeadProbe(pg::Pool& pool, store::Lake lake, Post post);
  ~HeadProbe();
  HeadProbe(const HeadProbe&) = delete;
  HeadProbe& operator=(const HeadProbe&) = delete;

  // The callback runs on I/O thread `thread_index`, all callbacks of one read in one task.
  void await(std::size_t thread_index, Callback callback);
  // kUnavailable when the lake's PostgreSQL is away; kDeadlineExceeded.
  Result<Fresh> await_blocking(pg::Deadline deadline);

  // The newest snapshot known to have changed the table (rows, files or definition); `start` of the
  // watch when none.
  SnapshotId last_change(TableId table) const;
  // The newest snapshot after which names may resolve differently.
  SnapshotId last_name_change() const;

  struct Counters {
    std::uint64_t probes = 0;
    std::uint64_t questions = 0;
    std::uint64_t failures = 0;
  };
  Counters counters() const;

 private:
  struct Waiter {
    std::size_t thread_index = 0;
    bool is_blocking = false;
    Callback callback;
  };
  void run();
  Result<Fresh> read();
  Status take_in(const std::vector<store::ChangesRow>& rows);
  void answer(std::vector<Waiter> waiters, const Result<Fresh>& result);

  pg::Pool& pool_;
  const store::Lake lake_;
  const Post post_;

  static constexpr std::chrono::microseconds kGatherWindow{300};

  mutable std::mutex queue_mutex_;  // guards waiters_, expected_, stopping_, counters_
  std::condition_variable wake_;
  std::vector<Waiter> waiters_;
  std::size_t expected_ = 1;  // how many questions a read waits for
  bool stopping_ = false;
  Counters counters_;

  mutable std::mutex changes_mutex_;  // guards the three below
  std::unordered_map<TableId, SnapshotId> last_change_;
  SnapshotId last_name_change_{-1};
  SnapshotId watched_{-1};  // changes up to here were taken in; -1: nothing read yet

  std::unique_ptr<pg::Lease> lease_;  // of the probe's thread only
  std::thread thread_;
};

}  // namespace duckicelake::catalog
