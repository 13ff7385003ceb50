// SPDX-License-Identifier: Apache-2.0
#include "store/lake_setup.h"

#include <array>
#include <set>

#include "pg/error.h"

namespace duckicelake::store {
namespace {

using pg::Sql;
using pg::Statement;

struct Index {
  std::string_view name;
  std::string_view purpose;
  Sql sql;
};

// Each serves one question that is asked of one table's rows, so that no query is a scan over other
// tables' rows.
constexpr std::array kIndexes = {
    Index{"duckicelake_one_live_delete", "at most one live delete file for a data file",
          "CREATE UNIQUE INDEX IF NOT EXISTS duckicelake_one_live_delete ON "
          "{schema}.ducklake_delete_file "
          "(data_file_id) WHERE end_snapshot IS NULL"},
    Index{"duckicelake_data_file_id", "files of a table written since",
          "CREATE INDEX IF NOT EXISTS duckicelake_data_file_id ON {schema}.ducklake_data_file "
          "(table_id, data_file_id)"},
    Index{"duckicelake_data_file_end", "files of a table that ended since",
          "CREATE INDEX IF NOT EXISTS duckicelake_data_file_end ON {schema}.ducklake_data_file "
          "(table_id, end_snapshot) WHERE end_snapshot IS NOT NULL"},
    Index{"duckicelake_data_file_live", "live files of a table by age",
          "CREATE INDEX IF NOT EXISTS duckicelake_data_file_live ON {schema}.ducklake_data_file "
          "(table_id, begin_snapshot) WHERE end_snapshot IS NULL"},
    Index{"duckicelake_data_file_path", "data files by path",
          "CREATE INDEX IF NOT EXISTS duckicelake_data_file_path ON {schema}.ducklake_data_file "
          "USING hash (path)"},
    Index{
        "duckicelake_data_file_absolute", "data files that lie in a folder of another table",
        "CREATE INDEX IF NOT EXISTS duckicelake_data_file_absolute ON {schema}.ducklake_data_file "
        "(path COLLATE \"C\") WHERE NOT path_is_relative"},
    Index{"duckicelake_delete_file_absolute", "delete files that lie in a folder of another table",
          "CREATE INDEX IF NOT EXISTS duckicelake_delete_file_absolute ON "
          "{schema}.ducklake_delete_file (path COLLATE \"C\") WHERE NOT path_is_relative"},
    Index{"duckicelake_scheduled_path", "files that are scheduled for deletion by path",
          "CREATE INDEX IF NOT EXISTS duckicelake_scheduled_path ON "
          "{schema}.ducklake_files_scheduled_for_deletion USING hash (path)"},
    Index{"duckicelake_delete_file_id", "delete files of a table written since",
          "CREATE INDEX IF NOT EXISTS duckicelake_delete_file_id ON {schema}.ducklake_delete_file "
          "(table_id, delete_file_id)"},
    Index{"duckicelake_delete_file_of", "delete files of a data file",
          "CREATE INDEX IF NOT EXISTS duckicelake_delete_file_of ON {schema}.ducklake_delete_file "
          "(data_file_id)"},
    Index{"duckicelake_delete_file_end", "delete files of a table that ended since",
          "CREATE INDEX IF NOT EXISTS duckicelake_delete_file_end ON {schema}.ducklake_delete_file "
          "(table_id, end_snapshot) WHERE end_snapshot IS NOT NULL"},
    Index{
        "duckicelake_file_stats", "column statistics of a file",
        "CREATE INDEX IF NOT EXISTS duckicelake_file_stats ON {schema}.ducklake_file_column_stats "
        "(table_id, data_file_id)"},
    Index{"duckicelake_file_partition", "partition values of a file",
          "CREATE INDEX IF NOT EXISTS duckicelake_file_partition ON "
          "{schema}.ducklake_file_partition_value "
          "(table_id, data_file_id)"},
    Index{"duckicelake_table_id", "versions of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_table_id ON {schema}.ducklake_table (table_id)"},
    Index{"duckicelake_table_path", "tables by folder",
          "CREATE INDEX IF NOT EXISTS duckicelake_table_path ON {schema}.ducklake_table "
          "USING hash (path)"},
    Index{"duckicelake_table_name", "a live table by name",
          "CREATE INDEX IF NOT EXISTS duckicelake_table_name ON {schema}.ducklake_table "
          "(schema_id, table_name) WHERE end_snapshot IS NULL"},
    Index{"duckicelake_view_name", "a live view by name",
          "CREATE INDEX IF NOT EXISTS duckicelake_view_name ON {schema}.ducklake_view "
          "(schema_id, view_name) WHERE end_snapshot IS NULL"},
    Index{"duckicelake_schema_name", "a live schema by name",
          "CREATE INDEX IF NOT EXISTS duckicelake_schema_name ON {schema}.ducklake_schema "
          "(schema_name) WHERE end_snapshot IS NULL"},
    Index{"duckicelake_column_table", "columns of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_column_table ON {schema}.ducklake_column "
          "(table_id)"},
    Index{"duckicelake_column_tag_table", "column comments of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_column_tag_table ON {schema}.ducklake_column_tag "
          "(table_id)"},
    Index{"duckicelake_tag_object", "comments of an object",
          "CREATE INDEX IF NOT EXISTS duckicelake_tag_object ON {schema}.ducklake_tag (object_id)"},
    Index{"duckicelake_partition_table", "partitionings of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_partition_table ON "
          "{schema}.ducklake_partition_info "
          "(table_id)"},
    Index{"duckicelake_partition_column", "columns of a partitioning",
          "CREATE INDEX IF NOT EXISTS duckicelake_partition_column ON "
          "{schema}.ducklake_partition_column "
          "(partition_id)"},
    Index{"duckicelake_sort_table", "sort orders of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_sort_table ON {schema}.ducklake_sort_info "
          "(table_id)"},
    Index{"duckicelake_sort_expression", "expressions of a sort order",
          "CREATE INDEX IF NOT EXISTS duckicelake_sort_expression ON "
          "{schema}.ducklake_sort_expression "
          "(sort_id)"},
    Index{"duckicelake_table_stats", "statistics of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_table_stats ON {schema}.ducklake_table_stats "
          "(table_id)"},
    Index{"duckicelake_table_column_stats", "column statistics of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_table_column_stats ON "
          "{schema}.ducklake_table_column_stats (table_id)"},
    Index{
        "duckicelake_column_mapping", "name mappings of a table",
        "CREATE INDEX IF NOT EXISTS duckicelake_column_mapping ON {schema}.ducklake_column_mapping "
        "(table_id)"},
    Index{"duckicelake_name_mapping", "entries of a name mapping",
          "CREATE INDEX IF NOT EXISTS duckicelake_name_mapping ON {schema}.ducklake_name_mapping "
          "(mapping_id)"},
    Index{"duckicelake_inlined_tables", "inlined tables of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_inlined_tables ON "
          "{schema}.ducklake_inlined_data_tables (table_id)"},
    Index{"duckicelake_schema_versions", "schema versions of a table",
          "CREATE INDEX IF NOT EXISTS duckicelake_schema_versions ON "
          "{schema}.ducklake_schema_versions "
          "(table_id)"},
    Index{"duckicelake_scheduled", "a file that is scheduled for deletion",
          "CREATE INDEX IF NOT EXISTS duckicelake_scheduled ON "
          "{schema}.ducklake_files_scheduled_for_deletion (data_file_id)"},
};

struct Trigger {
  std::string_view name;
  std::string_view purpose;
  std::string_view table;
  Sql sql;
};

constexpr std::array kTriggers = {
    Trigger{"duckicelake_expired", "notice expired snapshots", "ducklake_snapshot",
            "CREATE TRIGGER duckicelake_expired AFTER DELETE ON {schema}.ducklake_snapshot "
            "FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.raise_revision()"},
    Trigger{"duckicelake_announced", "announce snapshots", "ducklake_snapshot",
            "CREATE TRIGGER duckicelake_announced AFTER INSERT ON {schema}.ducklake_snapshot "
            "FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.announce_snapshot()"},
    Trigger{"duckicelake_retired",
            "keep account of files that a merge, a flush or an expire took out",
            "ducklake_data_file",
            "CREATE TRIGGER duckicelake_retired AFTER DELETE ON {schema}.ducklake_data_file "
            "REFERENCING OLD TABLE AS retired FOR EACH STATEMENT "
            "EXECUTE FUNCTION duckicelake.note_retired()"},
    Trigger{"duckicelake_revived", "keep files that a registered table took over",
            "ducklake_files_scheduled_for_deletion",
            "CREATE TRIGGER duckicelake_revived BEFORE INSERT ON "
            "{schema}.ducklake_files_scheduled_for_deletion "
            "FOR EACH ROW EXECUTE FUNCTION duckicelake.keep_revived()"},
    Trigger{"duckicelake_removed", "notice files that DuckLake's cleanup removed",
            "ducklake_files_scheduled_for_deletion",
            "CREATE TRIGGER duckicelake_removed AFTER DELETE ON "
            "{schema}.ducklake_files_scheduled_for_deletion REFERENCING OLD TABLE AS removed "
            "FOR EACH STATEMENT EXECUTE FUNCTION duckicelake.note_removed()"},
    Trigger{"duckicelake_inlined", "give inlined tables that DuckDB adds their schema version",
            "ducklake_inlined_data_tables",
            "CREATE CONSTRAINT TRIGGER duckicelake_inlined AFTER INSERT ON "
            "{schema}.ducklake_inlined_data_tables DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION duckicelake.note_inlined()"},
    Trigger{"duckicelake_inlined_armed", "bind vended roles on inlined tables that DuckDB adds",
            "ducklake_inlined_data_tables",
            "CREATE CONSTRAINT TRIGGER duckicelake_inlined_armed AFTER INSERT ON "
            "{schema}.ducklake_inlined_data_tables DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION duckicelake.arm_inlined()"},
    Trigger{"duckicelake_deletes_armed", "bind vended roles on inlined deletes that DuckDB adds",
            "ducklake_snapshot_changes",
            "CREATE TRIGGER duckicelake_deletes_armed AFTER INSERT ON "
            "{schema}.ducklake_snapshot_changes FOR EACH ROW "
            "WHEN (NEW.changes_made LIKE '%inlined_delete:%') "
            "EXECUTE FUNCTION duckicelake.arm_deletes()"},
};

// What the trigger duckicelake_inlined would have written before it was there.
constexpr Sql kInlinedVersions =
    "INSERT INTO {schema}.ducklake_schema_versions (begin_snapshot, schema_version, table_id) "
    "SELECT min(s.snapshot_id), i.schema_version, i.table_id "
    "FROM {schema}.ducklake_inlined_data_tables i JOIN {schema}.ducklake_snapshot s "
    "USING (schema_version) WHERE NOT EXISTS (SELECT FROM {schema}.ducklake_schema_versions v "
    "WHERE v.table_id = i.table_id AND v.schema_version = i.schema_version) "
    "GROUP BY i.table_id, i.schema_version";

constexpr Sql kPresentIndexes =
    "SELECT c.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = "
    "i.indexrelid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname LIKE 'duckicelake\\_%' AND i.indisvalid";

constexpr Sql kPresentTriggers =
    "SELECT t.tgname FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND t.tgname LIKE 'duckicelake\\_%' AND t.tgenabled <> 'D'";

constexpr Sql kDuplicates =
    "SELECT table_id, data_file_id, count(*) FROM {schema}.ducklake_delete_file WHERE end_snapshot "
    "IS NULL "
    "GROUP BY table_id, data_file_id HAVING count(*) > 1 ORDER BY table_id, data_file_id";

constexpr Sql kForeign =
    "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
    "c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname LIKE 'ducklake\\_%' AND c.relkind = 'r' "
    "AND NOT pg_has_role(current_user, c.relowner, 'USAGE') ORDER BY c.relname";

constexpr Sql kRole =
    "SELECT current_user, has_database_privilege(current_database(), 'CREATE') "
    "OR EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'duckicelake')";

constexpr Sql kOtherSessions =
    "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend' "
    "AND application_name NOT LIKE 'duckicelake%'";

Result<std::set<std::string>> names_of(pg::Connection& connection, const Sql& sql,
                                       const pg::SqlIdent& schema) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{sql, {schema.name()}, pg::Prepare::kOnce}));
  std::set<std::string> out;
  for (pg::Row row : rows) {
    DIL_TRY(std::string_view name, row.text(0));
    out.emplace(name);
  }
  return out;
}

