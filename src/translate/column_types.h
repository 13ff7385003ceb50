// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "iceberg/schema.h"

namespace duckicelake::translate {

// Why a DuckLake column is left out of the Iceberg schema (docs/formats/types.md lists the rule for
// each type).
enum class HiddenReason : std::uint8_t {
  kNoIcebergType,        // interval, time_ns, an unknown type name
  kUnreadableByClients,  // uint64: Iceberg Java cannot read it; timetz nested variants, …
  kUnsignedRange,        // uint32 with a value of 2^31 or more, or whose maximum is not known
  kMixedPhysicalType,    // retyped without an Iceberg promotion, and older files are still live
};
std::string_view hidden_reason_text(HiddenReason reason);  // one clause for people

struct HiddenColumn {
  FieldId column_id;
  std::string name;  // dotted
  HiddenReason reason = HiddenReason::kNoIcebergType;
};

// A DuckLake type name of a leaf ("int32", "decimal(9,2)", "timestamp_ns", …; not struct, list,
// map) as an Iceberg type; nullopt when there is none. Case-insensitive. Never fails on hostile
// text.
std::optional<iceberg::Type> leaf_type(std::string_view ducklake_type);

// The DuckDB type text of a leaf for casting cells ("INTEGER", "DECIMAL(9,2)", "VARCHAR"); nullopt
// if unknown.
std::optional<std::string> duckdb_leaf_type(std::string_view ducklake_type);

// Everything that shapes a table's schemas.
struct SchemaInput {
  std::span<const ducklake::ColumnRow> columns;  // all versions, live and ended
  std::span<const ducklake::ColumnTagRow> tags;  // all versions
  SnapshotId table_begin;                        // of the table's first row
  // Table-wide maxima by column id in stats text; a uint32 column without one is hidden unless the
  // table is empty.
  const ducklake::TableStats* stats = nullptr;  // nullptr: the table never had rows
  // The smallest begin_snapshot of a data file (or inlined row) that is live now; nullopt: none.
  std::optional<SnapshotId> oldest_live_file;
};

struct BuiltSchema {
  iceberg::Schema schema;  // schema_id 0; the caller numbers it
  std::vector<HiddenColumn> hidden;
  bool needs_v3 = false;  // a type, or a default for rows that were there before the column
};

// The schema at snapshot `s`: fields in column_order then id, docs from tag "comment", `required`
// for NOT NULL top-level columns only (and map keys), initial-default for columns that were added
// later with a literal default, write-default for literal defaults. A struct, list or map all of
// whose children are hidden is hidden. kCorruptData when the rows contradict themselves (a parent
// that does not exist, a cycle, duplicate ids).
Result<BuiltSchema> build_schema_at(const SchemaInput& input, SnapshotId s);

// Ascending snapshots at which the columns or their comments change (candidates for new schema
// ids).
std::vector<SnapshotId> schema_change_points(const SchemaInput& input);

}  // namespace duckicelake::translate
