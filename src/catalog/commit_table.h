// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "catalog/commit_delta.h"
#include "catalog/commit_files.h"
#include "catalog/commit_footers.h"
#include "catalog/live_set.h"
#include "catalog/table_view.h"
#include "ducklake/changes.h"
#include "iceberg/requirement.h"
#include "iceberg/table_update.h"
#include "iceberg/update_apply.h"
#include "store/commit_sidecar.h"
#include "store/side_files.h"
#include "store/slot.h"
#include "translate/column_change.h"

// One table's part of a commit: what its updates come to, planned against a view of the table that
// is current, and then written inside the transaction.
namespace duckicelake::catalog {

// What does not depend on the commit.
struct CommitDeps {
  const store::Lake& lake;
  objstore::ObjectStore& objects;
  DataEngine& engine;
  bool allows_bare_paths = false;
  std::vector<std::string> extra_prefixes;  // places beside a table's own that its files may lie in
};

// The files that a registered table begins with.
struct RegisteredFiles {
  std::int64_t snapshot_id = 0;  // as the metadata calls it
  std::map<std::string, std::string> summary;
  SnapshotDelta delta;
};
// All that the newest snapshot of `metadata` shows; nullptr when it has none. kInvalidArgument when
// its files cannot be read.
Result<std::shared_ptr<const RegisteredFiles>> read_registered_files(
    const CommitDeps& deps, const iceberg::TableMetadata& metadata);

// A table that does not exist yet.
struct NewTablePlace {
  SchemaId schema;
  std::string schema_name;
  std::string schema_path;  // absolute URI ending in '/'
  std::string name;
  bool is_name_used = false;  // a table of this name was there before: its folder is not used again
};

// Where a table goes when the client leaves it to the server: a folder that none had before.
std::string new_table_location(const NewTablePlace& place, const std::string& uuid);

class TableWork {
 public:
  // `view` is null and `place` set for a table that the commit creates. `definition`: DuckLake's
  // rows as they are at `view`; null: they have to be read. All must outlive it.
  TableWork(const CommitDeps& deps, pg::Connection& connection,
            std::shared_ptr<const TableView> view, std::optional<NewTablePlace> place,
            std::shared_ptr<const store::TableDefinition> definition = nullptr);

  // Reads what is needed and works everything out; objects that the rows will name are in
  // `objects()` afterwards. kCommitFailed: a requirement does not hold.
  // `registered`: files that the new table begins with, may be null; must outlive the work.
  Status plan(const std::vector<iceberg::Requirement>& requirements,
              const std::vector<iceberg::TableUpdate>& updates,
              const RegisteredFiles* registered = nullptr);

  bool is_new() const { return place_.has_value(); }
  TableId table_id() const { return table_id_; }
  const iceberg::TableMetadata& metadata() const { return metadata_; }
  const std::shared_ptr<const TableView>& view() const { return view_; }
  // The commit was made before, by the same client with the same snapshot.
  bool is_repeated() const { return is_repeated_; }

  // What the transaction reserves: one slot, or more when several snapshots reach main.
  std::size_t slots() const;
  store::SlotNeeds needs(std::size_t slot) const;
  bool changes_anything() const;
  // To a table that exists: its statistics change with them.
  bool adds_files() const;
  // Not even the Iceberg side of the definition, nor refs.
  bool changes_rows_only() const { return changes_rows_only_; }
  // DuckLake's rows as they were before the commit.
  std::shared_ptr<const store::TableDefinition> definition() const;
  const std::vector<objstore::PutObject>& objects() const { return objects_; }

  // The table's statistics as the transaction read them before `write`, which else does so itself.
  void give_statistics(store::TableStatistics statistics) { statistics_ = std::move(statistics); }
  // Writes this table's rows. `slots` are those that were reserved for it, in order. Appends this
  // table's words, by slot.
  Status write(pg::Transaction& transaction, const std::vector<store::Slot>& slots,
               std::vector<std::vector<ducklake::Change>>& words);

 private:
  // A snapshot that reaches main.
  struct MainStep {
    std::optional<iceberg::Snapshot> client;  // as the client sent it; absent: made by the server
    std::map<std::string, std::string> summary;
    std::optional<std::int64_t> moved_id;  // a published side snapshot that becomes this one
    std::optional<std::int64_t> shown_id;  // by which updates that follow call it
    bool starts_anew = false;              // has no parent
    bool revives_files = false;            // that were part of a dropped table
    bool ends_everything = false;
    SnapshotDelta delta;
    PreparedFiles files;
    std::vector<manifest::ManifestFile> manifests;  // the client's list
  };
  // A snapshot of another branch, or a staged one.
  struct SideStep {
    iceberg::Snapshot client;
    std::optional<std::int64_t> parent_id;
    std::int64_t added_rows = 0;
    std::vector<store::SideFile> files;  // that it adds
  };
  struct Pending {
    iceberg::Snapshot snapshot;
    ReadSnapshot read;
    bool is_placed = false;  // on main or beside it
  };

