// SPDX-License-Identifier: Apache-2.0
#include "store/names.h"

#include <algorithm>
#include <limits>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kNamespaces =
    "SELECT s.schema_id, s.schema_name, coalesce(n.levels, ARRAY[s.schema_name::text]) AS levels, "
    "coalesce(s.path, ''), coalesce(s.path_is_relative, true) FROM {schema}.ducklake_schema s LEFT "
    "JOIN duckicelake.namespace n "
    "ON n.catalog_id = $1 AND n.schema_id = s.schema_id "
    "WHERE s.end_snapshot IS NULL AND NOT starts_with(s.schema_name, '__masked_')";

// A schema that has levels in the sidecar is not reachable by its plain name: the two forms stay
// distinct.
constexpr Sql kFindNamespace =
    "SELECT s.schema_id, s.schema_name, coalesce(n.levels, ARRAY[s.schema_name::text]), "
    "coalesce(s.path, ''), coalesce(s.path_is_relative, true) FROM {schema}.ducklake_schema s LEFT "
    "JOIN duckicelake.namespace n "
    "ON n.catalog_id = $1 AND n.schema_id = s.schema_id WHERE s.end_snapshot IS NULL "
    "AND (n.levels = $2::text[] OR (n.levels IS NULL AND s.schema_name = $3)) "
    "AND NOT starts_with(s.schema_name, '__masked_')";

constexpr Sql kBelow =
    "SELECT EXISTS (SELECT 1 FROM duckicelake.namespace n JOIN {schema}.ducklake_schema s "
    "ON s.schema_id = n.schema_id AND s.end_snapshot IS NULL WHERE n.catalog_id = $1 "
    "AND cardinality(n.levels) > $3 AND n.levels[1:$3] = $2::text[] "
    "AND NOT starts_with(s.schema_name, '__masked_'))";

// DuckDB compares names so: the collation C folds ASCII letters only.
constexpr Sql kFindSchema =
    "SELECT s.schema_id, n.schema_id IS NULL FROM {schema}.ducklake_schema s "
    "LEFT JOIN duckicelake.namespace n ON n.catalog_id = $1 AND n.schema_id = s.schema_id "
    "WHERE s.end_snapshot IS NULL "
    "AND lower(s.schema_name COLLATE \"C\") = lower($2::text COLLATE \"C\") LIMIT 1";

constexpr Sql kSchemaPath =
    "SELECT EXISTS (SELECT 1 FROM {schema}.ducklake_schema WHERE path = $1)";

constexpr Sql kFindEntry =
    "SELECT is_view, id, name FROM ("
    "SELECT false AS is_view, table_id AS id, table_name AS name FROM {schema}.ducklake_table "
    "WHERE schema_id = $1 AND end_snapshot IS NULL UNION ALL "
    "SELECT true, view_id, view_name FROM {schema}.ducklake_view "
    "WHERE schema_id = $1 AND end_snapshot IS NULL) entries "
    "WHERE lower(name COLLATE \"C\") = lower($2::text COLLATE \"C\") LIMIT 1";

constexpr Sql kHasEntries =
    "SELECT EXISTS (SELECT 1 FROM {schema}.ducklake_table WHERE schema_id = $1 "
    "AND end_snapshot IS NULL) OR EXISTS (SELECT 1 FROM {schema}.ducklake_view WHERE schema_id = "
    "$1 "
    "AND end_snapshot IS NULL) OR EXISTS (SELECT 1 FROM {schema}.ducklake_macro WHERE "
    "schema_id = $1 AND end_snapshot IS NULL)";

constexpr Sql kTables =
    "SELECT table_name FROM {schema}.ducklake_table WHERE schema_id = $1 AND end_snapshot IS NULL "
    "AND table_name COLLATE \"C\" > $2 AND NOT starts_with(table_name, '__mask_') "
    "AND NOT (table_id = ANY ($4::bigint[])) "
    "ORDER BY table_name COLLATE \"C\" LIMIT $3";

