// SPDX-License-Identifier: Apache-2.0
#include "store/lake.h"

#include <map>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kMetadataTable =
    "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
    "c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = 'ducklake_metadata'";

constexpr Sql kMetadata =
    "SELECT key, value FROM {schema}.ducklake_metadata WHERE scope IS NULL "
    "AND key IN ('version', 'data_path', 'encrypted')";

constexpr Sql kHead =
    "SELECT (SELECT snapshot_id FROM {schema}.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT "
    "1), "
    "coalesce((SELECT value FROM duckicelake.revision WHERE metadata_schema = $1), 0), "
    "v.value, v.catalogs, coalesce((SELECT registration FROM duckicelake.catalog "
    "WHERE catalog_id = $2 AND state = 'open'), 0) FROM duckicelake.access_version v";

constexpr Sql kChanges =
    "SELECT s.snapshot_id, coalesce(c.changes_made, '') FROM {schema}.ducklake_snapshot s "
    "LEFT JOIN {schema}.ducklake_snapshot_changes c USING (snapshot_id) "
    "WHERE s.snapshot_id > $1 ORDER BY s.snapshot_id LIMIT $2";

constexpr Sql kTable =
    "SELECT t.table_uuid::text, t.begin_snapshot, t.schema_id, s.schema_name, t.table_name, "
    "coalesce(s.path, ''), coalesce(s.path_is_relative, true), coalesce(t.path, ''), "
    "coalesce(t.path_is_relative, true), "
    "(SELECT min(f.begin_snapshot) FROM {schema}.ducklake_table f WHERE f.table_id = t.table_id) "
    "FROM {schema}.ducklake_table t JOIN {schema}.ducklake_schema s USING (schema_id) "
    "WHERE t.table_id = $1 AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL";

constexpr Sql kColumns =
    "SELECT column_id, begin_snapshot, end_snapshot, coalesce(column_order, 0), column_name, "
    "column_type, "
    "initial_default, default_value, coalesce(default_value_type, ''), coalesce(nulls_allowed, "
    "true), "
    "parent_column FROM {schema}.ducklake_column WHERE table_id = $1 ORDER BY begin_snapshot, "
    "column_id";

constexpr Sql kColumnTags =
    "SELECT column_id, begin_snapshot, end_snapshot, key, value FROM {schema}.ducklake_column_tag "
    "WHERE table_id = $1 ORDER BY begin_snapshot";

constexpr Sql kComment =
    "SELECT value FROM {schema}.ducklake_tag WHERE object_id = $1 AND key = 'comment' "
    "AND end_snapshot IS NULL";

constexpr Sql kPartitions =
    "SELECT p.partition_id, p.begin_snapshot, p.end_snapshot, c.partition_key_index, c.column_id, "
    "c.transform FROM {schema}.ducklake_partition_info p LEFT JOIN "
    "{schema}.ducklake_partition_column c "
    "ON c.partition_id = p.partition_id AND c.table_id = p.table_id WHERE p.table_id = $1 "
    "ORDER BY p.begin_snapshot, p.partition_id, c.partition_key_index";

constexpr Sql kSorts =
    "SELECT i.sort_id, i.begin_snapshot, i.end_snapshot, e.expression, e.sort_direction, "
    "e.null_order "
    "FROM {schema}.ducklake_sort_info i LEFT JOIN {schema}.ducklake_sort_expression e "
    "ON e.sort_id = i.sort_id AND e.table_id = i.table_id WHERE i.table_id = $1 "
    "ORDER BY i.begin_snapshot, i.sort_id, e.sort_key_index";

constexpr Sql kTableStats =
    "SELECT coalesce(record_count, 0), coalesce(next_row_id, 0) FROM {schema}.ducklake_table_stats "
    "WHERE table_id = $1";

constexpr Sql kTableColumnStats =
    "SELECT column_id, max_value FROM {schema}.ducklake_table_column_stats WHERE table_id = $1";

constexpr Sql kNameMappings =
    "SELECT n.mapping_id, n.column_id, n.source_name, n.target_field_id, n.parent_column, "
    "coalesce(n.is_partition, false) FROM {schema}.ducklake_column_mapping m "
    "JOIN {schema}.ducklake_name_mapping n USING (mapping_id) WHERE m.table_id = $1 "
    "ORDER BY n.mapping_id, n.column_id";

constexpr Sql kInlinedTables =
    "SELECT table_name, schema_version FROM {schema}.ducklake_inlined_data_tables WHERE table_id = "
    "$1 "
    "ORDER BY schema_version";

constexpr Sql kInlinedDeleteTable =
    "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
    "c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = $2";

