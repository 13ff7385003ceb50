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
#include "manifest/manifest.h"

// Files without field ids: Iceberg finds their columns by the table's property
// "schema.name-mapping.default" (spec, "Column Projection" and appendix C "Name mapping"), DuckLake
// by a mapping of the file, and without one by position.
namespace duckicelake::translate {

// A node of a Parquet file's schema.
struct ParquetNode {
  std::string name;
  std::optional<std::int64_t> field_id;
  std::int64_t children = 0;  // that follow it, each with its own
};

// Columns whose values are in a file's path have ids from here on in the mappings that
// map_by_name makes: such a file lies under a spec that says the values to Iceberg's readers, too.
inline constexpr std::int64_t kFirstPathColumn = 1'000'000;

// The rows of a DuckLake mapping for a file, without mapping_id. `nodes`: its schema below the
// root, depth first. Columns that no name leads to are left out: they read as null. A column that
// the file lacks and its partition tuple says (Hive's layout) is taken from the path, where
// DuckLake looks for `name=value`. kInvalidArgument: the path says something else, or the mapping
// is none.
Result<std::vector<ducklake::NameMappingRow>> map_by_name(std::string_view mapping_json,
                                                          const iceberg::Schema& schema,
                                                          const iceberg::PartitionSpec& spec,
                                                          const manifest::DataFile& file,
                                                          std::span<const ParquetNode> nodes);

}  // namespace duckicelake::translate