  // commit_table.cc
  Status load();
  Status check(const std::vector<iceberg::Requirement>& requirements);
  Status apply(const iceberg::TableUpdate& update);
  Status add_snapshot(const iceberg::Snapshot& snapshot);
  Status set_ref(const iceberg::SetSnapshotRef& update);
  Status set_main(std::int64_t id);
  Status place_on_main(std::int64_t id);
  Status remove_ref(const std::string& name);
  Status remove_snapshots(const std::vector<std::int64_t>& ids);
  Status finish_side_snapshots();
  Status check_final_state();
  Status place_new_table();
  Result<std::int64_t> resolve_id(std::int64_t id) const;
  std::optional<std::int64_t> current_main() const;
  const iceberg::Schema& current_schema() const;
  PathRules path_rules() const;

  // commit_history.cc: main becomes what another snapshot is.
  Status roll_back_to(std::int64_t id);
  Status fast_forward(std::vector<const SnapshotRecord*> chain);
  Status restore_file(const manifest::ManifestEntry& entry, const manifest::ManifestHeader& header,
                      std::vector<std::int64_t> positions, SnapshotDelta& delta);

  // commit_equality.cc: equality deletes become positions, which is all that DuckLake has.
  Status resolve_equality_deletes();
  Status match_equality_deletes(MainStep& step, const LiveSet& live);

  // commit_definition.cc
  Status plan_definition();
  Status plan_partitioning(const std::vector<ducklake::ColumnRow>& columns);
  Status plan_sort_order();
  Status write_definition(pg::Transaction& transaction, const store::Slot& slot,
                          std::vector<ducklake::Change>& words);
  Status write_new_table(pg::Transaction& transaction, const store::Slot& slot,
                         std::vector<ducklake::Change>& words);
  Status write_state(pg::Transaction& transaction, const std::vector<store::Slot>& slots);
  Status write_snapshots(pg::Transaction& transaction, const std::vector<store::Slot>& slots,
                         std::vector<std::vector<ducklake::Change>>& words);

  const CommitDeps& deps_;
  pg::Connection& connection_;
  const std::shared_ptr<const TableView> view_;
  const std::optional<NewTablePlace> place_;
  const std::shared_ptr<const store::TableDefinition> known_definition_;
  TableId table_id_;

  store::TableDefinition definition_;
  TablePlaces places_;
  iceberg::TableMetadata before_;    // without snapshots; refs filled, main included
  iceberg::TableMetadata metadata_;  // as the updates make it
  iceberg::ApplyState apply_state_;
  std::map<std::string, iceberg::SnapshotRef> refs_;  // but for main
  std::map<std::string, std::string> stored_properties_;
  // Ids that clients chose, of snapshots of main: published under another one.
  std::unordered_map<std::int64_t, std::int64_t> aliases_;
  bool is_repeated_ = false;
  bool changes_rows_only_ = false;  // known once written

  std::map<std::int64_t, Pending> pending_;  // by the client's id
  std::vector<std::int64_t> pending_order_;
  std::vector<MainStep> steps_;
  std::vector<SideStep> side_;
  bool clears_main_ = false;      // the next main snapshot starts anew
  bool main_is_cleared_ = false;  // and none followed yet
  std::unordered_set<std::int64_t> removed_;
  std::optional<CommitFooters> footers_;
  std::optional<FileWorld> world_;
  std::optional<FilePreparer> preparer_;
  std::optional<store::TableStatistics> statistics_;
  std::vector<objstore::PutObject> objects_;

  // The definition's change.
  translate::ColumnChange columns_;
  bool changes_definition_ = false;  // anything that DuckDB's sessions have to see
  bool changes_columns_ = false;
  std::optional<std::vector<ducklake::PartitionColumn>> partitioning_;  // set it (empty: none)
  std::optional<std::vector<ducklake::SortExpression>> sort_;           // likewise
  bool needs_plain_partitioning_ = false;  // a bucket partitioning has to go
  std::optional<std::optional<std::string>> comment_;
  std::optional<std::string> new_location_;
  std::vector<FieldId> hidden_;
  std::int64_t partition_id_ = -1;    // live after the commit, -1: none
  std::int32_t partition_spec_ = -1;  // the spec that it stands for
  std::int64_t sort_id_ = -1;
  ducklake::TableRow table_row_;  // as it is inside the transaction
};

}  // namespace duckicelake::catalog
