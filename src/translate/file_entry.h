// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "ducklake/rows.h"
#include "iceberg/schema.h"
#include "manifest/manifest.h"
#include "translate/spec_history.h"

namespace duckicelake::translate {

// The snapshot in which each column (by id) first appeared.
using ColumnBegins = std::unordered_map<std::int32_t, std::int64_t>;
ColumnBegins column_begins(std::span<const ducklake::ColumnRow> columns);

// A data file as a manifest entry's data_file, and the spec that its partition tuple belongs to.
struct FileEntry {
  std::int32_t spec_id = 0;  // kNoSpec: the unpartitioned one, which the table does not have yet
  manifest::DataFile file;
};

// Metrics: column_sizes for all leaves; value_counts = value_count + null_count and
// null_value_counts for leaves that are not below a list or map; nan_value_counts 0 where
// contains_nan is false, omitted where unknown or true (then the upper bound is omitted too: DuckDB
// sorts NaN above every number); bounds exact or omitted. A leaf whose null or value count is
// unknown has no counts and no bounds (case A-39), but a column that was added after the file was
// written counts as all null. Geometry and variant leaves have no bounds.
//
// Partition: identity from the stored value; year/month/day/hour from the UTC minimum and maximum
// of the file's stats and only if both give the same value and there is no null (or all rows are
// null -> null); bucket from the stored value. A file whose tuple cannot be proved right, or with a
// time value before 1970 under month, day or hour (a client computes those wrongly), or NaN, goes
// under the unpartitioned spec with an empty tuple.
//
// `first_row_id` is row_id_start when present. Paths are taken byte for byte.
FileEntry make_file_entry(const ducklake::DataFileRow& row, const iceberg::Schema& schema,
                          const SpecHistory& specs, const ColumnBegins& begins);

// The table's `schema.name-mapping.default` JSON (spec appendix C "Name mapping") as the union over
// all mappings; list children are called "element", map children "key"/"value". Fields without a
// mapping get their own name. kUnsupported when two mappings give one source name at one level to
// different fields. `clients`: the mapping that a client set, may be empty; its names are added
// when it can be read and no name then leads to two fields.
Result<std::string> name_mapping_json(const iceberg::Schema& schema,
                                      std::span<const ducklake::NameMappingRow> rows,
                                      std::string_view clients = {});

}  // namespace duckicelake::translate