constexpr Sql kViews =
    "SELECT view_name FROM {schema}.ducklake_view WHERE schema_id = $1 AND end_snapshot IS NULL "
    "AND view_name COLLATE \"C\" > $2 AND NOT starts_with(view_name, '__mask_') "
    "AND NOT (view_id = ANY ($4::bigint[])) "
    "ORDER BY view_name COLLATE \"C\" LIMIT $3";

constexpr Sql kFindTable =
    "SELECT table_id, table_uuid::text FROM {schema}.ducklake_table "
    "WHERE schema_id = $1 AND table_name = $2 AND end_snapshot IS NULL";

constexpr Sql kFindView =
    "SELECT v.view_id, v.view_uuid::text, v.begin_snapshot, "
    "(SELECT (extract(epoch FROM s.snapshot_time) * 1000000)::bigint FROM "
    "{schema}.ducklake_snapshot s "
    " WHERE s.snapshot_id >= v.begin_snapshot ORDER BY s.snapshot_id LIMIT 1), "
    "v.view_name, coalesce(v.dialect, 'duckdb'), coalesce(v.sql, ''), coalesce(v.column_aliases, "
    "''), "
    "(SELECT g.value FROM {schema}.ducklake_tag g WHERE g.object_id = v.view_id AND g.key = "
    "'comment' "
    " AND g.end_snapshot IS NULL) "
    "FROM {schema}.ducklake_view v WHERE v.schema_id = $1 AND v.view_name = $2 AND v.end_snapshot "
    "IS NULL";

Result<NamespaceRow> read_namespace(const Lake& lake, const pg::Row& row) {
  NamespaceRow out;
  DIL_TRY(std::int64_t id, row.int64(0));
  out.schema_id = SchemaId(id);
  DIL_TRY(std::string_view name, row.text(1));
  out.schema_name = std::string(name);
  DIL_TRY(auto levels, row.text_array(2));
  for (std::optional<std::string>& level : levels) out.levels.push_back(level.value_or(""));
  DIL_TRY(std::string_view path, row.text(3));
  DIL_TRY(bool is_relative, row.boolean(4));
  out.folder = join_path(lake.data_path, path, is_relative);
  if (!out.folder.ends_with('/')) out.folder.push_back('/');
  return out;
}

Result<bool> ask(pg::Connection& connection, const Statement& statement) {
  DIL_TRY(pg::ResultSet rows, connection.exec(statement));
  DIL_TRY(pg::Row row, rows.only_row());
  return row.boolean(0);
}

Result<std::vector<std::string>> list(pg::Connection& connection, const Lake& lake, const Sql& sql,
                                      SchemaId schema, const PageRequest& page) {
  const std::int64_t limit = page.limit > 0 ? page.limit : std::numeric_limits<std::int64_t>::max();
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(lake.metadata_schema, sql),
                                    {schema, page.after, limit, Param::int64_array(page.hidden)}}));
  std::vector<std::string> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    DIL_TRY(std::string_view name, row.text(0));
    out.emplace_back(name);
  }
  return out;
}

constexpr Sql kTableIds =
    "SELECT table_id, table_name FROM {schema}.ducklake_table WHERE schema_id = $1 "
    "AND end_snapshot IS NULL AND NOT starts_with(table_name, '__mask_') "
    "ORDER BY table_name COLLATE \"C\" LIMIT $2";

}  // namespace

Result<std::vector<NamespaceRow>> list_namespaces(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kNamespaces), {lake.catalog_id}}));
  std::vector<NamespaceRow> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    DIL_TRY(NamespaceRow item, read_namespace(lake, row));
    out.push_back(std::move(item));
  }
  std::sort(out.begin(), out.end(),
            [](const NamespaceRow& a, const NamespaceRow& b) { return a.levels < b.levels; });
  return out;
}

Result<std::optional<NamespaceRow>> find_namespace(pg::Connection& connection, const Lake& lake,
                                                   const Levels& levels) {
  // Only a single level can be a plain schema name.
  const std::optional<std::string> plain =
      levels.size() == 1 ? std::optional<std::string>(levels[0]) : std::nullopt;
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(lake.metadata_schema, kFindNamespace),
                                    {lake.catalog_id, Param::text_array(levels), plain}}));
  if (rows.empty()) return std::optional<NamespaceRow>();
  DIL_TRY(NamespaceRow item, read_namespace(lake, rows.row(0)));
  return std::optional<NamespaceRow>(std::move(item));
}

