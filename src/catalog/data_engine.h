// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "translate/name_mapping.h"

namespace duckicelake::catalog {

// One deleted row of a data file. `snapshot_id` is the DuckLake snapshot that deleted it, when the
// delete file records it (cumulative and flushed files do: column _ducklake_internal_snapshot_id).
struct DeletedPosition {
  std::int64_t position = 0;  // 0-based row position in the data file
  std::optional<std::int64_t> snapshot_id;
};

// A run of consecutive rows of a partial data file that one DuckLake snapshot wrote.
struct SnapshotRun {
  std::int64_t first_position = 0;
  std::int64_t count = 0;
  std::int64_t snapshot_id = 0;
};

// A column of a Parquet file to write. `duckdb_type` is a DuckDB type text ("BIGINT", "STRUCT(a
// INTEGER)[]"), `field_ids` the Iceberg field id of this node and, depth first in declaration
// order, of its children.
struct ParquetColumn {
  std::string name;
  std::string duckdb_type;
  FieldId field_id;
  std::vector<ParquetColumn> children;  // struct fields; list: one "element"; map: "key", "value"
  bool is_hex_bytes =
      false;  // the cell text is hex of the bytes (for BLOB, and VARCHAR kept as bytea)
};

// A leaf's statistics in DuckLake's text form (see docs/formats), as DuckDB's writer reports them.
struct ColumnStats {
  FieldId field_id;
  std::optional<std::int64_t> column_size_bytes;
  std::optional<std::int64_t> value_count;  // non-null values
  std::optional<std::int64_t> null_count;
  std::optional<std::string> min_value;
  std::optional<std::string> max_value;
  std::optional<bool> contains_nan;
};

struct WrittenParquet {
  std::string bytes;  // the whole file
  std::int64_t record_count = 0;
  std::int64_t footer_size = 0;
  std::vector<ColumnStats> stats;
};

// A column that equality deletes compare (Iceberg spec "Equality Delete Files").
struct EqualityColumn {
  FieldId id;
  std::string name;         // for messages
  std::string duckdb_type;  // the table's type of now; values of older types are cast to it
  // The value in a data file that has no such column, in DuckDB's cast syntax; nullopt = NULL.
  std::optional<std::string> default_text = {};
  // Where the column is in the data file when the file is mapped by names (DuckLake's name
  // mapping): the names from the root down. Empty: it is found by field id.
  std::vector<std::string> mapped_path = {};
};

struct EqualityScan {
  std::string data_file;
  std::vector<std::string> delete_files;
  std::vector<EqualityColumn> columns;
};

// A row of cells as text in DuckDB's cast syntax; nullopt = NULL.
using TextRow = std::vector<std::optional<std::string>>;

// Work on data bytes, done by an embedded DuckDB. Thread-safe; calls block. Errors: kUnavailable
// when the object store is away, kNotFound when the object is gone, kCorruptData when it does not
// parse.
class DataEngine {
 public:
  virtual ~DataEngine() = default;

  // All positions of a DuckLake position-delete Parquet file at `uri`, sorted by position; a
  // position that occurs twice keeps the smaller snapshot id. Column names or either convention of
  // field ids are accepted.
  virtual Result<std::vector<DeletedPosition>> read_position_deletes(const std::string& uri) = 0;

  // The embedded _ducklake_internal_snapshot_id column of a merged or flushed data file, run-length
  // encoded in row order; empty when the file has no such column.
  virtual Result<std::vector<SnapshotRun>> read_row_snapshots(const std::string& uri) = 0;

  // The smallest embedded row id (_ducklake_internal_row_id, field id 2147483540), if the file has
  // the column.
  virtual Result<std::optional<std::int64_t>> read_min_row_id(const std::string& uri) = 0;

  // The nodes of a Parquet file's schema that carry a field id, at any depth, in the file's order.
  struct NamedFieldId {
    std::string name;
    std::int64_t field_id = 0;
  };
  virtual Result<std::vector<NamedFieldId>> read_field_ids(const std::string& uri) = 0;

  // The schema of a Parquet file below its root, depth first.
  virtual Result<std::vector<translate::ParquetNode>> read_schema(const std::string& uri) = 0;

  // A client's position-delete file: the positions of each data file that it names, ascending and
  // without duplicates. Columns are found by Iceberg's field ids, else by name. A path is what the
  // file holds, byte for byte. kPayloadTooLarge above the engine's limits of rows and of path
  // bytes.
  using PositionsByFile = std::map<std::string, std::vector<std::int64_t>>;
  virtual Result<PositionsByFile> read_client_position_deletes(const std::string& uri) = 0;

  // The 0-based positions, ascending, of the rows of the data file whose columns equal a row of one
  // of the delete files. Null equals null and NaN equals NaN; -0.0 and 0.0 differ, as they do where
  // Iceberg's own library compares. Columns may lie in structs, not in lists or maps
  // (kUnsupported). kCorruptData when a delete file lacks a column. kPayloadTooLarge: too many rows
  // to delete by, or matches.
  virtual Result<std::vector<std::int64_t>> find_equality_matches(const EqualityScan& scan) = 0;

  // How many values of each of these columns are NaN, by one scan of them alone. nullopt: the file
  // has no such column of floating point under this field id, or has it in a list or map.
  // kDeadlineExceeded after `limit`.
  virtual Result<std::vector<std::optional<std::int64_t>>> count_nans(
      const std::string& uri, std::span<const FieldId> columns,
      std::chrono::milliseconds limit) = 0;

  // An Iceberg v2 position-delete Parquet file (field ids 2147483546 file_path, 2147483545 pos).
  // `positions` sorted ascending, not empty.
  virtual Result<WrittenParquet> write_position_deletes(
      const std::string& data_file_path, std::span<const std::int64_t> positions) = 0;

  // Rows as a Parquet file with Iceberg field ids plus the two lineage columns (_row_id 2147483540
  // and _last_updated_sequence_number 2147483539 under DuckLake's names). The three spans run in
  // parallel.
  virtual Result<WrittenParquet> write_rows(std::span<const ParquetColumn> columns,
                                            std::span<const TextRow> rows,
                                            std::span<const std::int64_t> row_ids,
                                            std::span<const std::int64_t> snapshot_ids) = 0;

  struct ViewColumn {
    std::string name;
    std::string duckdb_type;
  };
  // The result columns of a DuckDB view's query, bound against the lake as of now. The instance is
  // locked (no external access) and reads PostgreSQL with a read-only transaction. kInvalidArgument
  // if it does not bind.
  virtual Result<std::vector<ViewColumn>> describe_view(const std::string& schema_name,
                                                        const std::string& view_name) = 0;
};

}  // namespace duckicelake::catalog
