// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace duckicelake::catalog {

struct CompactOptions {
  bool is_dry_run = false;
  double delete_threshold = 0.05;  // rewrite files of which at least this share is deleted; 0 to 1
  // Delete objects that DuckLake scheduled for deletion at least so long ago, in the whole lake;
  // nullopt: none.
  std::optional<std::chrono::seconds> cleanup_older_than;
};

struct CompactReport {
  struct Files {
    std::int64_t data_files = 0;
    std::int64_t delete_files = 0;
  };
  Files before;
  Files after;                    // dry run: as before
  std::int64_t inlined_rows = 0;  // flushed, or (dry run) to be flushed
  std::int64_t files_rewritten = 0;
  std::int64_t files_merged = 0;
  std::vector<std::string> removed_objects;  // addresses; dry run: those due now
};

// Upkeep of the lake by DuckLake's own functions. Thread-safe; calls block, and take their own time
// beside that of requests. kCommitFailed: another writer was faster; what was done before stays,
// and the whole can be run again.
class MaintenanceEngine {
 public:
  virtual ~MaintenanceEngine() = default;
  // Names as DuckLake spells them. kNotFound: there is no such table.
  virtual Result<CompactReport> compact(const std::string& schema, const std::string& table,
                                        const CompactOptions& options) = 0;
  // Expires those of the list that are there, never the newest; answers which.
  virtual Result<std::vector<SnapshotId>> expire(std::span<const SnapshotId> snapshots) = 0;
};

}  // namespace duckicelake::catalog
