// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"

namespace duckicelake::engine {

// SQL text for a column of a Parquet file to write, built from its tree, never from text of a
// caller: type names come from a fixed list and names are quoted.

// The DuckDB type to cast to. kInvalidArgument for a type that is not one of DuckLake's or a tree
// whose children do not match it; kUnsupported for VARIANT.
Result<std::string> type_sql(const catalog::ParquetColumn& column);

// The value of this column's key in COPY's FIELD_IDS: 5 or {__duckdb_field_id: 5, 'child': 6}.
std::string field_id_sql(const catalog::ParquetColumn& column);
// "'name': <field_id_sql>".
std::string field_id_entry(const catalog::ParquetColumn& column);

struct LeafColumn {
  std::string statistics_key;  // as COPY's column_statistics names it: "a"."element"
  FieldId field_id;
};
// The leaves below and including `column`, depth first.
std::vector<LeafColumn> leaves_of(const catalog::ParquetColumn& column);

// Statistics in the form that DuckLake stores: value_count without NULLs, NaN outside min and max.
// Counts of a leaf for which DuckDB's writer keeps no statistics (timetz, interval: it says 0
// values) are left out.
catalog::ColumnStats to_column_stats(
    FieldId field_id, const std::vector<std::pair<std::string, std::string>>& statistics,
    std::int64_t record_count);

}  // namespace duckicelake::engine
