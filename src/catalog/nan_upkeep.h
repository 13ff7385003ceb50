// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Counts the NaN of columns of which clients did not say whether they have any (PyIceberg never
// does): without it DuckDB reads every file for `x > 5`. Of all processes on a lake one does the
// work, elected by an advisory lock; likewise one for the shared catalogs of the database. It reads
// those columns alone, one file at a time, and rests as long as it read. Where it stopped is in the
// sidecar. Nothing rests on it.
//
// A file that cannot be read is passed for good: at once when it is missing or damaged, after
// kTries when the store or the engine failed.
class NanUpkeep {
 public:
  // A shared catalog for as long as it is held.
  struct Target {
    std::shared_ptr<void> held;
    const store::Lake& lake;
  };
  // The catalog of a metadata schema, at this version of the registry at least; nullopt: there is
  // none of the shared ones.
  using Find = std::function<Result<std::optional<Target>>(const std::string& schema,
                                                           std::int64_t registry)>;
  // All must outlive it, and what `find` refers to.
  NanUpkeep(pg::Pool& pool, const store::Lake& own, DataEngine& engine, Find find);
  ~NanUpkeep();
  NanUpkeep(const NanUpkeep&) = delete;
  NanUpkeep& operator=(const NanUpkeep&) = delete;

  struct Counters {
    bool is_leader = false;      // of the own lake
    std::uint64_t counted = 0;   // files
    std::uint64_t passed = 0;    // files that could not be read
    std::uint64_t failures = 0;  // steps
  };
  Counters counters() const;

  static constexpr std::chrono::seconds kElection{5};
  // Between two tries after a failure.
  static constexpr std::chrono::seconds kPause{30};
  static constexpr int kTries = 3;
  // For one file; as long may the end of the process take.
  static constexpr std::chrono::seconds kFileTime{15};
  // Files that are looked up at once.
  static constexpr std::int64_t kBatch = 500;

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  // Until the connection breaks, or the end.
  Status lead(pg::Connection& connection);
  Status elect(pg::Connection& connection);
  Status hear(pg::Connection& connection);
  // One batch of a schema's files, whose turn it was; it gets another one if there is more to do.
  Status work(pg::Connection& connection, const std::string& schema);
  // Whether there are more.
  Result<bool> step(pg::Connection& connection, const store::Lake& lake);
  Status count(pg::Connection& connection, const store::Lake& lake, std::int64_t file,
               const std::string& uri, const std::vector<FieldId>& columns);
  bool wait(std::chrono::milliseconds time);  // false at the end

  pg::Pool& pool_;
  const store::Lake& own_;
  DataEngine& engine_;
  const Find find_;

  // Of the thread only.
  bool leads_own_ = false;
  bool leads_shared_ = false;
  std::map<std::string, Clock::time_point> due_;               // by schema: not before
  std::map<std::pair<std::string, std::int64_t>, int> tries_;  // by catalog and file

  std::atomic<bool> is_leader_{false};
  std::atomic<std::uint64_t> counted_{0}, passed_{0}, failures_{0};
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;  // guards nothing but the wait
  std::condition_variable wake_;
  std::thread thread_;  // the last
};

}  // namespace duckicelake::catalog
