// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "iceberg/snapshot.h"
#include "iceberg/table_metadata.h"
#include "manifest/manifest.h"
#include "objstore/object_store.h"

// What a snapshot that a client made changes, read from its manifest list and new manifests. All of
// it is hostile input: bounded, and checked against the snapshot it claims to follow.
namespace duckicelake::catalog {

struct AddedDataFiles {
  manifest::ManifestHeader header;  // schema and spec that type the partition tuples
  std::vector<manifest::ManifestEntry> entries;
};

struct SnapshotDelta {
  std::vector<AddedDataFiles> added;          // one for each manifest that adds data files
  std::vector<manifest::DataFile> removed;    // data files
  std::vector<AddedDataFiles> added_deletes;  // delete files, likewise
  std::vector<manifest::DataFile> removed_deletes;
  // Rows that equality deletes take out of data files; by path, ascending positions.
  std::map<std::string, std::vector<std::int64_t>> equal_positions;
  // Data files whose deleted rows are set, whatever they were: by path, ascending positions.
  std::map<std::string, std::vector<std::int64_t>> set_positions;
  // Of added files: the row id that their rows had before, by path.
  std::map<std::string, std::int64_t> kept_row_ids;

  std::int64_t added_files() const;
  std::int64_t added_rows() const;
  bool changes_files() const {
    return !added.empty() || !removed.empty() || !added_deletes.empty() ||
           !removed_deletes.empty() || !set_positions.empty();
  }
};

// The places that a table's files may lie in.
struct PathRules {
  std::vector<std::string> allowed_prefixes;  // absolute URIs ending in '/'
  // Paths without a scheme, for files that do not exist: Iceberg's own catalog tests use such.
  bool allows_bare_paths = false;
  // Prefixes for delete files alone: clients put them beside the data file whose rows they delete.
  std::vector<std::string> delete_prefixes = {};
};
// kInvalidArgument for a path that the rules do not allow.
Status check_path(const PathRules& rules, const std::string& path);

struct DeltaInput {
  const iceberg::Snapshot& snapshot;               // as the client sent it
  std::span<const manifest::ManifestFile> parent;  // manifests of the snapshot before it
  const iceberg::TableMetadata& metadata;          // specs and schemas that are known
  const PathRules& paths;
};
// Also gives the client's whole list, which the next snapshot of the same commit follows.
struct ReadSnapshot {
  SnapshotDelta delta;
  std::vector<manifest::ManifestFile> manifests;
};
// kInvalidArgument: a list or manifest that is missing, malformed, of another table or spec, or
// whose counts contradict its entries; a list that is not the parent's with the changes that it
// names; a file that is named twice; a path that is not allowed; a format other than Parquet.
Result<ReadSnapshot> read_client_snapshot(objstore::ObjectStore& objects, const DeltaInput& input);

}  // namespace duckicelake::catalog
