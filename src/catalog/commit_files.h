// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "catalog/commit_delta.h"
#include "catalog/commit_footers.h"
#include "catalog/data_engine.h"
#include "catalog/table_places.h"
#include "store/commit_rows.h"
#include "store/commit_sidecar.h"
#include "store/sidecar.h"
#include "store/table_files.h"
#include "store/used_paths.h"

// The file changes of the snapshots that one commit adds to a table's main branch: first prepared
// (objects are read and written, nothing is visible), then written as rows inside the transaction.
namespace duckicelake::catalog {

struct FileWorld {
  pg::Connection& connection;
  const store::Lake& lake;
  const store::TableDefinition& definition;  // as of the view that the commit was checked against
  const TablePlaces& places;
  objstore::ObjectStore& objects;
  DataEngine& engine;
  const iceberg::TableMetadata& metadata;  // as the commit leaves it
  const CommitFooters& footers;            // of what the commit adds
};

// Everything of one snapshot, ready to be written.
struct PreparedFiles {
  struct Added {
    const manifest::DataFile* file = nullptr;
    const translate::FileFacts* facts = nullptr;  // of its footer, if it was read
    std::int32_t spec_id = 0;
    std::optional<std::int64_t> row_id_start;  // of rows that had ids before; else new ones
    std::optional<std::size_t> mapping;        // of `mappings`: its columns are found by name
  };
  struct Deletes {
    // Of a file that the same commit adds the id is known only inside the transaction.
    std::optional<DataFileId> data_file;
    std::string data_path;
    std::optional<std::int64_t> replaces;       // a live delete file of the table
    bool replaces_own = false;                  // one that an earlier snapshot of this commit wrote
    std::optional<objstore::PutObject> object;  // absent: the deletes end without successor
    std::string path;
    std::int64_t count = 0;
    std::int64_t footer_size = 0;
  };
  struct InlinedEnd {
    std::string table;
    SnapshotId begin;
    std::vector<std::int64_t> row_ids;
  };
  bool ends_everything = false;  // before anything is added
  std::vector<Added> added;
  std::vector<std::vector<ducklake::NameMappingRow>> mappings;
  std::vector<const AddedDataFiles*> manifests;  // that `added` are from, in their order
  std::vector<std::int64_t> ended;               // data file ids
  std::vector<std::string> ended_own;            // paths of files that this commit added before
  std::vector<Deletes> deletes;
  std::vector<InlinedEnd> inlined_ends;
  bool changes_rows = false;  // anything of the above

  std::int64_t file_ids() const {
    return static_cast<std::int64_t>(mappings.size() + added.size() + deletes.size());
  }
  std::int64_t rows() const;
};

// Prepares the snapshots of one commit in order. Holds what earlier ones change.
class FilePreparer {
 public:
  explicit FilePreparer(const FileWorld& world) : world_(world) {}

  // `delta` must outlive the result. kInvalidArgument: a removed file that is not live, an added
  // one whose path was used before, deletes of a file that is not part of the table; kUnsupported:
  // deletes that DuckLake cannot take back.
  struct Mode {
    bool ends_everything = false;  // before anything is added
    bool revives_files = false;    // files of a dropped table may come back
  };
  Result<PreparedFiles> prepare(const SnapshotDelta& delta, const Mode& mode);

 private:
  struct Target;  // a data file with the rows that are deleted in it

  Status load_targets(const SnapshotDelta& delta);
  Status take_removed(const SnapshotDelta& delta, PreparedFiles& out);
  Status take_added(const SnapshotDelta& delta, bool revives_files, PreparedFiles& out);
  Status map_columns(PreparedFiles& out);
  Status read_new_positions(const SnapshotDelta& delta);
  Status read_positions(const manifest::DataFile& file);
  Status write_deletes(PreparedFiles& out);
  Status load_old_positions();
  Status end_inlined(const store::InlinedFile& file, std::vector<std::int64_t> positions,
                     PreparedFiles& out);

  const FileWorld& world_;
  std::unordered_map<std::string, store::LiveFile> live_;        // by path
  std::unordered_map<std::string, store::InlinedFile> inlined_;  // by path
  bool has_loaded_inlined_ = false;
  std::unordered_map<std::string, const manifest::DataFile*> own_;  // added by this commit
  std::unordered_map<std::string, std::vector<std::int64_t>> own_positions_;
  std::unordered_map<std::string, bool> is_removed_;
  // Of the snapshot at hand.
  std::map<std::string, std::vector<std::int64_t>> new_positions_;
  std::unordered_map<std::string, bool> drops_old_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> old_positions_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> inlined_positions_;
};

// What the definition is inside the transaction, for filing data files.
struct FilingRules {
  const iceberg::Schema& schema;
  std::span<const iceberg::PartitionSpec> specs;
  // The live DuckLake partitioning and the spec that it stands for.
  std::optional<std::int64_t> partition_id;
  std::int32_t partition_spec = -1;
  std::span<const FieldId> hidden;  // columns that Iceberg does not show
};

// Writes one prepared snapshot. `next_file_id` is the first of its reserved ids. `own_ids` carries
// the ids of files that the commit added, by path, from one snapshot to the next. `statistics` are
// the table's, read in this transaction, or absent; they are used up.
struct OwnIds {
  std::unordered_map<std::string, std::int64_t> data;
  std::unordered_map<std::string, std::int64_t> deletes;  // by data path
};
Status write_files(pg::Transaction& transaction, const store::Lake& lake,
                   const ducklake::TableRow& table, const PreparedFiles& files,
                   const FilingRules& rules, SnapshotId snapshot, std::int64_t next_file_id,
                   std::span<const ducklake::InlinedTable> inlined, OwnIds& own_ids,
                   std::optional<store::TableStatistics>& statistics);

}  // namespace duckicelake::catalog
