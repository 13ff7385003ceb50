// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ducklake/rows.h"
#include "iceberg/schema.h"
#include "manifest/manifest.h"
#include "translate/footer_facts.h"
#include "translate/spec_history.h"

// What a client's manifest entries become in DuckLake's statistics.
namespace duckicelake::translate {

struct ClientFile {
  const manifest::DataFile* entry = nullptr;
  const FileFacts* facts = nullptr;  // of its footer, which is believed before the entry; or null
};

// A row for each leaf of the schema of which anything is known. A bound that DuckLake's text cannot
// hold is left out.
std::vector<ducklake::ColumnStats> file_stats(const ClientFile& file,
                                              const iceberg::Schema& schema);

struct MergedStats {
  std::vector<ducklake::TableColumnStats> changed;
  std::vector<std::int64_t> forgotten;  // columns of which nothing is known any more
};
// The table's statistics after `added` joined it. `current` may lack columns: they stay unknown,
// unless the table is_empty (had no rows ever). DuckDB answers min and max from the table's bounds,
// so they are values of the column: where a file's are not known to be (see needs_footer), or are
// left out, the column is forgotten. `hidden`: columns of DuckLake that Iceberg does not show; in
// the new files they are null.
MergedStats merge_table_stats(std::span<const ducklake::TableColumnStats> current, bool is_empty,
                              const iceberg::Schema& schema, std::span<const FieldId> hidden,
                              std::span<const ClientFile> added);

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
