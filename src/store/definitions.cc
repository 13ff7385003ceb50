// SPDX-License-Identifier: Apache-2.0
#include "store/definitions.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kInsertSchema =
    "INSERT INTO {schema}.ducklake_schema (schema_id, schema_uuid, begin_snapshot, end_snapshot, "
    "schema_name, path, path_is_relative) VALUES ($1, $2::uuid, $3, NULL, $4, $5, true)";

// Rows of schemas that DuckDB dropped would keep the levels taken.
constexpr Sql kFreeLevels =
    "DELETE FROM duckicelake.namespace n WHERE n.catalog_id = $1 AND n.levels = $2::text[] "
    "AND NOT EXISTS (SELECT 1 FROM {schema}.ducklake_schema s WHERE s.schema_id = n.schema_id "
    "AND s.end_snapshot IS NULL)";

constexpr Sql kInsertLevels =
    "INSERT INTO duckicelake.namespace (catalog_id, schema_id, levels) VALUES ($1, $2, "
    "$3::text[])";

constexpr Sql kEndSchema =
    "UPDATE {schema}.ducklake_schema SET end_snapshot = $2 WHERE schema_id = $1 "
    "AND end_snapshot IS NULL";

constexpr Sql kForgetLevels =
    "DELETE FROM duckicelake.namespace WHERE catalog_id = $1 AND schema_id = $2";

constexpr Sql kForgetProperties =
    "DELETE FROM duckicelake.namespace_property WHERE catalog_id = $1 AND schema_id = $2";

// What DuckLake ends with a table. The first one tells whether the table is live.
constexpr Sql kEndTable[] = {
    "UPDATE {schema}.ducklake_table SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_partition_info SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_column SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_column_tag SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_data_file SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_delete_file SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 "
    "AND end_snapshot IS NULL",
    "UPDATE {schema}.ducklake_sort_info SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL",
};

// The lock of a projection (lock_table). One that is under way would fail over rows that vanish
// beneath it; what it saves is keyed by the id of a table that is no more.
constexpr Sql kTryLock = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, $2))";

// What says where its metadata is, and what that names, stays until a sweep finds that DuckLake has
// no row of the table any more: until then it can be registered again.
constexpr Sql kForgetTable[] = {
    "DELETE FROM duckicelake.committed_file WHERE catalog_id = $1 AND table_id = $2",
    "DELETE FROM duckicelake.table_property WHERE catalog_id = $1 AND table_id = $2",
    "DELETE FROM duckicelake.metrics_report WHERE catalog_id = $1 AND table_id = $2",
};

constexpr Sql kRenameTable =
    "WITH old AS (UPDATE {schema}.ducklake_table SET end_snapshot = $2 WHERE table_id = $1 "
    "AND end_snapshot IS NULL RETURNING table_id, table_uuid, path, path_is_relative) "
    "INSERT INTO {schema}.ducklake_table (table_id, table_uuid, begin_snapshot, end_snapshot, "
    "schema_id, table_name, path, path_is_relative) SELECT table_id, table_uuid, $2, NULL, $3, $4, "
    "coalesce($5::text, path), CASE WHEN $5::text IS NULL THEN path_is_relative ELSE false END "
    "FROM old";

constexpr Sql kSchemaVersion =
    "INSERT INTO {schema}.ducklake_schema_versions (begin_snapshot, schema_version, table_id) "
    "VALUES ($1, $2, $3)";

constexpr Sql kRenameView =
    "WITH old AS (UPDATE {schema}.ducklake_view SET end_snapshot = $2 WHERE view_id = $1 "
    "AND end_snapshot IS NULL RETURNING view_id, view_uuid, dialect, sql, column_aliases) "
    "INSERT INTO {schema}.ducklake_view (view_id, view_uuid, begin_snapshot, end_snapshot, "
    "schema_id, view_name, dialect, sql, column_aliases) SELECT view_id, view_uuid, $2, NULL, $3, "
    "$4, dialect, sql, coalesce(column_aliases, '') FROM old";

