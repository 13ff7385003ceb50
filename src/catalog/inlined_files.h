// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include "translate/timeline.h"

// Rows that DuckLake keeps inside PostgreSQL, shown to Iceberg readers as Parquet files of our own:
// one for the rows that one snapshot inserted into one inlined table. Such a file never changes;
// rows that are deleted later are hidden by position. Row ids and snapshots are embedded, as in
// files that DuckLake flushes itself.
namespace duckicelake::catalog {

// The inlined rows of a table, grouped by the snapshot that inserted them.
struct InlinedGroup {
  ducklake::InlinedTable table;
  SnapshotId begin;
  std::vector<ducklake::InlinedRow> rows;  // by row id
};
std::vector<InlinedGroup> group_inlined_rows(const ducklake::InlinedTable& table,
                                             std::vector<ducklake::InlinedRow> rows);

// What of the file is hidden when: rows that ended, and rows of the file that PostgreSQL no longer
// has (they ended before every snapshot that is left).
std::vector<translate::HiddenRun> hidden_rows(const store::InlinedFile& file,
                                              const InlinedGroup& group);

// The snapshot from which no row of the group is visible; translate::kNever while one is.
std::int64_t end_of(const InlinedGroup& group);

// Writes the group's file and records it in the sidecar. Runs inside the projection's transaction.
// kUnsupported when a column cannot be cast from PostgreSQL's text; kCorruptData when table and
// columns disagree.
Result<store::InlinedFile> synthesize(pg::Connection& connection, const store::Lake& lake,
                                      const store::TableDefinition& definition,
                                      const InlinedGroup& group, const TablePlaces& places,
                                      const std::string& unique, objstore::ObjectStore& objects,
                                      DataEngine& engine);

// The file in the form of a DuckLake data file, for making its manifest entry.
Result<ducklake::DataFileRow> as_data_file(const store::InlinedFile& file);

}  // namespace duckicelake::catalog