constexpr Sql kSnapshots =
    "SELECT s.snapshot_id, (extract(epoch FROM s.snapshot_time) * 1000000)::bigint, "
    "s.next_file_id, "
    "coalesce(c.changes_made, ''), coalesce(c.author, ''), coalesce(c.commit_message, '') "
    "FROM {schema}.ducklake_snapshot s LEFT JOIN {schema}.ducklake_snapshot_changes c USING "
    "(snapshot_id) "
    "WHERE s.snapshot_id = ANY($1) ORDER BY s.snapshot_id";

constexpr Sql kSnapshotFrom =
    "SELECT s.snapshot_id, (extract(epoch FROM s.snapshot_time) * 1000000)::bigint, "
    "s.next_file_id, "
    "coalesce(c.changes_made, ''), coalesce(c.author, ''), coalesce(c.commit_message, '') "
    "FROM {schema}.ducklake_snapshot s LEFT JOIN {schema}.ducklake_snapshot_changes c USING "
    "(snapshot_id) "
    "WHERE s.snapshot_id >= $1 ORDER BY s.snapshot_id LIMIT 1";

ducklake::Lifetime lifetime(RowReader& in) {
  ducklake::Lifetime life;
  life.begin = SnapshotId(in.int64());
  if (auto end = in.optional_int64()) life.end = SnapshotId(*end);
  return life;
}

Result<ducklake::SnapshotRow> read_snapshot(const pg::Row& row) {
  RowReader in(row);
  ducklake::SnapshotRow out;
  out.id = SnapshotId(in.int64());
  out.time_micros = in.int64();
  out.next_file_id = in.int64();
  out.changes_made = in.text();
  out.author = in.text();
  out.commit_message = in.text();
  DIL_CHECK_OK(in.status());
  return out;
}

Status read_table(const pg::Row& row, const Lake& lake, TableId id, TableDefinition& out) {
  RowReader in(row);
  out.table.table_id = id;
  out.table.uuid = in.text();
  out.table.life.begin = SnapshotId(in.int64());
  out.table.schema_id = SchemaId(in.int64());
  out.table.schema_name = in.text();
  out.table.name = in.text();
  std::string schema_path = in.text();
  const bool schema_relative = in.boolean();
  std::string table_path = in.text();
  const bool table_relative = in.boolean();
  out.first_begin = SnapshotId(in.int64());
  DIL_CHECK_OK(in.status());
  out.table.path = join_path(join_path(lake.data_path, schema_path, schema_relative), table_path,
                             table_relative);
  if (!out.table.path.ends_with('/')) out.table.path.push_back('/');
  return {};
}

Status read_columns(const pg::ResultSet& rows, TableDefinition& out) {
  out.columns.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    ducklake::ColumnRow column;
    column.column_id = FieldId(static_cast<std::int32_t>(in.int64()));
    column.life = lifetime(in);
    column.order = in.int64();
    column.name = in.text();
    column.type = in.text();
    column.initial_default = in.optional_text();
    column.default_value = in.optional_text();
    column.default_value_type = in.text();
    column.nulls_allowed = in.boolean();
    if (auto parent = in.optional_int64())
      column.parent = FieldId(static_cast<std::int32_t>(*parent));
    DIL_CHECK_OK(in.status());
    out.columns.push_back(std::move(column));
  }
  return {};
}

Status read_tags(const pg::ResultSet& rows, TableDefinition& out) {
  for (pg::Row row : rows) {
    RowReader in(row);
    ducklake::ColumnTagRow tag;
    tag.column_id = FieldId(static_cast<std::int32_t>(in.int64()));
    tag.life = lifetime(in);
    tag.key = in.text();
    tag.value = in.optional_text();
    DIL_CHECK_OK(in.status());
    out.column_tags.push_back(std::move(tag));
  }
  return {};
}

Status read_partitions(const pg::ResultSet& rows, TableDefinition& out) {
  for (pg::Row row : rows) {
    RowReader in(row);
    const std::int64_t id = in.int64();
    ducklake::Lifetime life = lifetime(in);
    auto key_index = in.optional_int64();
    auto column = in.optional_int64();
    auto transform = in.optional_text();
    DIL_CHECK_OK(in.status());
    if (out.partitions.empty() || out.partitions.back().partition_id != id) {
      out.partitions.push_back({id, life, {}});
    }
    if (key_index && column && transform) {
      out.partitions.back().columns.push_back(
          {*key_index, FieldId(static_cast<std::int32_t>(*column)), std::move(*transform)});
    }
  }
  return {};
}