// No NULL in column_aliases: DuckDB could load no catalog with one.
constexpr Sql kInsertView =
    "INSERT INTO {schema}.ducklake_view (view_id, view_uuid, begin_snapshot, end_snapshot, "
    "schema_id, view_name, dialect, sql, column_aliases) "
    "VALUES ($1, $2::uuid, $3, NULL, $4, $5, $6, $7, '')";

constexpr Sql kReplaceView =
    "WITH old AS (UPDATE {schema}.ducklake_view SET end_snapshot = $2 WHERE view_id = $1 "
    "AND end_snapshot IS NULL RETURNING view_id, view_uuid, schema_id, view_name) "
    "INSERT INTO {schema}.ducklake_view (view_id, view_uuid, begin_snapshot, end_snapshot, "
    "schema_id, view_name, dialect, sql, column_aliases) SELECT view_id, view_uuid, $2, NULL, "
    "schema_id, view_name, $3, $4, '' FROM old";

constexpr Sql kEndView =
    "UPDATE {schema}.ducklake_view SET end_snapshot = $2 WHERE view_id = $1 "
    "AND end_snapshot IS NULL";

constexpr Sql kEndComment =
    "UPDATE {schema}.ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 AND key = 'comment' "
    "AND end_snapshot IS NULL AND value IS DISTINCT FROM $3::text";

constexpr Sql kInsertComment =
    "INSERT INTO {schema}.ducklake_tag (object_id, begin_snapshot, end_snapshot, key, value) "
    "SELECT $1, $2, NULL, 'comment', $3 WHERE NOT EXISTS (SELECT 1 FROM {schema}.ducklake_tag "
    "WHERE object_id = $1 AND key = 'comment' AND end_snapshot IS NULL)";

constexpr Sql kEndTags =
    "UPDATE {schema}.ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 "
    "AND end_snapshot IS NULL";

constexpr Sql kLoadProperties =
    "SELECT key, value FROM duckicelake.namespace_property WHERE catalog_id = $1 "
    "AND schema_id = $2";

constexpr Sql kSetProperties =
    "INSERT INTO duckicelake.namespace_property (catalog_id, schema_id, key, value) "
    "SELECT $1, $2, p.key, p.value FROM unnest($3::text[], $4::text[]) AS p (key, value) "
    "ON CONFLICT (catalog_id, schema_id, key) DO UPDATE SET value = excluded.value";

constexpr Sql kRemoveProperties =
    "DELETE FROM duckicelake.namespace_property WHERE catalog_id = $1 AND schema_id = $2 "
    "AND key = ANY ($3::text[]) RETURNING key";

constexpr Sql kLoadViewState =
    "SELECT metadata_location, document FROM duckicelake.view_state WHERE catalog_id = $1 "
    "AND view_id = $2";

constexpr Sql kSaveViewState =
    "INSERT INTO duckicelake.view_state (catalog_id, view_id, metadata_location, document) "
    "VALUES ($1, $2, $3, $4) ON CONFLICT (catalog_id, view_id) DO UPDATE SET "
    "metadata_location = excluded.metadata_location, document = excluded.document";

constexpr Sql kInsertReport =
    "INSERT INTO duckicelake.metrics_report (catalog_id, table_id, principal, report) "
    "VALUES ($1, $2, $3, $4)";

constexpr Sql kTrimReports =
    "DELETE FROM duckicelake.metrics_report WHERE catalog_id = $1 AND table_id = $2 AND serial <= "
    "(SELECT serial FROM duckicelake.metrics_report WHERE catalog_id = $1 AND table_id = $2 "
    "ORDER BY serial DESC OFFSET $3 LIMIT 1)";

Statement statement(const Lake& lake, const Sql& sql, std::vector<Param> params,
                    std::string_view name) {
  return {pg::sql_for_schema(lake.metadata_schema, sql), std::move(params), pg::Prepare::kCached,
          name};
}

