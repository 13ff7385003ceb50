// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "catalog/service.h"
#include "catalog/table_view.h"
#include "objstore/object_store.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Decoded manifests by path, so that a rewrite or a merge need not fetch what this process wrote a
// moment ago. Bounded by the number of entries; thread-safe.
class ManifestCache {
 public:
  explicit ManifestCache(std::size_t max_entries) : max_entries_(max_entries) {}
  std::shared_ptr<const manifest::DecodedManifest> find(const std::string& path);
  void insert(const std::string& path, std::shared_ptr<const manifest::DecodedManifest> manifest);

 private:
  struct Item {
    std::string path;
    std::shared_ptr<const manifest::DecodedManifest> manifest;
  };
  const std::size_t max_entries_;
  std::mutex mutex_;       // guards the three below
  std::list<Item> order_;  // most recently used first
  std::unordered_map<std::string, std::list<Item>::iterator> index_;
  std::size_t entries_ = 0;
};

struct ProjectionCounters {
  std::atomic<std::uint64_t> projections{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<std::uint64_t> manifests{0};
  std::atomic<std::uint64_t> manifest_lists{0};
  std::atomic<std::uint64_t> metadata_files{0};
  std::atomic<std::uint64_t> delete_files{0};
  std::atomic<std::uint64_t> inlined_files{0};
  std::atomic<std::uint64_t> rows_read{0};
  std::atomic<std::uint64_t> microseconds{0};
};

// Writes version-hint.text, for readers without a catalog: soon, not with every version. It may be
// late, never ahead, and nothing else is decided by it.
class VersionHints {
 public:
  explicit VersionHints(objstore::ObjectStore& objects) : objects_(objects) {}
  ~VersionHints();
  VersionHints(const VersionHints&) = delete;
  VersionHints& operator=(const VersionHints&) = delete;
  // `folder`: the table's metadata folder, a URI ending in '/'.
  void note(const std::string& folder, std::int64_t version);
  // Returns when what was noted before is written: then objects can be removed for good.
  void settle();

  static constexpr std::chrono::milliseconds kDelay{500};

 private:
  void run();
  objstore::ObjectStore& objects_;
  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::map<std::string, std::int64_t> pending_;
  bool is_writing_ = false;
  bool is_urgent_ = false;
  bool stopping_ = false;
  std::thread thread_;  // begins with the first note
};

// Snapshots `first` to `last` are one commit that changed rows of the table and nothing else of it,
// made under the table's lock that its maker still holds; nothing changed the table between the
// view that it was planned on and `first`.
struct OwnRows {
  std::shared_ptr<const store::TableDefinition> definition;  // as it was then
  SnapshotId first;
  SnapshotId last;
};

// Brings the published Iceberg state of a table up to its DuckLake state. Reads in one REPEATABLE
// READ transaction, writes all objects before it commits the sidecar rows that name them: a process
// that dies leaves objects nobody refers to and nothing else. Processes are kept apart by a lock
// per table. Thread-safe.
class Projector {
 public:
  struct Config {
    int default_format_version = 2;
    std::size_t manifest_cache_entries = 200'000;
  };
  Projector(Config config, const store::Lake& lake, pg::Pool& pool, objstore::ObjectStore& objects,
            DataEngine& engine);

  // A view that is current at a moment after the call. `previous` (may be null): a view of the same
  // table to start from instead of the sidecar's rows. kNoSuchTable when the table is not live.
  Result<std::shared_ptr<const TableView>> project(TableId table,
                                                   std::shared_ptr<const TableView> previous,
                                                   pg::Deadline deadline);

  // The same on a connection that holds the table's lock (store::lock_table) already. `own` (may be
  // null): a commit on top of `previous`; less has to be read then.
  Result<std::shared_ptr<const TableView>> project_locked(pg::Connection& connection, TableId table,
                                                          std::shared_ptr<const TableView> previous,
                                                          const OwnRows* own = nullptr);

  // No object of a table that was published before is written after this.
  void settle() { hints_.settle(); }

  const ProjectionCounters& counters() const { return counters_; }

 private:
  friend class ProjectionRun;
  const Config config_;
  const store::Lake& lake_;
  pg::Pool& pool_;
  objstore::ObjectStore& objects_;
  DataEngine& engine_;
  ManifestCache manifests_;
  ProjectionCounters counters_;
  VersionHints hints_;  // the last: its thread writes objects
};

// Published timestamps are this much earlier than DuckLake's, and strictly rising: DuckDB's iceberg
// extension shows a transaction only what is not newer than its own start by the client's clock
// (see ARCHITECTURE.md, "Time").
inline constexpr std::int64_t kTimestampLeadMs = 1000;
// Rounded up before the lead is taken off, so that it is never earlier by more than the lead.
inline std::int64_t published_ms(std::int64_t time_micros) {
  return (time_micros + 999) / 1000 - kTimestampLeadMs;
}

}  // namespace duckicelake::catalog
