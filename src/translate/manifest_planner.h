// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "iceberg/schema.h"
#include "iceberg/snapshot.h"
#include "manifest/manifest.h"

// Plans the manifests and the manifest list of one snapshot from those of the snapshot before it,
// so that a snapshot of k changed files costs O(k) entries and one list, whatever the table's size.
// Pure: what must be read comes through a callback, what must be written is returned.
namespace duckicelake::translate {

// A data file's identity inside one table: ducklake_data_file.data_file_id, or a negative number
// for a file that holds rows which DuckLake keeps inside PostgreSQL.
using FileKey = std::int64_t;

// A manifest of the newest snapshot, with the range of file keys that its entries lie in (for
// delete manifests: of the data files that they refer to). The range may be wider than the entries,
// never narrower.
struct HeadManifest {
  manifest::ManifestFile file;
  FileKey min_key = 0;
  FileKey max_key = 0;

  std::int64_t live_files() const { return file.added_files_count + file.existing_files_count; }
  friend bool operator==(const HeadManifest&, const HeadManifest&) = default;
};

struct Totals {
  std::int64_t data_files = 0;
  std::int64_t records = 0;
  std::int64_t files_size = 0;
  std::int64_t delete_files = 0;
  std::int64_t position_deletes = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

// The state after the newest planned snapshot.
struct HeadState {
  std::vector<HeadManifest> manifests;  // oldest first
  Totals totals;
  std::int64_t next_row_id = 0;
  friend bool operator==(const HeadState&, const HeadState&) = default;
};

struct AddedFile {
  FileKey key = 0;
  std::int32_t spec_id = 0;
  // The DuckLake snapshot whose rows these are: the entry's data sequence number.
  std::int64_t data_sequence_number = 0;
  manifest::DataFile file;
  // For a list that is made anew: the snapshot that added the file, when it is an earlier one
  // (status EXISTING).
  std::optional<std::int64_t> existing_since;
};

struct RemovedFile {
  FileKey key = 0;
  std::string path;
};

// The delete file (v2) or deletion vector (v3) of a data file from this snapshot on; it replaces
// the one before.
struct DeleteChange {
  FileKey key = 0;
  std::string data_file_path;
  std::int32_t spec_id = 0;
  std::optional<manifest::DataFile> now;  // nullopt: the data file has no deletes any more
  std::optional<std::int64_t> existing_since;
};

struct SnapshotChange {
  std::int64_t snapshot_id = 0;  // also the sequence number
  std::optional<std::int64_t> parent_id;
  std::int64_t timestamp_ms = 0;
  std::int32_t schema_id = 0;
  bool is_compaction = false;  // same rows, other files: operation "replace"
  std::vector<AddedFile> added;
  std::vector<RemovedFile> removed;
  std::vector<DeleteChange> deletes;
  std::map<std::string, std::string> summary_extra;
};

// Reads a manifest that an earlier plan made. The entries come with inheritance applied.
using ManifestReader = std::function<Result<std::shared_ptr<const manifest::DecodedManifest>>(
    const manifest::ManifestFile&)>;

struct PlanContext {
  int format_version = 2;
  const iceberg::Schema* schema = nullptr;                     // current
  const std::vector<iceberg::Schema>* schemas = nullptr;       // all, oldest first
  const std::vector<iceberg::PartitionSpec>* specs = nullptr;  // all
  std::string metadata_folder;                                 // absolute URI ending in '/'
  std::string unique;                                          // distinguishes names of attempts
  ManifestReader read;
};

struct NewObject {
  std::string uri;
  std::string bytes;
  // Set for manifests: what `read` would answer for it, so that the next plan need not fetch it.
  std::shared_ptr<const manifest::DecodedManifest> decoded;
};

struct PlannedSnapshot {
  iceberg::Snapshot snapshot;
  std::vector<NewObject> objects;  // manifests, then the manifest list
  HeadState head;
};

// kCorruptData when a removed file is in no manifest of `head`: the state does not fit the table
// and must be made anew. Other errors are those of `read` and of encoding.
Result<PlannedSnapshot> plan_snapshot(const HeadState& head, SnapshotChange change,
                                      const PlanContext& context);

// Largest number of entries of one manifest; more are split.
inline constexpr std::size_t kMaxManifestEntries = 8192;
// How many manifests of one size class (a power of this number) stand side by side before they are
// merged.
inline constexpr std::int64_t kMergeFanOut = 8;

}  // namespace duckicelake::translate
