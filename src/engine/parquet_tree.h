// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/database.h"
#include "engine/parquet_reader.h"

namespace duckicelake::engine {

// A node of a Parquet file's schema. The root is not a node.
struct ParquetNode {
  std::string name;
  std::optional<std::int64_t> field_id;
  std::optional<std::size_t> parent;        // index into ParquetTree::nodes; none at the top level
  std::optional<std::int64_t> leaf_number;  // parquet_metadata's column_id; none for a group
  bool is_below_repeated = false;           // it or something above it is repeated: list or map
  std::string physical_type;                // "INT32", "BYTE_ARRAY", …; empty for a group
  std::string duckdb_type;                  // what read_parquet makes of a leaf
};

struct ParquetTree {
  std::vector<ParquetNode> nodes;  // depth first

  // nullptr: no node has the id. kCorruptData when several have it.
  Result<const ParquetNode*> find(const FileReference& file, std::int64_t field_id) const;
  // By exact names from the root down; nullptr when there is none.
  Result<const ParquetNode*> find(const FileReference& file,
                                  std::span<const std::string> path) const;
  bool has_field_ids() const;
  // SQL of the node's value in a row of read_parquet. kUnsupported below a list or map;
  // kCorruptData when a name on the way has a sibling that differs by case only, which DuckDB would
  // rename.
  Result<std::string> value_sql(const FileReference& file, const ParquetNode& node) const;
};

// kPayloadTooLarge for a schema of more than 100,000 nodes.
Result<ParquetTree> load_parquet_tree(Session& session, const FileReference& file);

// `value` of a leaf as `type` (a type that type_sql gave). Text and UUIDs that an old writer left
// without their annotation arrive as bytes and are taken as what they are.
std::string cast_sql(const ParquetNode& leaf, std::string_view value, std::string_view type);

}  // namespace duckicelake::engine
