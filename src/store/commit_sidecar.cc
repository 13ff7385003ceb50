// SPDX-License-Identifier: Apache-2.0
#include "store/commit_sidecar.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kInsertSnapshot =
    "INSERT INTO duckicelake.client_snapshot (catalog_id, table_id, client_id, "
    "ducklake_snapshot_id, is_main, is_published, parent_id, schema_id, summary, manifest_list, "
    "first_row_id, added_rows, key_id) VALUES ($1,$2,$3,$4,$5,$6,$7,$8::int,$9,$10,$11,$12,$13)";
constexpr Sql kSelectSnapshot =
    "SELECT client_id, ducklake_snapshot_id, is_main, is_published, parent_id, schema_id::bigint, "
    "summary, manifest_list, first_row_id, added_rows, key_id FROM duckicelake.client_snapshot "
    "WHERE catalog_id = $1 AND table_id = $2 ";
constexpr Sql kMarkPublished =
    "UPDATE duckicelake.client_snapshot SET is_published = true WHERE catalog_id = $1 "
    "AND table_id = $2 AND client_id = ANY($3)";
constexpr Sql kMoveToMain =
    "UPDATE duckicelake.client_snapshot SET is_main = true, is_published = true, "
    "ducklake_snapshot_id = $4, parent_id = $5 WHERE catalog_id = $1 AND table_id = $2 AND "
    "client_id = $3";
constexpr Sql kSaveState =
    "UPDATE duckicelake.table_state SET document = $3, refs = $4, spec_binding = $5, sort_binding "
    "= $6, main_after = $7, must_rewrite = must_rewrite OR $8, is_dirty = true, updated_at = now() "
    "WHERE catalog_id = $1 AND table_id = $2";
constexpr Sql kSetProperties =
    "INSERT INTO duckicelake.table_property (catalog_id, table_id, key, value) "
    "SELECT $1, $2, k, v FROM unnest($3::text[], $4::text[]) AS u(k, v) "
    "ON CONFLICT (catalog_id, table_id, key) DO UPDATE SET value = excluded.value";
constexpr Sql kDropProperties =
    "DELETE FROM duckicelake.table_property WHERE catalog_id = $1 AND table_id = $2 AND key = "
    "ANY($3)";
constexpr Sql kInsertFiles =
    "WITH m AS (INSERT INTO duckicelake.committed_manifest (entries) VALUES ($4) RETURNING serial) "
    "INSERT INTO duckicelake.committed_file (catalog_id, table_id, data_file_id, manifest_serial, "
    "entry_index) SELECT $1, $2, f.id, m.serial, f.position - 1 FROM m, "
    "unnest($3::bigint[]) WITH ORDINALITY AS f(id, position)";
constexpr Sql kSelectFiles =
    "SELECT m.serial, m.entries, array_agg(f.data_file_id ORDER BY f.entry_index), "
    "array_agg(f.entry_index::bigint ORDER BY f.entry_index) FROM duckicelake.committed_file f "
    "JOIN duckicelake.committed_manifest m ON m.serial = f.manifest_serial "
    "WHERE f.catalog_id = $1 AND f.table_id = $2 AND ";

Result<ClientSnapshot> read_snapshot(const pg::Row& row) {
  RowReader in(row);
  ClientSnapshot out;
  out.client_id = in.int64();
  out.ducklake_id = SnapshotId(in.int64());
  out.is_main = in.boolean();
  out.is_published = in.boolean();
  out.parent_id = in.optional_int64();
  if (auto schema = in.optional_int64()) out.schema_id = static_cast<std::int32_t>(*schema);
  out.summary = in.text();
  out.manifest_list = in.text();
  out.first_row_id = in.optional_int64();
  out.added_rows = in.optional_int64();
  out.key_id = in.optional_text();
  DIL_CHECK_OK(in.status());
  return out;
}

Result<std::vector<ClientSnapshot>> read_snapshots(pg::Connection& connection,
                                                   const Statement& statement) {
  DIL_TRY(pg::ResultSet rows, connection.exec(statement));
  std::vector<ClientSnapshot> out;
  for (pg::Row row : rows) {
    DIL_TRY(ClientSnapshot snapshot, read_snapshot(row));
    out.push_back(std::move(snapshot));
  }
  return out;
}

Result<std::vector<CommittedFiles>> read_files(pg::Connection& connection,
                                               const Statement& statement) {
  DIL_TRY(pg::ResultSet rows, connection.exec(statement));
  std::vector<CommittedFiles> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    (void)in.int64();
    CommittedFiles files;
    files.manifest = in.bytea();
    const std::vector<std::int64_t> ids = in.int64_array();
    const std::vector<std::int64_t> indexes = in.int64_array();
    DIL_CHECK_OK(in.status());
    for (std::size_t i = 0; i < ids.size() && i < indexes.size(); ++i) {
      files.files.emplace_back(ids[i], static_cast<std::int32_t>(indexes[i]));
    }
    out.push_back(std::move(files));
  }
  return out;
}

Statement client_snapshots_statement(const Lake& lake, TableId table,
                                     std::span<const std::int64_t> ducklake_ids) {
  return {kSelectSnapshot + "AND is_main AND ducklake_snapshot_id = ANY($3)",
          {lake.catalog_id, table, Param::int64_array(ducklake_ids)}};
}

