// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/result.h"
#include "catalog/eager.h"
#include "pg/pool.h"

namespace duckicelake::catalog {

// EagerProjection for the shared catalogs of a database: one thread and one session for all of
// them. Of all processes one does the work, elected as there, whatever their own catalogs are. It
// begins with what is committed from then on: what was missed before is published by the next load,
// as nothing rests on this.
class SharedEager {
 public:
  // A catalog for as long as it is held.
  struct Target {
    std::shared_ptr<void> held;
    const store::Lake& lake;
    EagerProjection::Publish publish;
  };
  // The catalog of a metadata schema, at this version of the registry at least; nullopt: there is
  // none of the shared ones. May open it.
  using Find = std::function<Result<std::optional<Target>>(const std::string& schema,
                                                           std::int64_t registry)>;
  // `pool` must outlive it, and what `find` refers to.
  SharedEager(pg::Pool& pool, Find find);
  ~SharedEager();
  SharedEager(const SharedEager&) = delete;
  SharedEager& operator=(const SharedEager&) = delete;

  using Counters = EagerProjection::Counters;
  Counters counters() const;

 private:
  void run();
  // As the leader, until the connection breaks or the end.
  Status lead(pg::Connection& connection);
  Status catch_up(pg::Connection& connection, const std::string& schema, std::int64_t registry);
  bool wait(std::chrono::milliseconds time);  // false at the end

  pg::Pool& pool_;
  const Find find_;
  // Up to where each catalog was looked at since the election; of the thread only.
  std::unordered_map<std::string, SnapshotId> seen_;

  mutable std::mutex mutex_;  // guards stopping_, counters_
  std::condition_variable wake_;
  bool stopping_ = false;
  Counters counters_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace duckicelake::catalog