Error explain(Error error, std::string_view name) {
  if (pg::sqlstate(error) == "42501") {
    return Error(
        Code::kPermissionDenied,
        fmt::format("\"{}\" could not be created: the role must own the ducklake_* tables (or be a "
                    "member of their owner) and may use schema duckicelake",
                    name),
        error.cause());
  }
  return std::move(error).with_context(name);
}

}  // namespace

Result<std::vector<SetupItem>> inspect_setup(pg::Connection& connection,
                                             const pg::SqlIdent& schema) {
  DIL_TRY(std::set<std::string> indexes, names_of(connection, kPresentIndexes, schema));
  DIL_TRY(std::set<std::string> triggers, names_of(connection, kPresentTriggers, schema));
  std::vector<SetupItem> out;
  for (const Index& index : kIndexes) {
    std::string name(index.name);
    out.push_back({name, std::string(index.purpose), indexes.contains(name)});
  }
  for (const Trigger& trigger : kTriggers) {
    std::string name(trigger.name);
    out.push_back({name, std::string(trigger.purpose), triggers.contains(name)});
  }
  return out;
}

Result<std::vector<DuplicateDelete>> find_duplicate_deletes(pg::Connection& connection,
                                                            const pg::SqlIdent& schema) {
  DIL_TRY(
      pg::ResultSet rows,
      connection.exec(Statement{pg::sql_for_schema(schema, kDuplicates), {}, pg::Prepare::kOnce}));
  std::vector<DuplicateDelete> out;
  for (pg::Row row : rows) {
    pg::RowReader in(row);
    DuplicateDelete item;
    item.table_id = in.int64();
    item.data_file_id = in.int64();
    item.live_delete_files = in.int64();
    DIL_CHECK_OK(in.status());
    out.push_back(item);
  }
  return out;
}

