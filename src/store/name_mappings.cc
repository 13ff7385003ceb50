// SPDX-License-Identifier: Apache-2.0
#include "store/name_mappings.h"

#include <string>
#include <vector>

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::Sql;
using pg::Statement;

constexpr std::int64_t kNone = -1;

constexpr Sql kInsertMapping =
    "INSERT INTO {schema}.ducklake_column_mapping (mapping_id, table_id, type) "
    "VALUES ($1, $2, 'map_by_name')";
constexpr Sql kInsertColumns =
    "INSERT INTO {schema}.ducklake_name_mapping (mapping_id, column_id, source_name, "
    "target_field_id, parent_column, is_partition) SELECT $1, c, n, t, nullif(p, -1), h = 1 "
    "FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) "
    "AS u(c, n, t, p, h)";

}  // namespace

Status insert_name_mapping(pg::Transaction& transaction, const Lake& lake, TableId table,
                           std::int64_t mapping_id,
                           std::span<const ducklake::NameMappingRow> rows) {
  std::vector<std::int64_t> columns, targets, parents, partitions;
  std::vector<std::string> names;
  for (const ducklake::NameMappingRow& row : rows) {
    columns.push_back(row.column_id);
    names.push_back(row.source_name);
    targets.push_back(row.target_field_id.value);
    parents.push_back(row.parent_column.value_or(kNone));
    partitions.push_back(row.is_partition ? 1 : 0);
  }
  const std::vector<Statement> statements = {
      {.sql = pg::sql_for_schema(lake.metadata_schema, kInsertMapping),
       .params = {mapping_id, table}},
      {.sql = pg::sql_for_schema(lake.metadata_schema, kInsertColumns),
       .params = {mapping_id, Param::int64_array(columns), Param::text_array(names),
                  Param::int64_array(targets), Param::int64_array(parents),
                  Param::int64_array(partitions)}}};
  DIL_TRY(std::vector<pg::ResultSet> done, transaction.batch(statements));
  (void)done;
  return {};
}

}  // namespace duckicelake::store
