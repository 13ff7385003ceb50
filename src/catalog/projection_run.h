// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/delete_writer.h"
#include "catalog/file_loader.h"
#include "catalog/projection.h"
#include "pg/transaction.h"
#include "store/commit_sidecar.h"
#include "translate/column_change.h"
#include "translate/column_types.h"

namespace duckicelake::catalog {

// One projection of one table, under its lock. Used once, then thrown away.
class ProjectionRun {
 public:
  enum class From { kSidecar, kNothing };
  ProjectionRun(Projector& owner, pg::Connection& connection, TableId table,
                std::shared_ptr<const TableView> previous, From from = From::kSidecar);

  Result<std::shared_ptr<const TableView>> run(const OwnRows* own = nullptr);

 private:
  struct ChainItem {
    std::int64_t id = 0;
    bool is_compaction = false;
  };

  Result<std::shared_ptr<const TableView>> finish(pg::Transaction& transaction);

  // projection_load.cc: what is there, and what was published.
  Status load();
  // After a commit of our own; false: more than that happened, and everything has to be read.
  Result<bool> load_after(const OwnRows& own);
  Status read_ahead(pg::Transaction& transaction, const OwnRows& own);
  Status load_stored(std::optional<store::StateTag> tag);
  Status start_anew();
  Status load_chain();
  Status load_maintenance();

  // projection_schema.cc: the parts of the document that depend on the definition alone.
  Status build_definition();
  Status build_schemas();
  Status build_specs();
  Status build_sort_orders(const iceberg::Schema& current);
  std::int32_t unpartitioned_spec();
  Status load_client_snapshots();
  Status build_properties(const std::vector<translate::HiddenColumn>& hidden);
  std::int32_t register_schema(iceberg::Schema schema);
  const iceberg::Schema* current_schema() const;  // nullptr: there is none yet
  std::int32_t schema_id_at(std::int64_t snapshot) const;

  // projection_snapshots.cc: the new snapshots.
  Status plan_chain();
  Status drop_expired_from_chain();
  Status plan_step(const ChainItem& item, const translate::TimelineStep& step,
                   const std::vector<ChainFile>& files);
  // Everything that is live at a snapshot, as a change from nothing.
  Result<translate::SnapshotChange> full_change(std::int64_t snapshot,
                                                const std::vector<ChainFile>& files);
  Result<std::string> take_client_facts(const store::ClientSnapshot& client,
                                        translate::SnapshotChange& change);
  Result<translate::SnapshotChange> step_change(std::int64_t snapshot,
                                                const translate::TimelineStep& step,
                                                const std::vector<ChainFile>& files);
  // Published snapshots whose files DuckLake's cleanup removed: made anew from what DuckLake shows
  // at them, or hidden.
  Status rebuild_gone();
  struct PendingDeletes {
    std::vector<FileDeletes> deletes;
    std::vector<const ChainFile*> files;  // in parallel
  };
  Status write_delete_changes(PendingDeletes pending, translate::SnapshotChange& change);
  Status take_objects(std::vector<translate::NewObject> objects);
  translate::PlanContext plan_context();
  FileLoaderContext loader_context();
  Status flush_objects();

  // projection_publish.cc: the new metadata version.
  Status publish(pg::Transaction& transaction);
  Status publish_side_snapshots(pg::Transaction& transaction);
  void drop_dead_refs();
  Result<std::string> write_metadata();
  void write_version_hint();

  Projector& owner_;
  pg::Connection& connection_;
  const TableId table_;
  std::shared_ptr<const TableView> previous_;
  const From from_;
  const std::string unique_;  // in the names of this run's objects

  store::LakeHead head_;
  store::TableDefinition definition_;
  TablePlaces places_;
  std::map<std::string, std::string> stored_properties_;
  ProjectionState state_;
  bool is_first_ = true;
  bool is_unpublished_ = true;    // no metadata file names the table yet
  std::string old_document_;      // to see whether the definition changed
  std::vector<ChainItem> chain_;  // snapshots to publish
  std::map<std::int64_t, ducklake::SnapshotRow>
      snapshot_rows_;  // of the chain, as far as they are alive
  std::vector<store::RetiredFile> retired_;
  std::vector<std::int64_t> expired_;  // published, and expired since
  std::vector<std::pair<std::int64_t, std::int32_t>>
      schema_points_;  // snapshot -> schema id from there on
  translate::SpecHistory specs_;
  std::map<std::int64_t, store::ClientSnapshot> client_snapshots_;  // by DuckLake snapshot
  std::vector<objstore::PutObject> objects_;                        // waiting to be stored
  std::size_t object_bytes_ = 0;
  std::map<std::int64_t, std::vector<std::int64_t>>
      deletes_before_;                 // by file key: hidden at the step before
  std::vector<std::int64_t> changed_;  // snapshots whose record is new or differs
  bool is_changed_ = false;
};

}  // namespace duckicelake::catalog
