// SPDX-License-Identifier: Apache-2.0
#include "store/storage_scope.h"

#include <array>
#include <unordered_set>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

// The folders that each table has or had; $1 is DATA_PATH. Ended at the latest by now or not.
constexpr Sql kFolders =
    "WITH versions AS (SELECT t.table_id, t.table_uuid::text AS uuid, t.begin_snapshot, "
    "t.end_snapshot, CASE WHEN coalesce(t.path_is_relative, true) THEN "
    "rtrim(CASE WHEN coalesce(s.path_is_relative, true) THEN $1::text || coalesce(s.path, '') "
    "ELSE s.path END, '/') || '/' || coalesce(t.path, '') ELSE t.path END AS path "
    "FROM {schema}.ducklake_table t JOIN {schema}.ducklake_schema s USING (schema_id)), "
    "folders AS (SELECT table_id, uuid, rtrim(path, '/') || '/' AS folder, "
    "max(CASE WHEN end_snapshot IS NULL THEN 1 ELSE 0 END) AS is_current, "
    "max(begin_snapshot) AS since FROM versions GROUP BY 1, 2, 3) ";

const Sql kOwnFolders =
    kFolders +
    Sql("SELECT o.uuid, o.folder, o.is_current = 1, EXISTS (SELECT FROM folders f WHERE "
        "f.table_id <> o.table_id AND f.uuid = o.uuid) FROM folders o WHERE o.table_id = $2 "
        "ORDER BY o.is_current DESC, o.since DESC");

// For each of the folders $3, whether anything of other tables than $2 is in its way. The range of
// paths is that of a prefix that ends in '/': '0' is the next character.
const Sql kShared =
    kFolders +
    Sql(", lives AS (SELECT table_id FROM {schema}.ducklake_table WHERE end_snapshot IS NULL) "
        "SELECT starts_with($1::text, c.folder) OR "
        "EXISTS (SELECT FROM folders f WHERE f.table_id <> $2 AND (starts_with(f.folder, c.folder) "
        "OR "
        "starts_with(c.folder, f.folder)) AND (EXISTS (SELECT FROM lives l WHERE l.table_id = "
        "f.table_id) OR EXISTS (SELECT FROM {schema}.ducklake_data_file d WHERE d.table_id = "
        "f.table_id) OR EXISTS (SELECT FROM {schema}.ducklake_delete_file d WHERE d.table_id = "
        "f.table_id))) OR "
        "EXISTS (SELECT FROM {schema}.ducklake_schema s WHERE starts_with(rtrim(CASE WHEN "
        "coalesce(s.path_is_relative, true) THEN $1::text || coalesce(s.path, '') ELSE s.path END, "
        "'/') || '/', c.folder)) OR "
        "EXISTS (SELECT FROM {schema}.ducklake_data_file d WHERE NOT d.path_is_relative AND "
        "d.table_id <> $2 AND d.path COLLATE \"C\" >= c.folder AND d.path COLLATE \"C\" < "
        "left(c.folder, -1) || '0') OR "
        "EXISTS (SELECT FROM {schema}.ducklake_delete_file d WHERE NOT d.path_is_relative AND "
        "d.table_id <> $2 AND d.path COLLATE \"C\" >= c.folder AND d.path COLLATE \"C\" < "
        "left(c.folder, -1) || '0') OR "
        "EXISTS (SELECT FROM duckicelake.view_state v WHERE starts_with(v.metadata_location, "
        "c.folder)) "
        "FROM unnest($3::text[]) WITH ORDINALITY AS c(folder, place) ORDER BY c.place");

constexpr Sql kOfOtherSchema =
    "SELECT EXISTS (SELECT FROM {schema}.ducklake_schema s WHERE s.end_snapshot IS NULL AND "
    "s.schema_id <> $2 AND starts_with($3::text, rtrim(CASE WHEN coalesce(s.path_is_relative, "
    "true) "
    "THEN $1::text || coalesce(s.path, '') ELSE s.path END, '/') || '/'))";

constexpr Sql kOutside =
    "(SELECT path FROM {schema}.ducklake_data_file WHERE table_id = $1 AND NOT path_is_relative "
    "UNION SELECT path FROM {schema}.ducklake_delete_file WHERE table_id = $1 AND NOT "
    "path_is_relative) AS p WHERE NOT EXISTS (SELECT FROM unnest($2::text[]) AS f(folder) WHERE "
    "starts_with(p.path, f.folder)) ";

const Sql kOutsideFiles =
    Sql("SELECT p.path FROM ") + kOutside + Sql("ORDER BY p.path COLLATE \"C\" LIMIT $3");
const Sql kOutsideFolders =
    Sql("SELECT DISTINCT regexp_replace(p.path, '[^/]*$', '') FROM ") + kOutside + Sql("LIMIT $3");