Status read_sorts(const pg::ResultSet& rows, TableDefinition& out) {
  for (pg::Row row : rows) {
    RowReader in(row);
    const std::int64_t id = in.int64();
    ducklake::Lifetime life = lifetime(in);
    auto expression = in.optional_text();
    auto direction = in.optional_text();
    auto null_order = in.optional_text();
    DIL_CHECK_OK(in.status());
    if (out.sorts.empty() || out.sorts.back().sort_id != id) out.sorts.push_back({id, life, {}});
    if (expression) {
      out.sorts.back().expressions.push_back(
          {std::move(*expression), direction.value_or("ASC"), null_order.value_or("NULLS_LAST")});
    }
  }
  return {};
}

Status read_mappings(const pg::ResultSet& rows, TableDefinition& out) {
  for (pg::Row row : rows) {
    RowReader in(row);
    ducklake::NameMappingRow mapping;
    mapping.mapping_id = in.int64();
    mapping.column_id = in.int64();
    mapping.source_name = in.text();
    mapping.target_field_id = FieldId(static_cast<std::int32_t>(in.int64()));
    mapping.parent_column = in.optional_int64();
    mapping.is_partition = in.boolean();
    DIL_CHECK_OK(in.status());
    out.name_mappings.push_back(std::move(mapping));
  }
  return {};
}

}  // namespace

std::string iceberg_only_root(const Lake& lake) {
  std::string base = lake.data_path;
  while (base.ends_with('/')) base.pop_back();
  return base + "-iceberg/" + lake.catalog_id + "/";
}

Result<Lake> open_lake(pg::Connection& connection, std::string catalog_id, pg::SqlIdent schema) {
  DIL_TRY(pg::ResultSet exists, connection.exec(kMetadataTable, {schema.name()}));
  DIL_TRY(std::int64_t count, exists.row(0).int64(0));
  if (count == 0) {
    return make_error(Code::kNotFound, "PostgreSQL schema \"{}\" holds no DuckLake", schema.name());
  }
  DIL_TRY(pg::ResultSet rows, connection.exec(pg::sql_for_schema(schema, kMetadata)));
  Lake lake{std::move(catalog_id), std::move(schema), "", ""};
  bool encrypted = false;
  for (pg::Row row : rows) {
    RowReader in(row);
    std::string key = in.text();
    std::string value = in.text();
    DIL_CHECK_OK(in.status());
    if (key == "version") lake.format_version = value;
    if (key == "data_path") lake.data_path = value;
    if (key == "encrypted") encrypted = value == "true";
  }
  if (lake.format_version != "1.0" && lake.format_version != "0.4") {
    return make_error(Code::kUnsupported,
                      "the DuckLake has format version \"{}\"; versions 1.0 and 0.4 are known",
                      lake.format_version);
  }
  if (encrypted) {
    return Error(Code::kUnsupported,
                 "encrypted DuckLakes cannot be served: their Parquet files do not "
                 "open for Iceberg clients");
  }
  if (!lake.data_path.starts_with("s3://")) {
    return make_error(Code::kUnsupported, "the DuckLake's DATA_PATH \"{}\" is not on S3",
                      lake.data_path);
  }
  if (!lake.data_path.ends_with('/')) lake.data_path.push_back('/');
  return lake;
}

pg::Statement head_statement(const Lake& lake) {
  return {pg::sql_for_schema(lake.metadata_schema, kHead),
          {lake.metadata_schema.name(), lake.catalog_id},
          pg::Prepare::kCached,
          "load head"};
}

Result<LakeHead> read_head(const pg::ResultSet& rows) {
  DIL_TRY(pg::Row row, rows.only_row());
  LakeHead head;
  DIL_TRY(std::int64_t snapshot, row.int64(0));
  head.snapshot = SnapshotId(snapshot);
  DIL_TRY(head.revision, row.int64(1));
  DIL_TRY(head.access, row.int64(2));
  DIL_TRY(head.catalogs, row.int64(3));
  DIL_TRY(head.registration, row.int64(4));
  return head;
}

Result<LakeHead> load_head(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(head_statement(lake)));
  return read_head(rows);
}

pg::Statement changes_statement(const Lake& lake, SnapshotId after, std::int64_t limit) {
  return {pg::sql_for_schema(lake.metadata_schema, kChanges),
          {after, limit},
          pg::Prepare::kCached,
          "load changes"};
}

Result<std::vector<ChangesRow>> read_changes(const pg::ResultSet& rows) {
  std::vector<ChangesRow> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    ChangesRow change;
    change.snapshot = SnapshotId(in.int64());
    change.changes_made = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(change));
  }
  return out;
}

Result<std::vector<ChangesRow>> load_changes(pg::Connection& connection, const Lake& lake,
                                             SnapshotId after, std::int64_t limit) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(changes_statement(lake, after, limit)));
  return read_changes(rows);
}

