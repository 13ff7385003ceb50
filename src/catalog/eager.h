// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Publishes what DuckDB commits before anybody asks for it. Of all processes on a lake one does the
// work: the one that holds an advisory lock; when it dies another takes over within kElection. It
// listens for the notification that a trigger sends with each DuckLake snapshot, and catches up
// with what it may have missed. Nothing rests on it: a load that comes first projects by itself.
class EagerProjection {
 public:
  // Publishes the table as it is after the snapshot, if it has not been. May fail; then the next
  // load tries again.
  using Publish = std::function<Status(TableId, SnapshotId)>;
  // `pool` and `lake` must outlive it.
  EagerProjection(pg::Pool& pool, const store::Lake& lake, Publish publish);
  ~EagerProjection();
  EagerProjection(const EagerProjection&) = delete;
  EagerProjection& operator=(const EagerProjection&) = delete;

  struct Counters {
    bool is_leader = false;
    std::uint64_t notifications = 0;
    std::uint64_t published = 0;
    std::uint64_t failures = 0;
    double lag_seconds = 0;  // of the newest one: from DuckLake's snapshot to its publication
  };
  Counters counters() const;

  // Tables and the newest snapshots that changed them, of the snapshots after `seen`, which moves
  // on.
  using Changed = std::map<TableId, SnapshotId>;
  static Result<Changed> changed_tables(pg::Connection& connection, const store::Lake& lake,
                                        SnapshotId& seen);

  static constexpr std::chrono::seconds kElection{2};
  static constexpr std::chrono::seconds kCatchUp{5};

 private:
  void run();
  // As the leader, until the connection breaks or the end.
  Status lead(pg::Connection& connection);
  void publish(pg::Connection& connection, const Changed& tables);
  bool wait(std::chrono::milliseconds time);  // false at the end

  pg::Pool& pool_;
  const store::Lake& lake_;
  const Publish publish_;
  SnapshotId seen_{-1};  // of the thread only

  mutable std::mutex mutex_;  // guards stopping_, counters_
  std::condition_variable wake_;
  bool stopping_ = false;
  Counters counters_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace duckicelake::catalog