Statement unpublished_statement(const Lake& lake, TableId table) {
  return {kSelectSnapshot + "AND NOT is_main AND NOT is_published ORDER BY ducklake_snapshot_id",
          {lake.catalog_id, table}};
}

Statement committed_files_statement(const Lake& lake, TableId table, std::int64_t min_file_id) {
  return {kSelectFiles + "f.data_file_id >= $3 GROUP BY m.serial",
          {lake.catalog_id, table, min_file_id}};
}

}  // namespace

std::vector<Statement> committed_statements(const Lake& lake, TableId table,
                                            std::span<const std::int64_t> ducklake_ids,
                                            std::int64_t min_file_id) {
  return {client_snapshots_statement(lake, table, ducklake_ids), unpublished_statement(lake, table),
          committed_files_statement(lake, table, min_file_id)};
}

Status insert_client_snapshot(pg::Transaction& transaction, const Lake& lake, TableId table,
                              const ClientSnapshot& snapshot) {
  transaction.defer(Statement{
      kInsertSnapshot,
      {lake.catalog_id, table, snapshot.client_id, snapshot.ducklake_id, snapshot.is_main,
       snapshot.is_published, snapshot.parent_id, snapshot.schema_id, snapshot.summary,
       snapshot.manifest_list, snapshot.first_row_id, snapshot.added_rows, snapshot.key_id}});
  return {};
}

Result<std::optional<ClientSnapshot>> find_client_snapshot(pg::Connection& connection,
                                                           const Lake& lake, TableId table,
                                                           std::int64_t client_id) {
  DIL_TRY(std::vector<ClientSnapshot> found,
          read_snapshots(connection, Statement{kSelectSnapshot + "AND client_id = $3",
                                               {lake.catalog_id, table, client_id}}));
  if (found.empty()) return std::optional<ClientSnapshot>();
  return std::optional<ClientSnapshot>(std::move(found.front()));
}

Result<std::vector<ClientSnapshot>> load_client_snapshots(
    pg::Connection& connection, const Lake& lake, TableId table,
    std::span<const std::int64_t> ducklake_ids) {
  return read_snapshots(connection, client_snapshots_statement(lake, table, ducklake_ids));
}

Result<std::vector<ClientSnapshot>> load_unpublished(pg::Connection& connection, const Lake& lake,
                                                     TableId table) {
  return read_snapshots(connection, unpublished_statement(lake, table));
}

Status mark_published(pg::Transaction& transaction, const Lake& lake, TableId table,
                      std::span<const std::int64_t> client_ids) {
  if (client_ids.empty()) return {};
  transaction.defer(
      Statement{kMarkPublished, {lake.catalog_id, table, Param::int64_array(client_ids)}});
  return {};
}

Status move_to_main(pg::Transaction& transaction, const Lake& lake, TableId table,
                    std::int64_t client_id, SnapshotId ducklake_id,
                    std::optional<std::int64_t> parent_id) {
  transaction.defer(
      Statement{kMoveToMain, {lake.catalog_id, table, client_id, ducklake_id, parent_id}});
  return {};
}

Status save_committed_state(pg::Transaction& transaction, const Lake& lake, TableId table,
                            const CommittedState& state) {
  transaction.defer(
      Statement{kSaveState,
                {lake.catalog_id, table, state.document, state.refs, state.spec_binding,
                 state.sort_binding, state.main_after, state.must_rewrite}});
  return {};
}

Status change_table_properties(pg::Transaction& transaction, const Lake& lake, TableId table,
                               const std::map<std::string, std::string>& set,
                               std::span<const std::string> dropped) {
  std::vector<Statement> statements;
  std::vector<std::string> keys, values;
  for (const auto& [key, value] : set) {
    keys.push_back(key);
    values.push_back(value);
  }
  if (!keys.empty()) {
    statements.push_back(
        {kSetProperties,
         {lake.catalog_id, table, Param::text_array(keys), Param::text_array(values)}});
  }
  if (!dropped.empty()) {
    statements.push_back({kDropProperties, {lake.catalog_id, table, Param::text_array(dropped)}});
  }
  for (Statement& statement : statements) transaction.defer(std::move(statement));
  return {};
}

Status insert_committed_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                              std::span<const std::int64_t> ids, std::string manifest) {
  transaction.defer(Statement{
      kInsertFiles,
      {lake.catalog_id, table, Param::int64_array(ids), Param::bytea(std::move(manifest))}});
  return {};
}

Result<std::vector<CommittedFiles>> load_committed_files(pg::Connection& connection,
                                                         const Lake& lake, TableId table,
                                                         std::int64_t min_file_id) {
  return read_files(connection, committed_files_statement(lake, table, min_file_id));
}

Result<std::vector<CommittedFiles>> load_committed_files_of(pg::Connection& connection,
                                                            const Lake& lake, TableId table,
                                                            std::span<const std::int64_t> ids) {
  return read_files(connection,
                    Statement{kSelectFiles + "f.data_file_id = ANY($3) GROUP BY m.serial",
                              {lake.catalog_id, table, Param::int64_array(ids)}});
}

}  // namespace duckicelake::store