Result<bool> has_namespaces_below(pg::Connection& connection, const Lake& lake,
                                  const Levels& levels) {
  return ask(connection, Statement{pg::sql_for_schema(lake.metadata_schema, kBelow),
                                   {lake.catalog_id, Param::text_array(levels),
                                    static_cast<std::int64_t>(levels.size())}});
}

Result<std::optional<SchemaName>> find_schema(pg::Connection& connection, const Lake& lake,
                                              const std::string& name) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(lake.metadata_schema, kFindSchema),
                                    {lake.catalog_id, name}}));
  if (rows.empty()) return std::optional<SchemaName>();
  RowReader in(rows.row(0));
  SchemaName out;
  out.schema_id = SchemaId(in.int64());
  out.is_plain = in.boolean();
  DIL_CHECK_OK(in.status());
  return std::optional<SchemaName>(out);
}

Result<bool> is_schema_path_used(pg::Connection& connection, const Lake& lake,
                                 const std::string& path) {
  return ask(connection, Statement{pg::sql_for_schema(lake.metadata_schema, kSchemaPath), {path}});
}

Result<std::optional<EntryName>> find_entry(pg::Connection& connection, const Lake& lake,
                                            SchemaId schema, const std::string& name) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kFindEntry), {schema, name}}));
  if (rows.empty()) return std::optional<EntryName>();
  RowReader in(rows.row(0));
  EntryName out;
  out.is_view = in.boolean();
  out.id = in.int64();
  out.name = in.text();
  DIL_CHECK_OK(in.status());
  return std::optional<EntryName>(std::move(out));
}

Result<bool> has_entries(pg::Connection& connection, const Lake& lake, SchemaId schema) {
  return ask(connection,
             Statement{pg::sql_for_schema(lake.metadata_schema, kHasEntries), {schema}});
}

Result<std::vector<std::string>> list_tables(pg::Connection& connection, const Lake& lake,
                                             SchemaId schema, const PageRequest& page) {
  return list(connection, lake, kTables, schema, page);
}

Result<std::vector<std::string>> list_views(pg::Connection& connection, const Lake& lake,
                                            SchemaId schema, const PageRequest& page) {
  return list(connection, lake, kViews, schema, page);
}

Result<std::vector<NamedTable>> list_table_ids(pg::Connection& connection, const Lake& lake,
                                               SchemaId schema, std::int64_t limit) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kTableIds), {schema, limit}}));
  std::vector<NamedTable> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    NamedTable one;
    one.id = TableId(in.int64());
    one.name = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::optional<TableName>> find_table(pg::Connection& connection, const Lake& lake,
                                            SchemaId schema, const std::string& name) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kFindTable), {schema, name}}));
  if (rows.empty()) return std::optional<TableName>();
  RowReader in(rows.row(0));
  TableName out;
  out.table_id = TableId(in.int64());
  out.uuid = in.text();
  DIL_CHECK_OK(in.status());
  return std::optional<TableName>(std::move(out));
}

Result<std::optional<ViewRow>> find_view(pg::Connection& connection, const Lake& lake,
                                         SchemaId schema, const std::string& name) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kFindView), {schema, name}}));
  if (rows.empty()) return std::optional<ViewRow>();
  RowReader in(rows.row(0));
  ViewRow out;
  out.view_id = ViewId(in.int64());
  out.uuid = in.text();
  out.begin = SnapshotId(in.int64());
  out.begin_time_micros = in.int64();
  out.name = in.text();
  out.dialect = in.text();
  out.sql = in.text();
  out.column_aliases = in.text();
  out.comment = in.optional_text();
  DIL_CHECK_OK(in.status());
  return std::optional<ViewRow>(std::move(out));
}

}  // namespace duckicelake::store
