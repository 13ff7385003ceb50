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
#include "engine/database.h"
#include "engine/lake.h"

// Upkeep by DuckLake's own functions. Each step is a DuckLake commit of its own, so a failure keeps
// the steps before it and the whole can be run again. kCommitFailed: another writer was faster.
// Nothing here decides what may be removed: the caller does, who knows what is still referred to.
namespace duckicelake::engine {

enum class Upkeep { kRun, kDryRun };

struct TableToCompact {
  std::string schema;  // as DuckLake spells them
  std::string table;
};

struct CompactOptions {
  Upkeep mode = Upkeep::kRun;
  double delete_threshold = 0.05;  // rewrite files of which at least this share is deleted; 0 to 1
  // Delete objects that were scheduled for deletion at least so long ago; nullopt: none. This is
  // for the whole lake, DuckLake has no narrower form.
  std::optional<std::chrono::seconds> cleanup_older_than;
};

struct FileCounts {
  std::int64_t data_files = 0;  // live ones
  std::int64_t delete_files = 0;
};

struct CompactReport {
  FileCounts before;
  FileCounts after;               // dry run: as before
  std::int64_t inlined_rows = 0;  // kept in PostgreSQL; flushed, or (dry run) to be flushed
  std::int64_t files_rewritten = 0;
  std::int64_t files_merged = 0;
  std::vector<std::string> removed_objects;  // addresses; dry run: those due now
};

// Flushes inlined rows of the table, applies its deletes to its files, merges small neighbours. The
// engine's call timeout is for all of it. kNotFound: there is no such table. A dry run changes
// nothing; what rewriting and merging would do it does not say.
Result<CompactReport> compact_table(Lake& lake, const TableToCompact& target,
                                    const CompactOptions& options);

// Expires the snapshots of the list that are there; DuckLake never expires the newest. Answers
// which ones it did (dry run: would), ascending. At most 100,000.
Result<std::vector<SnapshotId>> expire_snapshots(Lake& lake, std::span<const SnapshotId> snapshots,
                                                 Upkeep mode);

// The same on a session in which the lake is attached under kLakeName; `metadata_schema` is where
// its tables are.
Result<CompactReport> compact_table(Session& session, const std::string& metadata_schema,
                                    const TableToCompact& target, const CompactOptions& options);
Result<std::vector<SnapshotId>> expire_snapshots(Session& session,
                                                 std::span<const SnapshotId> snapshots,
                                                 Upkeep mode);

}  // namespace duckicelake::engine