// Rows that end like the path, with the folder that a relative one continues.
constexpr Sql kFileRows =
    "SELECT f.path, coalesce(f.path_is_relative, true), coalesce(t.path, ''), "
    "coalesce(t.path_is_relative, true), coalesce(s.path, ''), coalesce(s.path_is_relative, true) "
    "FROM (SELECT table_id, path, path_is_relative FROM {schema}.ducklake_data_file WHERE "
    "path = ANY($2::text[]) UNION ALL SELECT table_id, path, path_is_relative FROM "
    "{schema}.ducklake_delete_file WHERE table_id = $1 AND path = ANY($2::text[])) AS f "
    "JOIN {schema}.ducklake_table t USING (table_id) JOIN {schema}.ducklake_schema s USING "
    "(schema_id) WHERE f.table_id = $1";

// The innermost folder counts. Files beside DATA_PATH lie in folders named by uuid.
const Sql kOwner =
    kFolders +
    Sql("SELECT t.table_id, t.schema_id, t.table_name FROM folders f JOIN "
        "{schema}.ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL "
        "WHERE starts_with($2, f.folder) OR starts_with($2, $3::text || f.uuid || '/') "
        "ORDER BY length(f.folder) DESC LIMIT 1");

constexpr Sql kOwnerOfFile =
    "SELECT t.table_id, t.schema_id, t.table_name FROM (SELECT table_id FROM "
    "{schema}.ducklake_data_file WHERE path = $1 AND NOT path_is_relative UNION ALL SELECT "
    "table_id "
    "FROM {schema}.ducklake_delete_file WHERE path COLLATE \"C\" = $1 AND NOT path_is_relative) AS "
    "f "
    "JOIN {schema}.ducklake_table t USING (table_id) WHERE t.end_snapshot IS NULL LIMIT 1";

constexpr Sql kLiveTable =
    "SELECT table_id, schema_id, table_name FROM {schema}.ducklake_table WHERE table_id = $1 AND "
    "end_snapshot IS NULL";
constexpr Sql kLiveTables =
    "SELECT table_id, schema_id, table_name FROM {schema}.ducklake_table WHERE table_id = ANY($1) "
    "AND end_snapshot IS NULL";
constexpr Sql kTableOfUuid =
    "SELECT table_id FROM {schema}.ducklake_table WHERE table_uuid::text = $1 AND end_snapshot IS "
    "NULL";

Statement in_schema(const Lake& lake, const Sql& sql, std::vector<Param> params) {
  return {pg::sql_for_schema(lake.metadata_schema, sql), std::move(params)};
}

Status mark_shared(pg::Connection& connection, const Lake& lake, TableId table,
                   std::span<StorageFolder*> folders) {
  if (folders.empty()) return {};
  std::vector<std::string> uris;
  for (const StorageFolder* folder : folders) uris.push_back(folder->uri);
  DIL_TRY(
      pg::ResultSet rows,
      connection.exec(in_schema(lake, kShared, {lake.data_path, table, Param::text_array(uris)})));
  if (rows.size() != folders.size()) {
    return Error(Code::kInternal, "internal error", "folders were lost in a query");
  }
  for (std::size_t i = 0; i < folders.size(); ++i) {
    DIL_TRY(folders[i]->is_shared, rows.row(i).boolean(0));
  }
  return {};
}

}  // namespace

Result<TableStorage> load_table_storage(pg::Connection& connection, const Lake& lake, TableId table,
                                        const std::string& beside, StorageLimits limits) {
  TableStorage out;
  DIL_TRY(pg::ResultSet own,
          connection.exec(in_schema(lake, kOwnFolders, {lake.data_path, table})));
  std::unordered_set<std::string> seen;
  bool is_live = false;
  for (const pg::Row row : own) {
    RowReader in(row);
    out.uuid = in.text();
    StorageFolder folder{in.text(), false};
    is_live = in.boolean() || is_live;
    out.is_uuid_shared = in.boolean() || out.is_uuid_shared;
    DIL_CHECK_OK(in.status());
    if (!seen.insert(folder.uri).second) continue;
    if (out.location.uri.empty()) {
      out.location = std::move(folder);
    } else {
      out.earlier.push_back(std::move(folder));
    }
  }
  if (!is_live) return Error(Code::kNoSuchTable, "Table does not exist any more");

  std::vector<std::string> inside = {out.location.uri};
  if (!beside.empty()) inside.push_back(beside);
  for (const StorageFolder& folder : out.earlier) inside.push_back(folder.uri);
  DIL_TRY(pg::ResultSet files,
          connection.exec(in_schema(lake, kOutsideFiles,
                                    {table, Param::text_array(inside), limits.max_files + 1})));
  for (const pg::Row row : files) {
    DIL_TRY(const std::string_view path, row.text(0));
    if (static_cast<std::int64_t>(out.outside.size()) == limits.max_files) {
      out.has_more_outside = true;
      break;
    }
    out.outside.emplace_back(path);
  }
  if (!out.outside.empty()) {
    DIL_TRY(pg::ResultSet folders,
            connection.exec(in_schema(lake, kOutsideFolders,
                                      {table, Param::text_array(inside), limits.max_folders + 1})));
    for (const pg::Row row : folders) {
      DIL_TRY(const std::string_view path, row.text(0));
      if (static_cast<std::int64_t>(out.outside_folders.size()) == limits.max_folders) {
        out.has_more_folders = true;
        break;
      }
      out.outside_folders.push_back({std::string(path), false});
    }
  }
  std::vector<StorageFolder*> all = {&out.location};
  for (StorageFolder& folder : out.earlier) all.push_back(&folder);
  for (StorageFolder& folder : out.outside_folders) all.push_back(&folder);
  DIL_CHECK_OK(mark_shared(connection, lake, table, all));
  return out;
}

