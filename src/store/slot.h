// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/lake.h"

// Writing to a DuckLake: one transaction holds one or more new snapshots, each a row of
// ducklake_snapshot (its "slot") with its words in ducklake_snapshot_changes.
namespace duckicelake::store {

// What a snapshot may use up. Ids that stay unused are gaps, which DuckLake does not mind.
struct SlotNeeds {
  // Definitions change (create, alter, drop, rename, comments): open DuckDB sessions look at
  // schema_version to see whether their catalog is out of date.
  bool changes_schema = false;
  std::int64_t catalog_ids = 0;  // tables, schemas, views, partitionings, sort orders
  std::int64_t file_ids = 0;     // data files, delete files, name mappings
  friend bool operator==(const SlotNeeds&, const SlotNeeds&) = default;
};

struct Slot {
  SnapshotId snapshot;
  std::int64_t schema_version = 0;    // from this snapshot on
  std::int64_t first_catalog_id = 0;  // of the ids that are reserved for this snapshot
  std::int64_t first_file_id = 0;
  // The newest of the last few snapshots that was not made by this server; -1: none of them.
  SnapshotId newest_foreign{-1};
};

// Takes the next snapshot of the lake. From here to the end of the transaction no other writer can
// commit to the lake, so requirements are checked after it. The transaction must be READ COMMITTED.
// One file id more than asked for is reserved: DuckDB sessions re-read statistics when
// next_file_id moved. kCommitFailed when other writers won the slot too many times;
// kDeadlineExceeded.
Result<Slot> take_slot(pg::Transaction& transaction, const Lake& lake, const SlotNeeds& needs);

// The snapshots that one transaction makes: the one that it took with `taken_with`, and those after
// it, one for each of `needs`. The first may need something else than it was taken with. Costs no
// round trip. Pre-condition: `needs` is not empty, and nothing was written for `first` yet.
std::vector<Slot> spread_slots(pg::Transaction& transaction, const Lake& lake, const Slot& first,
                               const SlotNeeds& taken_with, std::span<const SlotNeeds> needs);

struct SlotRecord {
  std::string changes_made;  // ducklake::changes_text
  std::string author;
  std::string message;
  std::optional<std::string> extra;  // JSON; absent: a mark that the snapshot is this server's
};
// Once for each slot.
Status record_slot(pg::Transaction& transaction, const Lake& lake, SnapshotId snapshot,
                   const SlotRecord& record);

// For changes that take no DuckLake snapshot (properties, refs): other processes see by it that
// something changed.
Status raise_revision(pg::Transaction& transaction, const Lake& lake);

}  // namespace duckicelake::store
