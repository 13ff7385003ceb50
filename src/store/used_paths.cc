// SPDX-License-Identifier: Apache-2.0
#include "store/used_paths.h"

#include <unordered_set>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

// A table's row of each name that it had: the folder is the same.
constexpr Sql kFindUsed =
    "SELECT DISTINCT f.path, coalesce(f.path_is_relative, true), coalesce(t.path, ''), "
    "coalesce(t.path_is_relative, true), coalesce(s.path, ''), coalesce(s.path_is_relative, true) "
    "FROM {schema}.ducklake_data_file f LEFT JOIN {schema}.ducklake_table t USING (table_id) "
    "LEFT JOIN {schema}.ducklake_schema s USING (schema_id) WHERE f.path = ANY($2) "
    "AND ($3 OR f.end_snapshot IS NULL) AND NOT (f.table_id = $1 AND f.begin_snapshot = -1)";

constexpr Sql kRevive =
    "INSERT INTO duckicelake.revived_path (metadata_schema, path) "
    "SELECT $1, p FROM unnest($2::text[]) AS u(p) ON CONFLICT DO NOTHING";

constexpr Sql kUnschedule =
    "DELETE FROM {schema}.ducklake_files_scheduled_for_deletion WHERE path = ANY($1)";

constexpr Sql kUuidUsed =
    "SELECT EXISTS (SELECT 1 FROM {schema}.ducklake_table WHERE table_uuid = $1::uuid "
    "AND end_snapshot IS NULL)";

Statement in_schema(const Lake& lake, const Sql& sql, std::vector<Param> params) {
  return {pg::sql_for_schema(lake.metadata_schema, sql), std::move(params)};
}

// As a row may hold the path: whole, or what follows some folder of it.
std::vector<std::string> forms_of(std::span<const std::string> paths) {
  std::vector<std::string> out(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const std::size_t scheme = path.find("://");
    std::size_t slash = scheme == std::string::npos ? std::string::npos : scheme + 2;
    while (slash != std::string::npos && (slash = path.find('/', slash + 1)) != std::string::npos) {
      out.push_back(path.substr(slash + 1));
    }
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> find_used_paths(pg::Connection& connection, const Lake& lake,
                                                 TableId table, std::span<const std::string> paths,
                                                 UsedBy used_by) {
  if (paths.empty()) return std::vector<std::string>();
  const std::unordered_set<std::string> wanted(paths.begin(), paths.end());
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kFindUsed,
                                                        {table, Param::text_array(forms_of(paths)),
                                                         used_by == UsedBy::kAnyRow})));
  std::vector<std::string> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    const std::string file = in.text();
    const bool is_file_relative = in.boolean();
    const std::string folder = in.text();
    const bool is_folder_relative = in.boolean();
    const std::string schema = in.text();
    const std::string above = join_path(lake.data_path, schema, in.boolean());
    DIL_CHECK_OK(in.status());
    std::string path =
        join_path(join_path(above, folder, is_folder_relative), file, is_file_relative);
    if (wanted.contains(path)) out.push_back(std::move(path));
  }
  return out;
}

Status revive_paths(pg::Transaction& transaction, const Lake& lake,
                    std::span<const std::string> paths) {
  if (paths.empty()) return {};
  std::vector<std::string> forms(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    if (path.starts_with(lake.data_path)) forms.push_back(path.substr(lake.data_path.size()));
  }
  // As DuckLake schedules them: below DATA_PATH relative, else absolute.
  transaction.defer(in_schema(lake, kUnschedule, {Param::text_array(forms)}));
  transaction.defer(Statement{kRevive, {lake.metadata_schema.name(), Param::text_array(forms)}});
  return {};
}

Result<bool> is_uuid_used(pg::Connection& connection, const Lake& lake, const std::string& uuid) {
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kUuidUsed, {uuid})));
  return rows.row(0).boolean(0);
}

}  // namespace duckicelake::store
