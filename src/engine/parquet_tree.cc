// SPDX-License-Identifier: Apache-2.0
#include "engine/parquet_tree.h"

#include <algorithm>

#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

constexpr std::size_t kMaxNodes = 100'000;

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string text_or_empty(const Rows& rows, std::size_t column) {
  return rows.is_null(column) ? std::string() : std::string(rows.text(column));
}

// A group on the way from the root to the current row of parquet_schema.
struct OpenGroup {
  std::int64_t missing_children = 0;
  std::optional<std::size_t> node;  // none: the root
};

}  // namespace

Result<ParquetTree> load_parquet_tree(Session& session, const FileReference& file) {
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query("SELECT name::VARCHAR, field_id::BIGINT, num_children::BIGINT, "
                                   "repetition_type::VARCHAR, type::VARCHAR, duckdb_type::VARCHAR "
                                   "FROM parquet_schema($1)",
                                   parameters, reading(file)));
  ParquetTree tree;
  std::vector<OpenGroup> open;
  std::int64_t leaves = 0;
  bool is_root = true;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return tree;
    const std::int64_t children = rows.is_null(2) ? 0 : rows.int64(2);
    if (is_root) {
      open.push_back({children, std::nullopt});
      is_root = false;
      continue;
    }
    while (!open.empty() && open.back().missing_children <= 0) open.pop_back();
    if (open.empty()) return corrupt(file, "its schema is not a tree");
    if (tree.nodes.size() == kMaxNodes) {
      return make_error(Code::kPayloadTooLarge, "{}: more than {} columns", file.uri, kMaxNodes);
    }
    --open.back().missing_children;
    ParquetNode node{.name = text_or_empty(rows, 0),
                     .field_id = rows.is_null(1) ? std::nullopt : std::optional(rows.int64(1)),
                     .parent = open.back().node,
                     .leaf_number = {},
                     .is_below_repeated = text_or_empty(rows, 3) == "REPEATED",
                     .physical_type = text_or_empty(rows, 4),
                     .duckdb_type = text_or_empty(rows, 5)};
    if (node.parent && tree.nodes[*node.parent].is_below_repeated) node.is_below_repeated = true;
    if (!node.physical_type.empty()) node.leaf_number = leaves++;
    if (children > 0) open.push_back({children, tree.nodes.size()});
    tree.nodes.push_back(std::move(node));
  }
}

Result<const ParquetNode*> ParquetTree::find(const FileReference& file,
                                             std::int64_t field_id) const {
  const ParquetNode* found = nullptr;
  for (const ParquetNode& node : nodes) {
    if (node.field_id != field_id) continue;
    if (found != nullptr) {
      return make_error(Code::kCorruptData, "{}: two columns carry the field id {}", file.uri,
                        field_id);
    }
    found = &node;
  }
  return found;
}

Result<const ParquetNode*> ParquetTree::find(const FileReference& file,
                                             std::span<const std::string> path) const {
  const ParquetNode* found = nullptr;
  for (const std::string& name : path) {
    std::optional<std::size_t> parent;
    if (found != nullptr) parent = static_cast<std::size_t>(found - nodes.data());
    const ParquetNode* next = nullptr;
    for (const ParquetNode& node : nodes) {
      if (node.parent != parent || node.name != name) continue;
      if (next != nullptr) return corrupt(file, "two columns carry the same name");
      next = &node;
    }
    if (next == nullptr) return next;
    found = next;
  }
  return found;
}

bool ParquetTree::has_field_ids() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const ParquetNode& node) { return node.field_id.has_value(); });
}

Result<std::string> ParquetTree::value_sql(const FileReference& file,
                                           const ParquetNode& node) const {
  if (node.is_below_repeated) {
    return make_error(Code::kUnsupported, "{}: column {} lies in a list or map", file.uri,
                      node.name);
  }
  std::vector<const ParquetNode*> way;  // from the node up
  for (const ParquetNode* at = &node; at != nullptr;
       at = at->parent ? &nodes[*at->parent] : nullptr) {
    way.push_back(at);
    const auto collides = [&](const ParquetNode& other) {
      return &other != at && other.parent == at->parent &&
             equals_ignoring_case(other.name, at->name);
    };
    if (std::any_of(nodes.begin(), nodes.end(), collides)) {
      return make_error(Code::kCorruptData, "{}: two columns carry the name {}", file.uri,
                        at->name);
    }
  }
  std::string sql = quote_identifier(way.back()->name);
  for (auto at = way.rbegin() + 1; at != way.rend(); ++at) {
    sql = fmt::format("struct_extract({}, {})", sql, quote_literal((*at)->name));
  }
  return sql;
}

std::string cast_sql(const ParquetNode& leaf, std::string_view value, std::string_view type) {
  if (leaf.duckdb_type == "BLOB" && (type == "VARCHAR" || type == "TEXT" || type == "JSON")) {
    return fmt::format("CAST(decode({}) AS {})", value, type);
  }
  if (leaf.duckdb_type == "BLOB" && type == "UUID")
    return fmt::format("CAST(hex({}) AS UUID)", value);
  return fmt::format("CAST({} AS {})", value, type);
}

}  // namespace duckicelake::engine
