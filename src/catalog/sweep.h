// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "catalog/backends.h"

// Removes the objects that nothing names any more: what crashed and replaced commits leave in the
// folders of tables and beside DATA_PATH, and sidecar rows that stand for nothing. Objects of other
// kinds, and those that DuckLake has scheduled for deletion itself, are left alone.
namespace duckicelake::catalog {

struct SweepOptions {
  bool is_dry_run = false;
  std::chrono::seconds grace{86'400};  // younger objects may belong to work under way
  std::size_t max_names = 100;         // of the report
};

struct SweepReport {
  std::int64_t metadata_files = 0;  // metadata, lists, manifests
  std::int64_t iceberg_files = 0;   // beside DATA_PATH: deletes, inlined rows
  std::int64_t data_files = 0;      // below tables' folders
  std::int64_t bytes = 0;
  std::int64_t young = 0;          // unnamed, and within the grace time
  std::vector<std::string> names;  // of objects that went (dry run: would go), the first ones
  std::int64_t side_files = 0;     // rows: files of snapshots beside main that are gone
  std::int64_t inlined_files = 0;  // rows about Parquet of inlined rows
  std::int64_t revived_paths = 0;
  std::int64_t dead_tables = 0;
  std::int64_t committed_files = 0;
  std::int64_t committed_manifests = 0;
};

// A table is locked while objects of its folders are removed, so that no commit through us can name
// one meanwhile. Can be run again at any time, from the start; stops with kDeadlineExceeded.
Result<SweepReport> sweep_orphans(const Backends& backends, const SweepOptions& options,
                                  pg::Deadline until);

}  // namespace duckicelake::catalog
