// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/transaction.h"
#include "store/lake.h"
#include "store/slot.h"

// Rows of ducklake_* that a commit writes, inside its transaction and after it took its slot. Rows
// of the past are never changed but for their end.
namespace duckicelake::store {

// --- files

// A data file that is live now, found by its path.
struct LiveFile {
  DataFileId id;
  SnapshotId begin;
  std::string path;  // absolute URI
  std::int64_t record_count = 0;
  std::optional<std::int64_t> live_delete_file;
  std::int64_t live_delete_count = 0;
};
// The live ones of `paths` (absolute URIs), in no order.
Result<std::vector<LiveFile>> find_live_files(pg::Connection& connection, const Lake& lake,
                                              const ducklake::TableRow& table,
                                              std::span<const std::string> paths);

struct NewDataFile {
  std::int64_t id = 0;
  std::string path;  // absolute URI; kept relative when it lies below the table's folder
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
  std::int64_t row_id_start = 0;
  std::optional<std::int64_t> partition_id;
  std::vector<std::optional<std::string>>
      partition_values;  // by key index; empty without partition
  std::optional<std::int64_t> mapping_id;
  std::vector<ducklake::ColumnStats> stats;
};
Status insert_data_files(pg::Transaction& transaction, const Lake& lake,
                         const ducklake::TableRow& table, SnapshotId snapshot,
                         std::span<const NewDataFile> files);
// kCommitFailed when one of them is not live any more. Their live delete files end with them.
Status end_data_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                      SnapshotId snapshot, std::span<const std::int64_t> ids);
// All live data files of the table, and rows that are kept inside PostgreSQL.
Status end_all_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                     SnapshotId snapshot, std::span<const ducklake::InlinedTable> inlined);

struct NewDeleteFile {
  std::int64_t id = 0;
  DataFileId data_file;
  std::optional<std::int64_t> replaces;  // the live delete file that it takes in
  std::string path;                      // absolute URI
  std::int64_t delete_count = 0;
  std::int64_t file_size_bytes = 0;
  std::int64_t footer_size = 0;
};
// kCommitFailed when the live delete file is not the one that is to be replaced.
Status insert_delete_file(pg::Transaction& transaction, const Lake& lake,
                          const ducklake::TableRow& table, SnapshotId snapshot,
                          const NewDeleteFile& file);
// Ends the live delete file without a successor: its rows come back.
Status end_delete_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                        SnapshotId snapshot, std::span<const std::int64_t> delete_file_ids);

// Ends rows that are kept inside PostgreSQL. kCommitFailed when one of them has ended already.
Status end_inlined_rows(pg::Transaction& transaction, const Lake& lake, const std::string& table,
                        SnapshotId begin, SnapshotId snapshot,
                        std::span<const std::int64_t> row_ids);

// --- statistics

struct TableTotals {
  std::int64_t record_count = 0;
  std::int64_t next_row_id = 0;
  std::int64_t file_size_bytes = 0;
};
struct TableStatistics {
  std::optional<TableTotals> totals;  // nullopt: the table never had rows
  std::vector<ducklake::TableColumnStats> columns;
};
// In the order of `tables`, in one round trip.
Result<std::vector<TableStatistics>> load_statistics(pg::Transaction& transaction, const Lake& lake,
                                                     std::span<const TableId> tables);
Result<TableStatistics> load_statistics(pg::Transaction& transaction, const Lake& lake,
                                        TableId table);
Status save_totals(pg::Transaction& transaction, const Lake& lake, TableId table,
                   const TableTotals& totals, bool is_first);
// Rows of `columns` replace those of the same columns; rows of `forgotten` go: not known any more.
Status save_column_stats(pg::Transaction& transaction, const Lake& lake, TableId table,
                         std::span<const ducklake::TableColumnStats> columns,
                         std::span<const std::int64_t> forgotten);

// --- definitions

// Where tables of a schema lie; absolute URI ending in '/'.
Result<std::string> load_schema_folder(pg::Connection& connection, const Lake& lake,
                                       SchemaId schema);
// Whether a table, live or dropped, has or had its files in `folder` (absolute, ending in '/').
Result<bool> is_folder_used(pg::Connection& connection, const Lake& lake,
                            const std::string& schema_folder, const std::string& folder);
// Whether `folder` lies in, or holds, the folder of any table. Looks at all tables.
Result<bool> overlaps_tables(pg::Connection& connection, const Lake& lake,
                             const std::string& folder);

struct NewTable {
  TableId id;
  std::string uuid;
  SchemaId schema;
  std::string name;
  std::string path;  // relative to the schema's folder unless `is_absolute`
  bool is_absolute = false;
};
Status insert_table(pg::Transaction& transaction, const Lake& lake, SnapshotId snapshot,
                    const NewTable& table);
// A version of the table's row with another folder; older files keep theirs.
Status change_table_path(pg::Transaction& transaction, const Lake& lake, TableId table,
                         SnapshotId snapshot, const std::string& absolute_path);

Status end_columns(pg::Transaction& transaction, const Lake& lake, TableId table,
                   SnapshotId snapshot, std::span<const std::int64_t> ids);
Status insert_columns(pg::Transaction& transaction, const Lake& lake, TableId table,
                      SnapshotId snapshot, std::span<const ducklake::ColumnRow> rows);
Status end_column_comments(pg::Transaction& transaction, const Lake& lake, TableId table,
                           SnapshotId snapshot, std::span<const std::int64_t> ids);
Status insert_column_comment(pg::Transaction& transaction, const Lake& lake, TableId table,
                             SnapshotId snapshot, FieldId column, const std::string& text);
// nullopt: the table has no comment any more.
Status set_table_comment(pg::Transaction& transaction, const Lake& lake, TableId table,
                         SnapshotId snapshot, const std::optional<std::string>& text);

// Ends the live partitioning and starts another; no columns: the table is not partitioned.
Status set_partitioning(pg::Transaction& transaction, const Lake& lake, TableId table,
                        SnapshotId snapshot, std::int64_t partition_id,
                        std::span<const ducklake::PartitionColumn> columns);
Status set_sort_order(pg::Transaction& transaction, const Lake& lake, TableId table,
                      SnapshotId snapshot, std::int64_t sort_id,
                      std::span<const ducklake::SortExpression> expressions);
// DuckDB looks here for the versions of a table's columns.
Status insert_schema_version(pg::Transaction& transaction, const Lake& lake, TableId table,
                             const Slot& slot);
}  // namespace duckicelake::store
