// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

// The rows of DuckLake's metadata tables as values (DuckLake specification 1.0, "Tables"). A row is
// live at snapshot s when begin_snapshot <= s and (end_snapshot is absent or end_snapshot > s).
namespace duckicelake::ducklake {

struct Lifetime {
  SnapshotId begin;
  std::optional<SnapshotId> end;

  bool live_at(SnapshotId s) const { return begin <= s && (!end || s < *end); }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

struct SnapshotRow {
  SnapshotId id;
  std::int64_t time_micros = 0;  // since the Unix epoch, UTC
  std::int64_t next_file_id = 0;
  std::string changes_made;  // empty when NULL
  std::string author;
  std::string commit_message;
};

struct TableRow {
  TableId table_id;
  std::string uuid;
  Lifetime life;
  SchemaId schema_id;
  std::string schema_name;
  std::string name;
  std::string path;  // the table's folder as an absolute URI ending in '/'
};

struct ColumnRow {
  FieldId column_id;
  Lifetime life;
  std::int64_t order = 0;
  std::string name;
  std::string type;  // DuckLake's type name: "int32", "decimal(9,2)", "struct", "list", "map", …
  std::optional<std::string> initial_default;
  std::optional<std::string> default_value;
  std::string default_value_type;  // "literal" | "expression" | ""
  bool nulls_allowed = true;
  std::optional<FieldId> parent;
};

struct ColumnTagRow {
  FieldId column_id;
  Lifetime life;
  std::string key;
  std::optional<std::string> value;
};

struct PartitionColumn {
  std::int64_t key_index = 0;
  FieldId column_id;
  std::string transform;  // "identity", "year", "bucket(4)", …
  friend bool operator==(const PartitionColumn&, const PartitionColumn&) = default;
};

struct PartitionInfo {
  std::int64_t partition_id = 0;
  Lifetime life;
  std::vector<PartitionColumn> columns;  // by key_index; empty after RESET PARTITIONED BY
};

struct SortExpression {
  std::string expression;
  std::string direction;   // ASC | DESC
  std::string null_order;  // NULLS_FIRST | NULLS_LAST
};

struct SortInfo {
  std::int64_t sort_id = 0;
  Lifetime life;
  std::vector<SortExpression> expressions;
};

struct ColumnStats {
  FieldId column_id;
  std::optional<std::int64_t> column_size_bytes;
  std::optional<std::int64_t> value_count;  // NULLs not counted
  std::optional<std::int64_t> null_count;
  std::optional<std::string> min_value;
  std::optional<std::string> max_value;
  std::optional<bool> contains_nan;
  std::optional<std::string> extra_stats;
};

struct DataFileRow {
  DataFileId id;
  Lifetime life;
  std::string path;  // absolute URI
  std::string format;
  std::int64_t record_count = 0;  // before deletes
  std::int64_t file_size_bytes = 0;
  std::optional<std::int64_t> row_id_start;
  std::optional<std::int64_t> partition_id;
  std::optional<std::int64_t> mapping_id;
  // Set when rows of several snapshots are in one file: rows of snapshots above s are not visible
  // at s.
  std::optional<SnapshotId> partial_max;
  bool is_encrypted = false;
  std::vector<ColumnStats> stats;
  std::map<std::int64_t, std::optional<std::string>> partition_values;  // by key_index
};

struct DeleteFileRow {
  DeleteFileId id;
  DataFileId data_file_id;
  Lifetime life;
  std::string path;    // absolute URI
  std::string format;  // "parquet" | "puffin" (a bare deletion-vector blob)
  std::int64_t delete_count = 0;
  std::int64_t file_size_bytes = 0;
  std::optional<SnapshotId> partial_max;
};

// A row of ducklake_inlined_delete_<table>: the row at `position` of a data file, deleted at
// `begin`.
struct InlinedDelete {
  DataFileId data_file_id;
  std::int64_t position = 0;
  SnapshotId begin;
};

// A row kept inside PostgreSQL (ducklake_inlined_data_<table>_<schema_version>), without its cells.
struct InlinedRow {
  std::int64_t row_id = 0;
  Lifetime life;
};

struct InlinedTable {
  std::string name;  // of the PostgreSQL table
  std::int64_t schema_version = 0;
};

struct NameMappingRow {
  std::int64_t mapping_id = 0;
  std::int64_t column_id = 0;  // within the mapping
  std::string source_name;
  FieldId target_field_id;
  std::optional<std::int64_t> parent_column;
  bool is_partition = false;

  friend bool operator==(const NameMappingRow&, const NameMappingRow&) = default;
};

// A row of ducklake_table_column_stats: bounds that hold for every live file. A column without a
// row has no known bounds, and stays so.
struct TableColumnStats {
  FieldId column_id;
  std::optional<bool> contains_null;
  std::optional<bool> contains_nan;
  std::optional<std::string> min_value;
  std::optional<std::string> max_value;
};

struct TableStats {
  std::int64_t record_count = 0;
  std::int64_t next_row_id = 0;
  std::map<std::int32_t, std::optional<std::string>>
      max_values;  // by column id; only where a row exists
};

}  // namespace duckicelake::ducklake
