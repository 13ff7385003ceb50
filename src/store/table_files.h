// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/connection.h"
#include "store/lake.h"

namespace duckicelake::store {

// Which of a table's files to read. The ids of data and delete files only grow, so "written since"
// is a range of ids and costs what it returns, whatever else the table holds.
struct FileRange {
  std::int64_t min_file_id = 0;  // data_file_id or delete_file_id of at least this
};

// Data files of the range with their statistics and partition values; live and ended ones. One
// round trip.
Result<std::vector<ducklake::DataFileRow>> load_data_files(pg::Connection& connection,
                                                           const Lake& lake,
                                                           const ducklake::TableRow& table,
                                                           FileRange range);
// The same for given ids.
Result<std::vector<ducklake::DataFileRow>> load_data_files_by_id(pg::Connection& connection,
                                                                 const Lake& lake,
                                                                 const ducklake::TableRow& table,
                                                                 std::span<const std::int64_t> ids);

struct EndedFile {
  DataFileId id;
  SnapshotId begin;
  SnapshotId end;
  std::string path;  // absolute URI
};
// Data files with an id below `below_file_id` that ended after `after`.
Result<std::vector<EndedFile>> load_ended_files(pg::Connection& connection, const Lake& lake,
                                                const ducklake::TableRow& table, SnapshotId after,
                                                std::int64_t below_file_id);

// Delete files of the range; live and ended ones, whose data file still has a row.
Result<std::vector<ducklake::DeleteFileRow>> load_delete_files(pg::Connection& connection,
                                                               const Lake& lake,
                                                               const ducklake::TableRow& table,
                                                               FileRange range);
// All delete files of the given data files.
Result<std::vector<ducklake::DeleteFileRow>> load_delete_files_of(
    pg::Connection& connection, const Lake& lake, const ducklake::TableRow& table,
    std::span<const std::int64_t> data_files);
// The data files whose delete files ended after `after` although the data file is live.
Result<std::vector<std::int64_t>> load_files_with_ended_deletes(pg::Connection& connection,
                                                                const Lake& lake, TableId table,
                                                                SnapshotId after);

// ducklake_inlined_delete_<table>, which must exist. All rows, or those of given data files.
Result<std::vector<ducklake::InlinedDelete>> load_inlined_deletes(
    pg::Connection& connection, const Lake& lake, TableId table,
    std::optional<std::span<const std::int64_t>> data_files);

// Row ids and lifetimes of the rows of one inlined table, by begin_snapshot then row_id.
Result<std::vector<ducklake::InlinedRow>> load_inlined_rows(pg::Connection& connection,
                                                            const Lake& lake,
                                                            const ducklake::InlinedTable& table);

// The smallest begin_snapshot of a data file or inlined row of the table that is live now; nullopt:
// it is empty.
Result<std::optional<SnapshotId>> load_oldest_live(pg::Connection& connection, const Lake& lake,
                                                   TableId table,
                                                   std::span<const ducklake::InlinedTable> inlined);

// What load_oldest_live, load_data_files and load_delete_files (of `next_file_id` on),
// load_ended_files (below it) and load_files_with_ended_deletes ask for, to be read ahead.
Result<std::vector<pg::Statement>> changed_files_statements(
    const Lake& lake, TableId table, std::span<const ducklake::InlinedTable> inlined,
    SnapshotId after, std::int64_t next_file_id);

struct InlinedCells {
  std::vector<std::string>
      column_names;  // of the PostgreSQL table, without row_id, begin_ and end_snapshot
  std::vector<bool> is_bytea;
  std::vector<std::int64_t> row_ids;
  std::vector<std::vector<std::optional<std::string>>> rows;  // text; bytea as hex without prefix
};
// The rows of an inlined table that snapshot `begin` inserted, by row_id.
Result<InlinedCells> load_inlined_cells(pg::Connection& connection, const Lake& lake,
                                        const ducklake::InlinedTable& table, SnapshotId begin);

}  // namespace duckicelake::store