Result<bool> is_folder_shared(pg::Connection& connection, const Lake& lake, TableId table,
                              const std::string& folder) {
  StorageFolder asked{folder, true};
  std::vector<StorageFolder*> all = {&asked};
  DIL_CHECK_OK(mark_shared(connection, lake, table, all));
  return asked.is_shared;
}

Result<bool> is_place_taken(pg::Connection& connection, const Lake& lake, TableId table,
                            SchemaId schema, const std::string& folder) {
  DIL_TRY(const bool is_shared, is_folder_shared(connection, lake, table, folder));
  if (is_shared) return true;
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(in_schema(lake, kOfOtherSchema, {lake.data_path, schema, folder})));
  return rows.row(0).boolean(0);
}

namespace {

Result<ObjectOwner> read_owner(const pg::Row& row) {
  RowReader in(row);
  ObjectOwner out;
  out.table = TableId(in.int64());
  out.schema = SchemaId(in.int64());
  out.name = in.text();
  DIL_CHECK_OK(in.status());
  return out;
}

}  // namespace

Result<std::vector<ObjectOwner>> load_live_tables(pg::Connection& connection, const Lake& lake,
                                                  const std::vector<std::int64_t>& ids) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(in_schema(lake, kLiveTables, {Param::int64_array(ids)})));
  std::vector<ObjectOwner> out;
  for (const pg::Row row : rows) {
    DIL_TRY(ObjectOwner one, read_owner(row));
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::optional<ObjectOwner>> find_live_table(pg::Connection& connection, const Lake& lake,
                                                   TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kLiveTable, {table})));
  if (rows.empty()) return std::optional<ObjectOwner>();
  DIL_TRY(ObjectOwner out, read_owner(rows.row(0)));
  return std::optional<ObjectOwner>(std::move(out));
}

Result<std::optional<TableId>> find_table_of_uuid(pg::Connection& connection, const Lake& lake,
                                                  const std::string& uuid) {
  DIL_TRY(pg::ResultSet rows, connection.exec(in_schema(lake, kTableOfUuid, {uuid})));
  if (rows.empty()) return std::optional<TableId>();
  DIL_TRY(const std::int64_t id, rows.row(0).int64(0));
  return std::optional<TableId>(TableId(id));
}

Result<std::optional<ObjectOwner>> find_object_owner(pg::Connection& connection, const Lake& lake,
                                                     const std::string& uri) {
  const std::array<Statement, 2> statements = {
      in_schema(lake, kOwner, {lake.data_path, uri, iceberg_only_root(lake)}),
      in_schema(lake, kOwnerOfFile, {uri})};
  for (const Statement& statement : statements) {
    DIL_TRY(pg::ResultSet rows, connection.exec(statement));
    if (rows.empty()) continue;
    DIL_TRY(ObjectOwner out, read_owner(rows.row(0)));
    return std::optional<ObjectOwner>(std::move(out));
  }
  return std::optional<ObjectOwner>();
}

Result<bool> is_file_of(pg::Connection& connection, const Lake& lake, TableId table,
                        const std::string& uri) {
  std::vector<std::string> forms = {uri};
  const std::size_t scheme = uri.find("://");
  std::size_t slash = scheme == std::string::npos ? std::string::npos : scheme + 2;
  while (slash != std::string::npos && (slash = uri.find('/', slash + 1)) != std::string::npos) {
    forms.push_back(uri.substr(slash + 1));
  }
  DIL_TRY(pg::ResultSet rows,
          connection.exec(in_schema(lake, kFileRows, {table, Param::text_array(forms)})));
  for (const pg::Row row : rows) {
    RowReader in(row);
    const std::string file = in.text();
    const bool is_file_relative = in.boolean();
    const std::string folder = in.text();
    const bool is_folder_relative = in.boolean();
    const std::string schema = in.text();
    const std::string above = join_path(lake.data_path, schema, in.boolean());
    DIL_CHECK_OK(in.status());
    if (join_path(join_path(above, folder, is_folder_relative), file, is_file_relative) == uri) {
      return true;
    }
  }
  return false;
}

}  // namespace duckicelake::store
