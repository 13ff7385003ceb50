// SPDX-License-Identifier: Apache-2.0
#include "engine/footer_stats.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/parquet_tree.h"

namespace duckicelake::engine {
namespace {

using catalog::ColumnStats;
using catalog::FooterStats;

constexpr const char* kFooter = "dil_footer";
constexpr std::size_t kMaxBoundBytes = 1024;

struct WantedLeaf {
  FieldId field_id;
  const ParquetNode* node = nullptr;
};

Result<std::vector<WantedLeaf>> wanted_leaves(const FileReference& file, const ParquetTree& tree,
                                              std::span<const FieldId> ids) {
  std::vector<WantedLeaf> out;
  for (FieldId id : ids) {
    DIL_TRY(const ParquetNode* node, tree.find(file, id.value));
    if (node != nullptr && node->leaf_number) out.push_back({id, node});
  }
  return out;
}

struct FileFacts {
  FooterStats stats;
  std::vector<bool> is_ordered;  // by leaf: the order of min_value and max_value is the type's own
};

Result<FileFacts> read_file_facts(Session& session, const FileReference& file) {
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows,
          session.query("SELECT num_rows::BIGINT, file_size_bytes::BIGINT, footer_size::BIGINT, "
                        "array_to_string(list_transform(column_orders, lambda o: CASE WHEN o LIKE "
                        "'%TypeDefinedOrder%' THEN 't' ELSE '-' END), '') "
                        "FROM parquet_file_metadata($1)",
                        parameters, reading(file)));
  DIL_TRY(const bool has_row, rows.next());
  const auto is_count = [&](std::size_t column) {
    return !rows.is_null(column) && rows.int64(column) >= 0;
  };
  if (!has_row || !is_count(0) || !is_count(1) || !is_count(2)) {
    return corrupt(file, "its footer has no counts");
  }
  FileFacts facts{.stats = {.record_count = rows.int64(0),
                            .file_size = rows.int64(1),
                            .footer_size = rows.int64(2),
                            .columns = {}},
                  .is_ordered = {}};
  if (rows.is_null(3)) return facts;
  for (char c : rows.text(3)) facts.is_ordered.push_back(c == 't');
  return facts;
}

// The type whose order the bounds of a leaf have and in which they are compared; empty: no bounds.
std::string bound_type(const ParquetNode& leaf) {
  constexpr std::array<std::string_view, 20> kOrdered = {
      "BOOLEAN", "TINYINT",   "SMALLINT",     "INTEGER",
      "BIGINT",  "UTINYINT",  "USMALLINT",    "UINTEGER",
      "UBIGINT", "FLOAT",     "DOUBLE",       "DATE",
      "TIME",    "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
      "UUID",    "BLOB",      "VARCHAR",      "TIMESTAMP_MS"};
  if (leaf.physical_type == "INT96") return {};  // writers do not agree on its order
  if (leaf.duckdb_type == "JSON") return "VARCHAR";
  if (leaf.duckdb_type.starts_with("DECIMAL(")) return leaf.duckdb_type;
  const bool is_known =
      std::find(kOrdered.begin(), kOrdered.end(), leaf.duckdb_type) != kOrdered.end();
  return is_known ? leaf.duckdb_type : std::string();
}

// Bytes may be cut by the writer, so the footer must say that they are not. A decimal is never cut:
// that would change its value.
bool may_be_cut(const ParquetNode& leaf) {
  return leaf.physical_type.ends_with("BYTE_ARRAY") && !leaf.duckdb_type.starts_with("DECIMAL(");
}

// One bound over all row groups, as DuckLake writes it.
std::string bound_sql(const ParquetNode& leaf, const std::string& type, std::string_view which) {
  const std::string value = fmt::format("{}(CAST(stats_{}_value AS {}))", which, which, type);
  std::string text = value + "::VARCHAR";
  if (type == "BLOB") text = fmt::format("hex({})", value);
  if (type == "BOOLEAN") text = fmt::format("CAST({}::INTEGER AS VARCHAR)", value);
  const std::string is_whole =
      may_be_cut(leaf) ? fmt::format("{}_is_exact IS NOT DISTINCT FROM true", which) : "true";
  // A row group whose values are all null has no bounds and needs none.
  return fmt::format(
      "CASE WHEN coalesce(bool_and(num_values IS NOT DISTINCT FROM stats_null_count OR "
      "(stats_{0}_value IS NOT NULL AND {1})), false) THEN {2} END",
      which, is_whole, text);
}

Status stage_footer(Session& session, const FileReference& file,
                    std::span<const WantedLeaf> leaves) {
  std::string numbers;
  for (const WantedLeaf& leaf : leaves) {
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", *leaf.node->leaf_number);
  }
  const Parameter parameters[] = {file.path};
  return session.execute(
      fmt::format("CREATE OR REPLACE TEMP TABLE {} AS SELECT column_id, num_values, "
                  "stats_null_count, stats_min_value, stats_max_value, min_is_exact, max_is_exact, "
                  "total_compressed_size FROM parquet_metadata($1) WHERE column_id IN ({})",
                  kFooter, numbers),
      parameters, reading(file));
}

ColumnStats empty_stats(FieldId id) {
  return {.field_id = id,
          .column_size_bytes = {},
          .value_count = {},
          .null_count = {},
          .min_value = {},
          .max_value = {},
          .contains_nan = {}};
}

bool is_usable(const std::optional<std::string>& bound) {
  return bound && bound->size() <= kMaxBoundBytes && *bound != "nan" && *bound != "-nan";
}

Result<ColumnStats> leaf_stats(Session& session, const FileReference& file, const WantedLeaf& leaf,
                               const FileFacts& facts) {
  const auto number = static_cast<std::size_t>(*leaf.node->leaf_number);
  const bool is_ordered = number < facts.is_ordered.size() && facts.is_ordered[number];
  const std::string type =
      is_ordered && !leaf.node->is_below_repeated ? bound_type(*leaf.node) : std::string();
  const std::string min = type.empty() ? "NULL::VARCHAR" : bound_sql(*leaf.node, type, "min");
  const std::string max = type.empty() ? "NULL::VARCHAR" : bound_sql(*leaf.node, type, "max");
  const std::string in_order = type.empty() ? "true"
                                            : fmt::format(
                                                  "coalesce(min(CAST(stats_min_value AS {0})) <= "
                                                  "max(CAST(stats_max_value AS {0})), true)",
                                                  type);
  const std::string sql = fmt::format(
      "SELECT sum(total_compressed_size)::BIGINT, sum(num_values)::BIGINT, CASE WHEN "
      "bool_and(stats_null_count IS NOT NULL) THEN sum(stats_null_count)::BIGINT END, "
      "coalesce(bool_and(num_values >= coalesce(stats_null_count, 0) AND "
      "coalesce(stats_null_count, 0) >= 0), true), {}, {}, {} FROM {} WHERE column_id = {}",
      in_order, min, max, kFooter, number);
  DIL_TRY(Rows rows, session.query(sql, {}, reading(file)));
  DIL_TRY(const bool has_row, rows.next());
  ColumnStats stats = empty_stats(leaf.field_id);
  if (!has_row || rows.is_null(0)) return stats;  // no row groups
  stats.column_size_bytes = std::max<std::int64_t>(rows.int64(0), 0);
  if (leaf.node->is_below_repeated) return stats;
  if (rows.is_null(1) || !rows.boolean(3) || rows.int64(1) != facts.stats.record_count) {
    return corrupt(
        file, fmt::format("the counts of column {} contradict each other", leaf.field_id.value));
  }
  if (!rows.is_null(2)) {
    stats.null_count = rows.int64(2);
    stats.value_count = rows.int64(1) - rows.int64(2);
  }
  std::optional<std::string> lower = rows.optional_text(5);
  std::optional<std::string> upper = rows.optional_text(6);
  if (!rows.boolean(4)) return stats;  // a broken writer's bounds
  if (is_usable(lower)) stats.min_value = std::move(lower);
  if (is_usable(upper)) stats.max_value = std::move(upper);
  return stats;
}

}  // namespace

