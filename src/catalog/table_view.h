// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/service.h"
#include "iceberg/table_metadata.h"
#include "store/sidecar.h"
#include "translate/manifest_planner.h"

namespace duckicelake::catalog {

// A published snapshot: what the metadata document and the log need of it.
struct SnapshotRecord {
  std::int64_t id = 0;
  std::optional<std::int64_t> parent_id;
  std::int64_t sequence_number = 0;
  std::int64_t timestamp_ms = 0;
  std::string manifest_list;
  std::string json;  // the Iceberg snapshot object
};

// All that the next projection of a table starts from. Immutable once published.
struct ProjectionState {
  store::TableState stored;               // as in the sidecar
  iceberg::TableMetadata document;        // without snapshots, log, refs and current snapshot
  std::vector<SnapshotRecord> snapshots;  // of main, ascending
  std::vector<SnapshotRecord> side;       // of other branches, and staged ones
  std::map<std::string, iceberg::SnapshotRef> refs;  // but for main
  translate::HeadState head;

  // The current snapshot; nullopt: the table has no rows yet, or was replaced by an empty one.
  std::optional<std::int64_t> main() const;
  const SnapshotRecord* find(std::int64_t id) const;  // of all snapshots
};

// A table as published: the answers to loads, and the state behind them. Immutable but for the
// answers that are made on first need. Shared by all requests.
class TableView {
 public:
  TableView(TableId table, ProjectionState state,
            std::shared_ptr<const store::TableDefinition> definition);

  TableId table_id() const { return table_; }
  // The DuckLake snapshot up to which the table was looked at, and the revision then.
  SnapshotId through() const { return through_; }
  std::int64_t revision() const { return revision_; }
  const ProjectionState& state() const { return state_; }
  // DuckLake's rows for the table at `through()`; never null. Its `stats` may be older.
  const std::shared_ptr<const store::TableDefinition>& definition() const { return definition_; }

  std::shared_ptr<const TableAnswer> answer(SnapshotsMode mode) const;
  // kInvalidArgument when the table has no such snapshot.
  Result<std::shared_ptr<const TableAnswer>> pinned_answer(SnapshotsMode mode,
                                                           std::int64_t snapshot) const;

  // The same view, proved to be current at a later head. `definition`: as read there; null: proved
  // to be the same.
  std::shared_ptr<const TableView> seen_at(
      SnapshotId through, std::int64_t revision,
      std::shared_ptr<const store::TableDefinition> definition = nullptr) const;

 private:
  struct Answers {
    std::mutex mutex;  // guards refs
    std::shared_ptr<const TableAnswer> all;
    std::shared_ptr<const TableAnswer> refs;
  };
  TableId table_;
  std::shared_ptr<const ProjectionState> shared_state_;
  const ProjectionState& state_;
  std::shared_ptr<Answers> answers_;
  std::shared_ptr<const store::TableDefinition> definition_;
  SnapshotId through_;
  std::int64_t revision_ = 0;
};

// The metadata document of a state. `only_refs` leaves out snapshots that no ref names; `pinned`
// moves main.
std::string metadata_document(const ProjectionState& state, SnapshotsMode mode,
                              std::optional<std::int64_t> pinned);

// To and from the sidecar's form.
Result<ProjectionState> decode_state(store::TableState stored,
                                     std::vector<store::PublishedSnapshot> snapshots);
// Fills stored.document, manifests, ranges and totals from the other members.
Status encode_state(ProjectionState& state);
Result<SnapshotRecord> make_record(const iceberg::Snapshot& snapshot);

std::string refs_to_json(const std::map<std::string, iceberg::SnapshotRef>& refs);
Result<std::map<std::string, iceberg::SnapshotRef>> refs_from_json(const std::string& json);

}  // namespace duckicelake::catalog