Result<Ownership> inspect_ownership(pg::Connection& connection, const pg::SqlIdent& schema) {
  Ownership out;
  DIL_TRY(pg::ResultSet role, connection.exec(Statement{kRole, {}, pg::Prepare::kOnce}));
  pg::RowReader in(role.row(0));
  out.current_role = in.text();
  out.may_create_schema = in.boolean();
  DIL_CHECK_OK(in.status());
  DIL_TRY(std::set<std::string> foreign, names_of(connection, kForeign, schema));
  out.foreign_tables.assign(foreign.begin(), foreign.end());
  return out;
}

Result<std::int64_t> count_other_sessions(pg::Connection& connection) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kOtherSessions, {}, pg::Prepare::kOnce}));
  return rows.row(0).int64(0);
}

Status install_setup(pg::Connection& connection, const pg::SqlIdent& schema) {
  DIL_TRY(std::vector<DuplicateDelete> duplicates, find_duplicate_deletes(connection, schema));
  if (!duplicates.empty()) {
    return make_error(
        Code::kAlreadyExists,
        "{} data files have more than one live delete file (first: data_file_id {} of table {}); "
        "DuckLake shows their rows twice. Rewrite these tables with ducklake_rewrite_data_files, "
        "then run init again",
        duplicates.size(), duplicates[0].data_file_id, duplicates[0].table_id);
  }
  for (const Index& index : kIndexes) {
    auto made = connection.exec(
        Statement{pg::sql_for_schema(schema, index.sql), {}, pg::Prepare::kOnce, index.name});
    if (!made.has_value()) return explain(std::move(made).error(), index.name);
  }
  DIL_TRY(std::set<std::string> present, names_of(connection, kPresentTriggers, schema));
  for (const Trigger& trigger : kTriggers) {
    if (present.contains(std::string(trigger.name))) continue;
    auto made = connection.exec(
        Statement{pg::sql_for_schema(schema, trigger.sql), {}, pg::Prepare::kOnce, trigger.name});
    // 42710: another process was faster.
    if (!made.has_value() && pg::sqlstate(made.error()) != "42710") {
      return explain(std::move(made).error(), trigger.name);
    }
  }
  DIL_TRY(pg::ResultSet filled,
          connection.exec(
              Statement{pg::sql_for_schema(schema, kInlinedVersions), {}, pg::Prepare::kOnce}));
  (void)filled;
  return {};
}

}  // namespace duckicelake::store
