// SPDX-License-Identifier: Apache-2.0
#include "store/side_files.h"

#include <array>

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kList =
    "INSERT INTO duckicelake.side_file (metadata_schema, table_id, path, scheduled_path) "
    "SELECT $1, $2, p, CASE WHEN starts_with(p, $4) THEN substr(p, length($4) + 1) ELSE p END "
    "FROM unnest($3::text[]) AS u(p) ON CONFLICT DO NOTHING";

constexpr Sql kRegister =
    "INSERT INTO {schema}.ducklake_data_file (data_file_id, table_id, begin_snapshot, "
    "end_snapshot, path, path_is_relative, file_format, record_count, file_size_bytes) "
    "SELECT i, $1, -1, -1, p, false, 'parquet', n, s FROM unnest($2::bigint[], $3::text[], "
    "$4::bigint[], $5::bigint[]) AS u(i, p, n, s) WHERE NOT EXISTS (SELECT FROM "
    "{schema}.ducklake_data_file f WHERE f.path = u.p OR (f.table_id = $1 AND starts_with(u.p, $6) "
    "AND f.path = substr(u.p, length($6) + 1)))";

constexpr Sql kListed =
    "SELECT path FROM duckicelake.side_file WHERE metadata_schema = $1 AND table_id = $2 AND path "
    "= ANY($3)";
// The listing goes first: while a file is listed, the triggers put its row back.
constexpr Sql kUnlist =
    "DELETE FROM duckicelake.side_file WHERE metadata_schema = $1 AND path = ANY($2)";
constexpr Sql kUnregister =
    "DELETE FROM {schema}.ducklake_data_file WHERE begin_snapshot = -1 AND end_snapshot = -1 AND "
    "path = ANY($1)";

constexpr Sql kPage =
    "SELECT table_id, path FROM duckicelake.side_file WHERE metadata_schema = $1 AND path > $2 "
    "ORDER BY path LIMIT $3";

Statement in_schema(const Lake& lake, const Sql& sql, std::vector<Param> params) {
  return {pg::sql_for_schema(lake.metadata_schema, sql), std::move(params)};
}

Status run(pg::Transaction& transaction, std::span<const Statement> statements) {
  DIL_TRY(auto done, transaction.batch(statements));
  (void)done;
  return {};
}

}  // namespace

Status add_side_files(pg::Transaction& transaction, const Lake& lake,
                      const ducklake::TableRow& table, std::int64_t first_id,
                      std::span<const SideFile> files) {
  if (files.empty()) return {};
  std::vector<std::int64_t> ids, records, sizes;
  std::vector<std::string> paths;
  for (const SideFile& file : files) {
    ids.push_back(first_id++);
    paths.push_back(file.path);
    records.push_back(file.record_count);
    sizes.push_back(file.file_size_bytes);
  }
  const std::array<Statement, 2> statements = {
      Statement{
          kList,
          {lake.metadata_schema.name(), table.table_id, Param::text_array(paths), lake.data_path}},
      in_schema(lake, kRegister,
                {table.table_id, Param::int64_array(ids), Param::text_array(paths),
                 Param::int64_array(records), Param::int64_array(sizes), table.path})};
  return run(transaction, statements);
}

Status release_side_rows(pg::Transaction& transaction, const Lake& lake, TableId table,
                         std::span<const std::string> paths) {
  if (paths.empty()) return {};
  DIL_TRY(pg::ResultSet rows,
          transaction.exec(
              Statement{kListed, {lake.metadata_schema.name(), table, Param::text_array(paths)}}));
  std::vector<std::string> listed;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view path, row.text(0));
    listed.emplace_back(path);
  }
  if (listed.empty()) return {};
  const std::array<Statement, 3> statements = {
      Statement{kUnlist, {lake.metadata_schema.name(), Param::text_array(listed)}},
      in_schema(lake, kUnregister, {Param::text_array(listed)}),
      Statement{kList,
                {lake.metadata_schema.name(), table, Param::text_array(listed), lake.data_path}}};
  return run(transaction, statements);
}

Result<std::vector<ListedSideFile>> load_side_files(pg::Connection& connection, const Lake& lake,
                                                    const std::string& after, std::int64_t limit) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{kPage, {lake.metadata_schema.name(), after, limit}}));
  std::vector<ListedSideFile> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    ListedSideFile file;
    file.table = TableId(in.int64());
    file.path = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(file));
  }
  return out;
}

Status forget_side_files(pg::Transaction& transaction, const Lake& lake,
                         std::span<const std::string> paths) {
  if (paths.empty()) return {};
  const std::array<Statement, 2> statements = {
      Statement{kUnlist, {lake.metadata_schema.name(), Param::text_array(paths)}},
      in_schema(lake, kUnregister, {Param::text_array(paths)})};
  return run(transaction, statements);
}

}  // namespace duckicelake::store
