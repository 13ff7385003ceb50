// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "catalog/table_places.h"
#include "objstore/object_store.h"
#include "store/sidecar.h"
#include "store/table_files.h"
#include "translate/file_entry.h"
#include "translate/timeline.h"

namespace duckicelake::catalog {

// A data file (or a file of inlined rows) as the planning of a chain needs it.
struct ChainFile {
  translate::TimelineFile time;
  translate::FileEntry entry;  // of a file that is only removed: nothing but file_path
  std::int64_t data_sequence_number = 0;
};

// Where the chain starts: after what was published, or from nothing.
struct ChainStart {
  bool is_first = true;
  SnapshotId through{-1};
  std::int64_t next_file_id = 0;
  std::span<const std::int64_t> inlined_keys;   // live in the published head
  std::span<const store::RetiredFile> retired;  // rows that vanished since
};

struct FileLoaderContext {
  pg::Connection& connection;  // inside the projection's transaction
  const store::Lake& lake;
  const store::TableDefinition& definition;
  const TablePlaces& places;
  const iceberg::Schema& schema;
  const translate::SpecHistory& specs;
  translate::ColumnBegins column_begins;
  int format_version = 2;
  std::string unique;
  objstore::ObjectStore& objects;
  DataEngine& engine;
  std::atomic<std::uint64_t>& inlined_files;  // counts the files written
};

// Every file that the snapshots of `chain` add or remove, or whose deleted rows may change in it.
// Reads rows of changed files only (all, when the start is from nothing), and the contents of
// delete files and of partial files as far as the chain needs them. Writes files for inlined rows
// that have none yet. kUnsupported: files in another format than Parquet, or encrypted.
Result<std::vector<ChainFile>> load_chain_files(const FileLoaderContext& context,
                                                const ChainStart& start,
                                                std::span<const std::int64_t> chain);

}  // namespace duckicelake::catalog