std::array<pg::Statement, 2> stats_statements(const Lake& lake, TableId table) {
  return {Statement{pg::sql_for_schema(lake.metadata_schema, kTableStats), {table}},
          Statement{pg::sql_for_schema(lake.metadata_schema, kTableColumnStats), {table}}};
}

Result<std::optional<ducklake::TableStats>> read_stats(const pg::ResultSet& totals,
                                                       const pg::ResultSet& columns) {
  if (totals.empty()) return std::optional<ducklake::TableStats>();
  ducklake::TableStats stats;
  RowReader in(totals.row(0));
  stats.record_count = in.int64();
  stats.next_row_id = in.int64();
  DIL_CHECK_OK(in.status());
  for (pg::Row row : columns) {
    RowReader column(row);
    const auto id = static_cast<std::int32_t>(column.int64());
    stats.max_values[id] = column.optional_text();
    DIL_CHECK_OK(column.status());
  }
  return std::optional<ducklake::TableStats>(std::move(stats));
}

Result<std::optional<TableDefinition>> load_table_definition(pg::Connection& connection,
                                                             const Lake& lake, TableId table) {
  const auto sql = [&](const Sql& text) { return pg::sql_for_schema(lake.metadata_schema, text); };
  const std::string inlined_delete = fmt::format("ducklake_inlined_delete_{}", table.value);
  std::vector<Statement> statements;
  statements.push_back({sql(kTable), {table}});
  statements.push_back({sql(kColumns), {table}});
  statements.push_back({sql(kColumnTags), {table}});
  statements.push_back({sql(kComment), {table}});
  statements.push_back({sql(kPartitions), {table}});
  statements.push_back({sql(kSorts), {table}});
  statements.push_back({sql(kTableStats), {table}});
  statements.push_back({sql(kTableColumnStats), {table}});
  statements.push_back({sql(kNameMappings), {table}});
  statements.push_back({sql(kInlinedTables), {table}});
  statements.push_back({kInlinedDeleteTable, {lake.metadata_schema.name(), inlined_delete}});
  DIL_TRY(std::vector<pg::ResultSet> results, connection.batch(statements));
  if (results[0].empty()) return std::optional<TableDefinition>();

  TableDefinition out;
  DIL_CHECK_OK(read_table(results[0].row(0), lake, table, out));
  DIL_CHECK_OK(read_columns(results[1], out));
  DIL_CHECK_OK(read_tags(results[2], out));
  if (!results[3].empty()) {
    if (auto comment = results[3].value(0, 0)) out.comment = std::string(*comment);
  }
  DIL_CHECK_OK(read_partitions(results[4], out));
  DIL_CHECK_OK(read_sorts(results[5], out));
  DIL_TRY(out.stats, read_stats(results[6], results[7]));
  DIL_CHECK_OK(read_mappings(results[8], out));
  for (pg::Row row : results[9]) {
    RowReader in(row);
    ducklake::InlinedTable inlined;
    inlined.name = in.text();
    inlined.schema_version = in.int64();
    DIL_CHECK_OK(in.status());
    out.inlined_tables.push_back(std::move(inlined));
  }
  DIL_TRY(std::int64_t delete_tables, results[10].row(0).int64(0));
  out.has_inlined_deletes = delete_tables > 0;
  return std::optional<TableDefinition>(std::move(out));
}

Statement snapshots_statement(const Lake& lake, const std::vector<std::int64_t>& ids) {
  return {pg::sql_for_schema(lake.metadata_schema, kSnapshots),
          {pg::Param::int64_array(ids)},
          pg::Prepare::kCached,
          "load snapshots"};
}

Result<std::vector<ducklake::SnapshotRow>> load_snapshots(pg::Connection& connection,
                                                          const Lake& lake,
                                                          const std::vector<std::int64_t>& ids) {
  DIL_TRY(pg::ResultSet rows, connection.exec(snapshots_statement(lake, ids)));
  std::vector<ducklake::SnapshotRow> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    DIL_TRY(ducklake::SnapshotRow snapshot, read_snapshot(row));
    out.push_back(std::move(snapshot));
  }
  return out;
}

Result<std::optional<ducklake::SnapshotRow>> load_snapshot_from(pg::Connection& connection,
                                                                const Lake& lake,
                                                                SnapshotId at_least) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(
              Statement{pg::sql_for_schema(lake.metadata_schema, kSnapshotFrom), {at_least}}));
  if (rows.empty()) return std::optional<ducklake::SnapshotRow>();
  DIL_TRY(ducklake::SnapshotRow snapshot, read_snapshot(rows.row(0)));
  return std::optional<ducklake::SnapshotRow>(std::move(snapshot));
}

}  // namespace duckicelake::store
