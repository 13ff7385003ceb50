// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ducklake/rows.h"
#include "iceberg/schema.h"
#include "manifest/manifest.h"
#include "translate/spec_history.h"

// What a client's manifest entries become in DuckLake's statistics.
namespace duckicelake::translate {

// A row for each leaf of the schema of which the entry knows anything. A bound that DuckLake's text
// cannot hold is left out.
std::vector<ducklake::ColumnStats> file_stats(const manifest::DataFile& file,
                                              const iceberg::Schema& schema);

struct MergedStats {
  std::vector<ducklake::TableColumnStats> changed;
  std::vector<std::int64_t> forgotten;  // columns of which nothing is known any more
};
// The table's statistics after `added` joined it. `current` may lack columns: they stay unknown,
// unless the table is_empty (had no rows ever). Bounds of strings and binary values may be cut by
// the client, and a cut bound must not become the table's: such columns are forgotten, as are those
// whose bounds a file leaves out. `hidden`: columns of DuckLake that Iceberg does not show; in the
// new files they are null.
MergedStats merge_table_stats(std::span<const ducklake::TableColumnStats> current, bool is_empty,
                              const iceberg::Schema& schema, std::span<const FieldId> hidden,
                              std::span<const manifest::DataFile* const> added);

// The partition values of a file under the DuckLake partitioning that stands for `spec`, by key
// index; nullopt when one of them cannot be said (the file is filed without a partition then).
std::optional<std::vector<std::optional<std::string>>> partition_texts(
    const manifest::DataFile& file, const iceberg::PartitionSpec& spec,
    const iceberg::Schema& schema);

// The DuckLake partitioning that files rows exactly as `spec` does; nullopt when there is none:
// truncate and void, bucket on types that DuckLake hashes otherwise. `types`: DuckLake's types of
// the columns.
std::optional<std::vector<ducklake::PartitionColumn>> native_partitioning(
    const iceberg::PartitionSpec& spec, const iceberg::Schema& schema,
    std::span<const ducklake::ColumnRow> columns);

// The DuckLake sort order of `order`; nullopt when DuckLake has none for it (transforms, nested
// sources).
std::optional<std::vector<ducklake::SortExpression>> native_sort(const iceberg::SortOrder& order,
                                                                 const iceberg::Schema& schema);

}  // namespace duckicelake::translate
