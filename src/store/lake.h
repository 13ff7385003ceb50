// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/connection.h"
#include "pg/sql.h"

namespace duckicelake::store {

// One DuckLake as this process sees it: which PostgreSQL schema holds its ducklake_* tables and
// under which catalog id the sidecar keeps its rows. Immutable.
struct Lake {
  std::string catalog_id;  // the {prefix} of its routes
  pg::SqlIdent metadata_schema;
  std::string data_path;       // s3://bucket/prefix/ ending in '/'
  std::string format_version;  // "1.0" or "0.4"
};

// Beside DATA_PATH, for files that only Iceberg metadata names: "s3://bucket/prefix-iceberg/" and
// the catalog's id, ending in '/'.
std::string iceberg_only_root(const Lake& lake);

// Reads data_path, version and encryption from ducklake_metadata.
// kUnsupported: a format version that this project does not know, an encrypted lake, a DATA_PATH
// that is not on S3. kNotFound: the schema holds no DuckLake.
Result<Lake> open_lake(pg::Connection& connection, std::string catalog_id,
                       pg::SqlIdent metadata_schema);

// What decides whether anything may have changed.
struct LakeHead {
  SnapshotId snapshot;  // the newest DuckLake snapshot
  std::int64_t revision =
      0;                    // raised by expire, cleanup and sidecar changes, which take no snapshot
  std::int64_t access = 0;  // raised by changes of clients, roles and grants (store/access.h)
  std::int64_t catalogs = 0;      // raised by changes of the registry (store/registry.h)
  std::int64_t registration = 0;  // of this catalog, there; 0: it is not, or not open
  friend bool operator==(const LakeHead&, const LakeHead&) = default;
};

// One round trip, index lookups only.
pg::Statement head_statement(const Lake& lake);
Result<LakeHead> read_head(const pg::ResultSet& rows);
Result<LakeHead> load_head(pg::Connection& connection, const Lake& lake);

struct ChangesRow {
  SnapshotId snapshot;
  std::string changes_made;
};
// The changes of the snapshots after `after`, ascending, at most `limit`.
pg::Statement changes_statement(const Lake& lake, SnapshotId after, std::int64_t limit);
Result<std::vector<ChangesRow>> read_changes(const pg::ResultSet& rows);
Result<std::vector<ChangesRow>> load_changes(pg::Connection& connection, const Lake& lake,
                                             SnapshotId after, std::int64_t limit);

// A table's rows in the catalog tables (not its files), all versions.
struct TableDefinition {
  ducklake::TableRow table;  // the live row
  SnapshotId first_begin;    // of the table's first row (renames make further rows)
  std::vector<ducklake::ColumnRow> columns;
  std::vector<ducklake::ColumnTagRow> column_tags;
  std::optional<std::string> comment;
  std::vector<ducklake::PartitionInfo> partitions;
  std::vector<ducklake::SortInfo> sorts;
  std::optional<ducklake::TableStats> stats;
  std::vector<ducklake::NameMappingRow> name_mappings;
  std::vector<ducklake::InlinedTable> inlined_tables;
  bool has_inlined_deletes = false;  // ducklake_inlined_delete_<id> exists
};
// One round trip (a pipeline). nullopt: the table is not live.
Result<std::optional<TableDefinition>> load_table_definition(pg::Connection& connection,
                                                             const Lake& lake, TableId table);

// The `stats` member alone.
std::array<pg::Statement, 2> stats_statements(const Lake& lake, TableId table);
Result<std::optional<ducklake::TableStats>> read_stats(const pg::ResultSet& totals,
                                                       const pg::ResultSet& columns);

// Snapshot rows by id, ascending; ids that do not exist are left out.
Result<std::vector<ducklake::SnapshotRow>> load_snapshots(pg::Connection& connection,
                                                          const Lake& lake,
                                                          const std::vector<std::int64_t>& ids);
pg::Statement snapshots_statement(const Lake& lake, const std::vector<std::int64_t>& ids);
// The oldest snapshot with an id of at least `at_least`.
Result<std::optional<ducklake::SnapshotRow>> load_snapshot_from(pg::Connection& connection,
                                                                const Lake& lake,
                                                                SnapshotId at_least);

}  // namespace duckicelake::store