Result<FooterStats> read_footer_stats(Session& session, const FileReference& file,
                                      std::span<const FieldId> leaves) {
  DIL_TRY(FileFacts facts, read_file_facts(session, file));
  if (leaves.empty()) return std::move(facts.stats);
  DIL_TRY(const ParquetTree tree, load_parquet_tree(session, file));
  DIL_TRY(const std::vector<WantedLeaf> wanted, wanted_leaves(file, tree, leaves));
  if (wanted.empty()) return std::move(facts.stats);
  DIL_CHECK_OK(stage_footer(session, file, wanted));
  for (const WantedLeaf& leaf : wanted) {
    DIL_TRY(ColumnStats stats, leaf_stats(session, file, leaf, facts));
    facts.stats.columns.push_back(std::move(stats));
  }
  DIL_CHECK_OK(session.execute(fmt::format("DROP TABLE {}", kFooter), {}, reading(file)));
  return std::move(facts.stats);
}

Result<std::int64_t> count_nans(Session& session, const FileReference& file, FieldId column) {
  DIL_TRY(const ParquetTree tree, load_parquet_tree(session, file));
  DIL_TRY(const ParquetNode* node, tree.find(file, column.value));
  if (node == nullptr) return 0;
  if (node->duckdb_type != "FLOAT" && node->duckdb_type != "DOUBLE") {
    return make_error(Code::kCorruptData, "{}: column {} is not floating point", file.uri,
                      column.value);
  }
  DIL_TRY(const std::string value, tree.value_sql(file, *node));
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows,
          session.query(fmt::format("SELECT count(*) FILTER (isnan({})) FROM read_parquet($1, {})",
                                    value, kReadOptions),
                        parameters, reading(file)));
  DIL_TRY(const bool has_row, rows.next());
  if (!has_row) return corrupt(file, "no count");
  return rows.int64(0);
}

}  // namespace duckicelake::engine