// The rows that each statement touched.
Result<std::vector<std::int64_t>> run(pg::Transaction& transaction,
                                      const std::vector<Statement>& statements) {
  DIL_TRY(std::vector<pg::ResultSet> results, transaction.batch(statements));
  std::vector<std::int64_t> out;
  out.reserve(results.size());
  for (const pg::ResultSet& result : results) out.push_back(result.affected());
  return out;
}

// A slot keeps other writers out, so a row that was found in it is there, unless names were looked
// up before it.
Status expect_one(std::int64_t rows) {
  if (rows == 1) return {};
  return Error(Code::kCommitFailed, "it was changed or dropped meanwhile; try again");
}

void add_comment(const Lake& lake, const Slot& slot, const NewView& view,
                 std::vector<Statement>& out) {
  out.push_back(
      statement(lake, kEndComment, {view.view_id, slot.snapshot, view.comment}, "end comment"));
  if (!view.comment) return;
  out.push_back(statement(lake, kInsertComment, {view.view_id, slot.snapshot, *view.comment},
                          "insert comment"));
}

Status forget_table(pg::Transaction& transaction, const Lake& lake, TableId table) {
  DIL_TRY(pg::ResultSet locked,
          transaction.exec(
              statement(lake, kTryLock, {lake.metadata_schema.name(), table}, "try lock table")));
  DIL_TRY(const pg::Row row, locked.only_row());
  DIL_TRY(const bool is_mine, row.boolean(0));
  if (!is_mine) return {};
  std::vector<Statement> statements;
  for (const Sql& sql : kForgetTable) {
    statements.push_back(statement(lake, sql, {lake.catalog_id, table}, "forget table"));
  }
  DIL_CHECK_OK(run(transaction, statements));
  return {};
}

}  // namespace

Status insert_schema(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                     const NewSchema& schema) {
  std::vector<Statement> statements;
  statements.push_back(statement(
      lake, kInsertSchema, {schema.schema_id, schema.uuid, slot.snapshot, schema.name, schema.path},
      "insert schema"));
  if (schema.levels) {
    const Param levels = Param::text_array(*schema.levels);
    statements.push_back(statement(lake, kFreeLevels, {lake.catalog_id, levels}, "free levels"));
    statements.push_back(statement(lake, kInsertLevels, {lake.catalog_id, schema.schema_id, levels},
                                   "insert levels"));
  }
  DIL_CHECK_OK(run(transaction, statements));
  return {};
}

Status end_schema(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                  SchemaId schema) {
  const std::vector<Statement> statements = {
      statement(lake, kEndSchema, {schema, slot.snapshot}, "end schema"),
      statement(lake, kForgetLevels, {lake.catalog_id, schema}, "forget levels"),
      statement(lake, kForgetProperties, {lake.catalog_id, schema}, "forget properties")};
  DIL_TRY(const std::vector<std::int64_t> rows, run(transaction, statements));
  return expect_one(rows[0]);
}

Status end_table(pg::Transaction& transaction, const Lake& lake, const Slot& slot, TableId table) {
  std::vector<Statement> statements;
  for (const Sql& sql : kEndTable) {
    statements.push_back(statement(lake, sql, {table, slot.snapshot}, "end table"));
  }
  DIL_TRY(const std::vector<std::int64_t> rows, run(transaction, statements));
  DIL_CHECK_OK(expect_one(rows[0]));
  return forget_table(transaction, lake, table);
}

Status rename_table(pg::Transaction& transaction, const Lake& lake, const Slot& slot, TableId table,
                    const NewName& to) {
  const std::vector<Statement> statements = {
      statement(lake, kRenameTable, {table, slot.snapshot, to.schema_id, to.name, to.absolute_path},
                "rename table"),
      statement(lake, kSchemaVersion, {slot.snapshot, slot.schema_version, table},
                "insert schema version")};
  DIL_TRY(const std::vector<std::int64_t> rows, run(transaction, statements));
  return expect_one(rows[0]);
}

Status rename_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot, ViewId view,
                   const NewName& to) {
  DIL_TRY(
      const std::vector<std::int64_t> rows,
      run(transaction, {statement(lake, kRenameView, {view, slot.snapshot, to.schema_id, to.name},
                                  "rename view")}));
  return expect_one(rows[0]);
}

