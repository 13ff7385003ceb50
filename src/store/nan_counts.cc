// SPDX-License-Identifier: Apache-2.0
#include "store/nan_counts.h"

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kTryLead =
    "SELECT pg_try_advisory_lock(hashtextextended('duckicelake nan ' || $1, 0))";
constexpr Sql kTryLeadShared =
    "SELECT pg_try_advisory_lock(hashtextextended('duckicelake nan of all', 0))";

constexpr Sql kNextFiles =
    "WITH done AS (SELECT coalesce(max(through_file), -1) AS id FROM duckicelake.nan_progress "
    "WHERE catalog_id = $1) "
    "SELECT done.id, coalesce(max(f.data_file_id), done.id), count(f.data_file_id) FROM done "
    "LEFT JOIN LATERAL (SELECT data_file_id FROM {schema}.ducklake_data_file "
    "WHERE data_file_id > done.id ORDER BY data_file_id LIMIT $2) f ON true GROUP BY done.id";
// Ids are given in the order of commits, so that none appears below one that was seen.
constexpr Sql kUncounted =
    "SELECT f.data_file_id, coalesce(s.path, ''), coalesce(s.path_is_relative, true), "
    "coalesce(t.path, ''), coalesce(t.path_is_relative, true), f.path, "
    "coalesce(f.path_is_relative, true), c.column_id "
    "FROM {schema}.ducklake_data_file f "
    "JOIN {schema}.ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL "
    "JOIN {schema}.ducklake_schema s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL "
    "JOIN {schema}.ducklake_file_column_stats c ON c.table_id = f.table_id "
    "AND c.data_file_id = f.data_file_id AND c.contains_nan IS NULL AND c.null_count IS NOT NULL "
    "WHERE f.data_file_id > $1 AND f.data_file_id <= $2 AND f.end_snapshot IS NULL "
    "AND f.mapping_id IS NULL AND f.encryption_key IS NULL "
    "AND coalesce(f.file_format, 'parquet') = 'parquet' "
    "AND EXISTS (SELECT FROM {schema}.ducklake_column k WHERE k.table_id = f.table_id "
    "AND k.column_id = c.column_id AND k.end_snapshot IS NULL "
    "AND k.column_type IN ('float32', 'float64')) ORDER BY f.data_file_id, c.column_id";

constexpr Sql kPass =
    "INSERT INTO duckicelake.nan_progress (catalog_id, through_file) VALUES ($1, $2) "
    "ON CONFLICT (catalog_id) DO UPDATE SET through_file = "
    "greatest(nan_progress.through_file, excluded.through_file)";
constexpr Sql kSave =
    "WITH counted AS (SELECT c, n FROM unnest($3::bigint[], $4::bigint[]) AS u(c, n)), "
    "kept AS (INSERT INTO duckicelake.nan_count (catalog_id, data_file_id, column_id, nan_count) "
    "SELECT $1, $2, c, n FROM counted ON CONFLICT DO NOTHING), "
    "passed AS (INSERT INTO duckicelake.nan_progress (catalog_id, through_file) VALUES ($1, $2) "
    "ON CONFLICT (catalog_id) DO UPDATE SET through_file = "
    "greatest(nan_progress.through_file, excluded.through_file)) "
    "UPDATE {schema}.ducklake_file_column_stats s SET contains_nan = n > 0 FROM counted, "
    "{schema}.ducklake_data_file f WHERE f.data_file_id = $2 AND s.table_id = f.table_id "
    "AND s.data_file_id = $2 AND s.column_id = c AND s.contains_nan IS NULL";
constexpr Sql kCounts =
    "SELECT data_file_id, column_id, nan_count FROM duckicelake.nan_count WHERE catalog_id = $1 "
    "AND data_file_id = ANY($2) ORDER BY data_file_id, column_id";

Statement in_schema(const Lake& lake, const Sql& sql, std::vector<Param> values) {
  return Statement{pg::sql_for_schema(lake.metadata_schema, sql), std::move(values)};
}

}  // namespace

Result<bool> try_lead_nans(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kTryLead, {lake.metadata_schema.name()}}));
  return rows.row(0).boolean(0);
}

Result<bool> try_lead_shared_nans(pg::Connection& connection) {
  DIL_TRY(pg::ResultSet rows, connection.exec(kTryLeadShared));
  return rows.row(0).boolean(0);
}

Result<UncountedFiles> load_uncounted_files(pg::Connection& connection, const Lake& lake,
                                            std::int64_t limit) {
  UncountedFiles out;
  DIL_TRY(pg::ResultSet next,
          connection.exec(in_schema(lake, kNextFiles, {lake.catalog_id, limit})));
  RowReader range(next.row(0));
  const std::int64_t done = range.int64();
  out.through = range.int64();
  const std::int64_t count = range.int64();
  DIL_CHECK_OK(range.status());
  out.is_last = count < limit;
  if (count == 0) return out;
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kUncounted, {done, out.through})));
  for (pg::Row row : rows) {
    RowReader in(row);
    const std::int64_t id = in.int64();
    std::string uri = lake.data_path;
    for (int level = 0; level < 3; ++level) {
      const std::string path = in.text();
      uri = join_path(uri, path, in.boolean());
    }
    const FieldId column(static_cast<std::int32_t>(in.int64()));
    DIL_CHECK_OK(in.status());
    if (out.files.empty() || out.files.back().data_file_id != id) {
      out.files.push_back({id, std::move(uri), {}});
    }
    out.files.back().columns.push_back(column);
  }
  return out;
}

Status save_nan_counts(pg::Connection& connection, const Lake& lake, std::int64_t data_file_id,
                       std::span<const NanCount> counts) {
  std::vector<std::int64_t> columns, values;
  for (const NanCount& item : counts) {
    columns.push_back(item.column.value);
    values.push_back(item.count);
  }
  DIL_TRY(auto done,
          connection.exec(in_schema(lake, kSave,
                                    {lake.catalog_id, data_file_id, Param::int64_array(columns),
                                     Param::int64_array(values)})));
  (void)done;
  return {};
}

Status pass_files(pg::Connection& connection, const Lake& lake, std::int64_t through) {
  DIL_TRY(auto done, connection.exec(Statement{kPass, {lake.catalog_id, through}}));
  (void)done;
  return {};
}

Result<std::map<std::int64_t, std::vector<NanCount>>> load_nan_counts(
    pg::Connection& connection, const Lake& lake, std::span<const std::int64_t> data_file_ids) {
  std::map<std::int64_t, std::vector<NanCount>> out;
  if (data_file_ids.empty()) return out;
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{
                                  kCounts, {lake.catalog_id, Param::int64_array(data_file_ids)}}));
  for (pg::Row row : rows) {
    RowReader in(row);
    const std::int64_t file = in.int64();
    const FieldId column(static_cast<std::int32_t>(in.int64()));
    out[file].push_back({column, in.int64()});
    DIL_CHECK_OK(in.status());
  }
  return out;
}

}  // namespace duckicelake::store
