// SPDX-License-Identifier: Apache-2.0
#include "engine/nan_count.h"

#include <string>

#include "engine/parquet_tree.h"

namespace duckicelake::engine {

Result<std::vector<std::optional<std::int64_t>>> count_nans(Session& session,
                                                            const FileReference& file,
                                                            std::span<const FieldId> columns) {
  DIL_TRY(const ParquetTree tree, load_parquet_tree(session, file));
  std::vector<std::optional<std::int64_t>> out(columns.size());
  std::vector<std::size_t> counted;  // of `columns`, in the order of the query's
  std::string counts;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    DIL_TRY(const ParquetNode* node, tree.find(file, columns[i].value));
    if (node == nullptr || node->is_below_repeated ||
        (node->duckdb_type != "FLOAT" && node->duckdb_type != "DOUBLE")) {
      continue;
    }
    DIL_TRY(const std::string value, tree.value_sql(file, *node));
    counts += fmt::format("{}count(*) FILTER (isnan({}))", counts.empty() ? "" : ", ", value);
    counted.push_back(i);
  }
  if (counted.empty()) return out;
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows,
          session.query(fmt::format("SELECT {} FROM read_parquet($1, {})", counts, kReadOptions),
                        parameters, reading(file)));
  DIL_TRY(const bool has_row, rows.next());
  if (!has_row) return corrupt(file, "no count");
  for (std::size_t k = 0; k < counted.size(); ++k) out[counted[k]] = rows.int64(k);
  return out;
}

}  // namespace duckicelake::engine