Status insert_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                   const NewView& view) {
  std::vector<Statement> statements = {statement(
      lake, kInsertView,
      {view.view_id, view.uuid, slot.snapshot, view.schema_id, view.name, view.dialect, view.sql},
      "insert view")};
  add_comment(lake, slot, view, statements);
  DIL_CHECK_OK(run(transaction, statements));
  return {};
}

Status replace_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                    const NewView& view) {
  std::vector<Statement> statements = {statement(
      lake, kReplaceView, {view.view_id, slot.snapshot, view.dialect, view.sql}, "replace view")};
  add_comment(lake, slot, view, statements);
  DIL_TRY(const std::vector<std::int64_t> rows, run(transaction, statements));
  return expect_one(rows[0]);
}

Status end_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot, ViewId view) {
  // Its metadata stays known until a sweep, as that of a table does.
  const std::vector<Statement> statements = {
      statement(lake, kEndView, {view, slot.snapshot}, "end view"),
      statement(lake, kEndTags, {view, slot.snapshot}, "end comment")};
  DIL_TRY(const std::vector<std::int64_t> rows, run(transaction, statements));
  return expect_one(rows[0]);
}

Result<std::map<std::string, std::string>> load_namespace_properties(pg::Connection& connection,
                                                                     const Lake& lake,
                                                                     SchemaId schema) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(statement(lake, kLoadProperties, {lake.catalog_id, schema},
                                    "load namespace properties")));
  std::map<std::string, std::string> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    std::string key = in.text();
    out[std::move(key)] = in.text();
    DIL_CHECK_OK(in.status());
  }
  return out;
}

Status set_namespace_properties(pg::Transaction& transaction, const Lake& lake, SchemaId schema,
                                const std::map<std::string, std::string>& properties) {
  if (properties.empty()) return {};
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, value] : properties) {
    keys.push_back(key);
    values.push_back(value);
  }
  DIL_CHECK_OK(transaction.exec(
      statement(lake, kSetProperties,
                {lake.catalog_id, schema, Param::text_array(keys), Param::text_array(values)},
                "set namespace properties")));
  return {};
}

Result<std::vector<std::string>> remove_namespace_properties(pg::Transaction& transaction,
                                                             const Lake& lake, SchemaId schema,
                                                             std::span<const std::string> keys) {
  std::vector<std::string> out;
  if (keys.empty()) return out;
  DIL_TRY(pg::ResultSet rows,
          transaction.exec(statement(lake, kRemoveProperties,
                                     {lake.catalog_id, schema, Param::text_array(keys)},
                                     "remove namespace properties")));
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view key, row.text(0));
    out.emplace_back(key);
  }
  return out;
}

Result<std::optional<ViewState>> load_view_state(pg::Connection& connection, const Lake& lake,
                                                 ViewId view) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(statement(lake, kLoadViewState, {lake.catalog_id, view}, "load view")));
  if (rows.empty()) return std::optional<ViewState>();
  RowReader in(rows.row(0));
  ViewState out;
  out.metadata_location = in.text();
  out.document = in.text();
  DIL_CHECK_OK(in.status());
  return std::optional<ViewState>(std::move(out));
}

Status save_view_state(pg::Transaction& transaction, const Lake& lake, ViewId view,
                       const ViewState& state) {
  DIL_CHECK_OK(transaction.exec(
      statement(lake, kSaveViewState,
                {lake.catalog_id, view, state.metadata_location, state.document}, "save view")));
  return {};
}

Status insert_metrics_report(pg::Connection& connection, const Lake& lake, TableId table,
                             const std::string& principal, const std::string& report) {
  const std::vector<Statement> statements = {
      statement(lake, kInsertReport, {lake.catalog_id, table, principal, report}, "insert report"),
      statement(lake, kTrimReports, {lake.catalog_id, table, kMetricsReports}, "trim reports")};
  DIL_CHECK_OK(connection.batch(statements));
  return {};
}

}  // namespace duckicelake::store
