// SPDX-License-Identifier: Apache-2.0
#include "store/sidecar.h"

#include <algorithm>
#include <set>

#include "ducklake/changes.h"
#include "pg/transaction.h"
#include "store/paths.h"
#include "store/registry_lock.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kRegister =
    "INSERT INTO duckicelake.catalog (catalog_id, metadata_schema, data_path) VALUES ($1, $2, $3)";
constexpr Sql kMove = "UPDATE duckicelake.catalog SET data_path = $2 WHERE catalog_id = $1";
constexpr Sql kStartRevision =
    "INSERT INTO duckicelake.revision (metadata_schema) VALUES ($1) ON CONFLICT DO NOTHING";

constexpr Sql kIndexedTo = "SELECT indexed_to FROM duckicelake.catalog WHERE catalog_id = $1";
constexpr Sql kLockIndex =
    "SELECT indexed_to FROM duckicelake.catalog WHERE catalog_id = $1 FOR UPDATE";
constexpr Sql kInsertChanges =
    "INSERT INTO duckicelake.table_change (catalog_id, table_id, snapshot_id, is_compaction) "
    "SELECT $1, t, s, c = 1 FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u(t, s, c) "
    "ON CONFLICT DO NOTHING";
constexpr Sql kSetIndexed = "UPDATE duckicelake.catalog SET indexed_to = $2 WHERE catalog_id = $1";
constexpr Sql kTableChanges =
    "SELECT snapshot_id, is_compaction FROM duckicelake.table_change WHERE catalog_id = $1 "
    "AND table_id = $2 AND snapshot_id > $3 AND snapshot_id <= $4 ORDER BY snapshot_id";

constexpr Sql kLoadVersion =
    "SELECT version, is_dirty FROM duckicelake.table_state WHERE catalog_id = $1 AND table_id = $2";
constexpr Sql kLoadVersions =
    "SELECT table_id, version, is_dirty FROM duckicelake.table_state WHERE catalog_id = $1 AND "
    "table_id = ANY($2)";
constexpr Sql kLoadState =
    "SELECT version, through_snapshot, next_file_id, revision, retired_serial, metadata_location, "
    "document, "
    "manifests, ranges, totals, inlined_keys, must_rewrite, refs, is_dirty, spec_binding, "
    "sort_binding, main_after FROM duckicelake.table_state "
    "WHERE catalog_id = $1 AND table_id = $2";
constexpr Sql kSaveState =
    "INSERT INTO duckicelake.table_state (catalog_id, table_id, version, through_snapshot, "
    "next_file_id, "
    "revision, retired_serial, metadata_location, document, manifests, ranges, totals, "
    "inlined_keys, "
    "must_rewrite, refs, is_dirty, spec_binding, sort_binding, main_after) "
    "VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19) "
    "ON CONFLICT (catalog_id, table_id) DO UPDATE SET version = excluded.version, "
    "through_snapshot = excluded.through_snapshot, next_file_id = excluded.next_file_id, "
    "revision = excluded.revision, retired_serial = excluded.retired_serial, "
    "metadata_location = excluded.metadata_location, document = excluded.document, "
    "manifests = excluded.manifests, ranges = excluded.ranges, totals = excluded.totals, "
    "inlined_keys = excluded.inlined_keys, must_rewrite = excluded.must_rewrite, "
    "refs = excluded.refs, is_dirty = excluded.is_dirty, spec_binding = excluded.spec_binding, "
    "sort_binding = excluded.sort_binding, main_after = excluded.main_after, updated_at = now()";
constexpr Sql kResetSnapshots =
    "DELETE FROM duckicelake.snapshot WHERE catalog_id = $1 AND table_id = $2 AND is_main";

constexpr Sql kPublished =
    "SELECT snapshot_id, document, is_main FROM duckicelake.snapshot WHERE catalog_id = $1 "
    "AND table_id = $2 AND NOT is_hidden ORDER BY snapshot_id";
constexpr Sql kSavePublished =
    "INSERT INTO duckicelake.snapshot (catalog_id, table_id, snapshot_id, document, is_main) "
    "SELECT $1, $2, s, d, m = 1 FROM unnest($3::bigint[], $4::text[], $5::bigint[]) AS u(s, d, m) "
    "ON CONFLICT (catalog_id, table_id, snapshot_id) DO UPDATE SET document = excluded.document, "
    "is_hidden = false";
constexpr Sql kHide =
    "UPDATE duckicelake.snapshot SET is_hidden = true WHERE catalog_id = $1 AND table_id = $2 "
    "AND snapshot_id = ANY($3)";
constexpr Sql kExpired =
    "SELECT p.snapshot_id FROM duckicelake.snapshot p WHERE p.catalog_id = $1 AND p.table_id = $2 "
    "AND p.is_main AND NOT p.is_hidden AND NOT EXISTS (SELECT FROM {schema}.ducklake_snapshot s "
    "WHERE s.snapshot_id = p.snapshot_id) ORDER BY p.snapshot_id";

constexpr Sql kRetired =
    "SELECT serial, data_file_id, begin_snapshot, end_snapshot, path, path_is_relative, is_gone "
    "FROM duckicelake.retired_file WHERE metadata_schema = $1 AND table_id = $2 AND serial > $3 "
    "UNION SELECT serial, data_file_id, begin_snapshot, end_snapshot, path, path_is_relative, "
    "is_gone "
    "FROM duckicelake.retired_file WHERE metadata_schema = $1 AND table_id = $2 AND is_gone "
    "ORDER BY serial";
constexpr Sql kForgetGone =
    "DELETE FROM duckicelake.retired_file WHERE metadata_schema = $1 AND table_id = $2 "
    "AND serial = ANY($3) AND is_gone";

constexpr Sql kInlinedFiles =
    "SELECT file_key, inlined_table, begin_snapshot, path, record_count, file_size_bytes, row_ids, "
    "stats "
    "FROM duckicelake.inlined_file WHERE catalog_id = $1 AND table_id = $2";
constexpr Sql kInsertInlined =
    "INSERT INTO duckicelake.inlined_file (catalog_id, table_id, inlined_table, begin_snapshot, "
    "path, "
    "record_count, file_size_bytes, row_ids, stats) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9) "
    "RETURNING file_key";

constexpr Sql kProperties =
    "SELECT key, value FROM duckicelake.table_property WHERE catalog_id = $1 AND table_id = $2";

constexpr Sql kLock = "SELECT pg_advisory_lock(hashtextextended($1, $2))";
constexpr Sql kUnlock = "SELECT pg_advisory_unlock(hashtextextended($1, $2))";

constexpr std::int64_t kIndexBatch = 2000;

Status write_index(pg::Connection& connection, const Lake& lake,
                   const std::vector<ChangesRow>& rows) {
  std::vector<std::int64_t> tables, snapshots, compactions;
  for (const ChangesRow& row : rows) {
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    std::map<std::int64_t, bool> touched;  // table -> a compaction word is among its words
    for (const ducklake::Change& change : changes) {
      if (change.touches_data()) touched[change.id] |= change.is_compaction();
    }
    for (const auto& [table, is_compaction] : touched) {
      tables.push_back(table);
      snapshots.push_back(row.snapshot.value);
      compactions.push_back(is_compaction ? 1 : 0);
    }
  }
  std::vector<Statement> statements;
  if (!tables.empty()) {
    statements.push_back({kInsertChanges,
                          {lake.catalog_id, Param::int64_array(tables),
                           Param::int64_array(snapshots), Param::int64_array(compactions)}});
  }
  statements.push_back({kSetIndexed, {lake.catalog_id, rows.back().snapshot}});
  DIL_TRY(auto results, connection.batch(statements));
  (void)results;
  return {};
}

}  // namespace

Status register_catalog(pg::Connection& connection, const Lake& lake) {
  const CatalogRow wanted{lake.catalog_id, lake.metadata_schema.name(), lake.data_path, {}};
  pg::Transaction transaction(connection);
  DIL_CHECK_OK(lock_registry(transaction));
  transaction.defer(Statement{kStartRevision, {wanted.metadata_schema}});
  DIL_TRY(const std::vector<CatalogRow> rows, load_catalogs(connection));
  const auto known =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.id == wanted.id; });
  if (known == rows.end()) {
    DIL_CHECK_OK(check_place_is_free(rows, wanted));
    transaction.defer(Statement{kRegister, {wanted.id, wanted.metadata_schema, wanted.data_path}});
  } else if (known->is_shared) {
    return make_error(Code::kAlreadyExists,
                      "catalog \"{}\" was made over REST: all servers of the database serve it "
                      "beside their own, and none has it as its own",
                      wanted.id);
  } else if (known->metadata_schema != wanted.metadata_schema) {
    return make_error(Code::kAlreadyExists,
                      "catalog \"{}\" is registered with metadata schema \"{}\", not \"{}\"",
                      wanted.id, known->metadata_schema, wanted.metadata_schema);
  } else if (known->data_path != wanted.data_path) {
    transaction.defer(Statement{kMove, {wanted.id, wanted.data_path}});
  }
  return transaction.commit();
}

Result<SnapshotId> catch_up_change_index(pg::Connection& connection, const Lake& lake) {
  while (true) {
    DIL_TRY(pg::ResultSet now, connection.exec(Statement{kIndexedTo, {lake.catalog_id}}));
    if (now.empty())
      return make_error(Code::kInternal, "catalog {} is not registered", lake.catalog_id);
    DIL_TRY(std::int64_t indexed, now.row(0).int64(0));
    DIL_TRY(std::vector<ChangesRow> rows,
            load_changes(connection, lake, SnapshotId(indexed), kIndexBatch));
    if (rows.empty()) return SnapshotId(indexed);
    pg::Transaction transaction(connection);
    DIL_TRY(pg::ResultSet locked, transaction.exec(Statement{kLockIndex, {lake.catalog_id}}));
    DIL_TRY(std::int64_t under_lock, locked.row(0).int64(0));
    if (under_lock != indexed) continue;  // another process was faster
    DIL_CHECK_OK(write_index(connection, lake, rows));
    DIL_CHECK_OK(transaction.commit());
    if (static_cast<std::int64_t>(rows.size()) < kIndexBatch) return rows.back().snapshot;
  }
}

Result<SnapshotId> load_index_end(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kIndexedTo, {lake.catalog_id}}));
  DIL_TRY(pg::Row row, rows.only_row());
  DIL_TRY(std::int64_t indexed, row.int64(0));
  return SnapshotId(indexed);
}

Result<std::vector<TableChange>> load_table_changes(pg::Connection& connection, const Lake& lake,
                                                    TableId table, SnapshotId after,
                                                    SnapshotId through) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{kTableChanges, {lake.catalog_id, table, after, through}}));
  std::vector<TableChange> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    TableChange change;
    change.snapshot = SnapshotId(in.int64());
    change.is_compaction = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(change);
  }
  return out;
}

namespace {

Result<std::optional<StateTag>> read_state_tag(const pg::ResultSet& rows) {
  if (rows.empty()) return std::optional<StateTag>();
  RowReader in(rows.row(0));
  StateTag tag;
  tag.version = in.int64();
  tag.is_dirty = in.boolean();
  DIL_CHECK_OK(in.status());
  return std::optional<StateTag>(tag);
}

Result<std::map<std::string, std::string>> read_properties(const pg::ResultSet& rows) {
  std::map<std::string, std::string> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    std::string key = in.text();
    out[std::move(key)] = in.text();
    DIL_CHECK_OK(in.status());
  }
  return out;
}

}  // namespace

Result<std::optional<StateTag>> load_state_tag(pg::Connection& connection, const Lake& lake,
                                               TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kLoadVersion, {lake.catalog_id, table}}));
  return read_state_tag(rows);
}

Result<std::unordered_map<TableId, StateTag>> load_state_tags(pg::Connection& connection,
                                                              const Lake& lake,
                                                              std::span<const TableId> tables) {
  std::vector<std::int64_t> ids;
  for (const TableId table : tables) ids.push_back(table.value);
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{kLoadVersions, {lake.catalog_id, Param::int64_array(ids)}}));
  std::unordered_map<TableId, StateTag> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    const TableId table(in.int64());
    StateTag tag;
    tag.version = in.int64();
    tag.is_dirty = in.boolean();
    DIL_CHECK_OK(in.status());
    out.emplace(table, tag);
  }
  return out;
}

std::vector<Statement> table_news_statements(const Lake& lake, TableId table, SnapshotId after,
                                             std::int64_t max_changes) {
  std::vector<Statement> statements = {head_statement(lake),
                                       changes_statement(lake, after, max_changes),
                                       {kLoadVersion, {lake.catalog_id, table}},
                                       {kProperties, {lake.catalog_id, table}}};
  for (Statement& statement : stats_statements(lake, table)) {
    statements.push_back(std::move(statement));
  }
  return statements;
}

Result<TableNews> load_table_news(pg::Connection& connection, const Lake& lake, TableId table,
                                  SnapshotId after, std::int64_t max_changes) {
  DIL_TRY(std::vector<pg::ResultSet> results,
          connection.batch(table_news_statements(lake, table, after, max_changes)));
  TableNews out;
  DIL_TRY(out.head, read_head(results[0]));
  DIL_TRY(out.changes, read_changes(results[1]));
  DIL_TRY(out.tag, read_state_tag(results[2]));
  DIL_TRY(out.properties, read_properties(results[3]));
  DIL_TRY(out.stats, read_stats(results[4], results[5]));
  return out;
}

Result<std::optional<TableState>> load_table_state(pg::Connection& connection, const Lake& lake,
                                                   TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kLoadState, {lake.catalog_id, table}}));
  if (rows.empty()) return std::optional<TableState>();
  RowReader in(rows.row(0));
  TableState state;
  state.version = in.int64();
  state.through = SnapshotId(in.int64());
  state.next_file_id = in.int64();
  state.revision = in.int64();
  state.retired_serial = in.int64();
  state.metadata_location = in.text();
  state.document = in.text();
  state.manifests = in.bytea();
  state.ranges = in.int64_array();
  state.totals = in.int64_array();
  state.inlined_keys = in.int64_array();
  state.must_rewrite = in.boolean();
  state.refs = in.text();
  state.is_dirty = in.boolean();
  state.spec_binding = in.optional_int64();
  state.sort_binding = in.optional_int64();
  state.main_after = in.int64();
  DIL_CHECK_OK(in.status());
  return std::optional<TableState>(std::move(state));
}

Status save_table_state(pg::Transaction& transaction, const Lake& lake, TableId table,
                        const TableState& state) {
  transaction.defer(Statement{
      kSaveState,
      {lake.catalog_id, table, state.version, state.through, state.next_file_id, state.revision,
       state.retired_serial, state.metadata_location, state.document, Param::bytea(state.manifests),
       Param::int64_array(state.ranges), Param::int64_array(state.totals),
       Param::int64_array(state.inlined_keys), state.must_rewrite, state.refs, state.is_dirty,
       state.spec_binding, state.sort_binding, state.main_after}});
  return {};
}

Status reset_table_state(pg::Connection& connection, const Lake& lake, TableId table) {
  DIL_TRY(auto rows, connection.exec(Statement{kResetSnapshots, {lake.catalog_id, table}}));
  (void)rows;
  return {};
}

Result<std::vector<PublishedSnapshot>> load_published(pg::Connection& connection, const Lake& lake,
                                                      TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kPublished, {lake.catalog_id, table}}));
  std::vector<PublishedSnapshot> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    PublishedSnapshot snapshot;
    snapshot.id = SnapshotId(in.int64());
    snapshot.document = in.text();
    snapshot.is_main = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(snapshot));
  }
  return out;
}

Status save_published(pg::Transaction& transaction, const Lake& lake, TableId table,
                      std::span<const PublishedSnapshot> snapshots) {
  if (snapshots.empty()) return {};
  std::vector<std::int64_t> ids, mains;
  std::vector<std::string> documents;
  for (const PublishedSnapshot& snapshot : snapshots) {
    ids.push_back(snapshot.id.value);
    documents.push_back(snapshot.document);
    mains.push_back(snapshot.is_main ? 1 : 0);
  }
  transaction.defer(Statement{kSavePublished,
                              {lake.catalog_id, table, Param::int64_array(ids),
                               Param::text_array(documents), Param::int64_array(mains)}});
  return {};
}

Status hide_published(pg::Transaction& transaction, const Lake& lake, TableId table,
                      std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  transaction.defer(Statement{kHide, {lake.catalog_id, table, Param::int64_array(ids)}});
  return {};
}

Result<std::vector<std::int64_t>> load_expired_published(pg::Connection& connection,
                                                         const Lake& lake, TableId table) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(lake.metadata_schema, kExpired),
                                    {lake.catalog_id, table}}));
  std::vector<std::int64_t> out;
  for (pg::Row row : rows) {
    DIL_TRY(std::int64_t id, row.int64(0));
    out.push_back(id);
  }
  return out;
}

Statement retired_statement(const Lake& lake, TableId table, std::int64_t after) {
  return {kRetired, {lake.metadata_schema.name(), table, after}};
}

Result<std::vector<RetiredFile>> load_retired(pg::Connection& connection, const Lake& lake,
                                              const ducklake::TableRow& table, std::int64_t after) {
  DIL_TRY(pg::ResultSet rows, connection.exec(retired_statement(lake, table.table_id, after)));
  std::vector<RetiredFile> out;
  for (pg::Row row : rows) {
    RowReader in(row);
    RetiredFile file;
    file.serial = in.int64();
    file.data_file_id = in.int64();
    file.begin = SnapshotId(in.int64());
    if (auto end = in.optional_int64()) file.end = SnapshotId(*end);
    std::string path = in.text();
    file.path = join_path(table.path, path, in.boolean());
    file.is_gone = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(file));
  }
  return out;
}

Status forget_gone(pg::Transaction& transaction, const Lake& lake, TableId table,
                   std::span<const std::int64_t> serials) {
  if (serials.empty()) return {};
  transaction.defer(
      Statement{kForgetGone, {lake.metadata_schema.name(), table, Param::int64_array(serials)}});
  return {};
}

Result<std::vector<InlinedFile>> load_inlined_files(pg::Connection& connection, const Lake& lake,
                                                    TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kInlinedFiles, {lake.catalog_id, table}}));
  std::vector<InlinedFile> out;
  out.reserve(rows.size());
  for (pg::Row row : rows) {
    RowReader in(row);
    InlinedFile file;
    file.key = -in.int64();
    file.inlined_table = in.text();
    file.begin = SnapshotId(in.int64());
    file.path = in.text();
    file.record_count = in.int64();
    file.file_size_bytes = in.int64();
    file.row_ids = in.int64_array();
    file.stats = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(file));
  }
  return out;
}

Status insert_inlined_file(pg::Connection& connection, const Lake& lake, TableId table,
                           InlinedFile& file) {
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{
              kInsertInlined,
              {lake.catalog_id, table, file.inlined_table, file.begin, file.path, file.record_count,
               file.file_size_bytes, Param::int64_array(file.row_ids), file.stats}}));
  DIL_TRY(std::int64_t key, rows.row(0).int64(0));
  file.key = -key;
  return {};
}

Result<std::map<std::string, std::string>> load_table_properties(pg::Connection& connection,
                                                                 const Lake& lake, TableId table) {
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kProperties, {lake.catalog_id, table}}));
  return read_properties(rows);
}

Status lock_table(pg::Connection& connection, const Lake& lake, TableId table) {
  DIL_TRY(auto rows, connection.exec(Statement{kLock, {lake.metadata_schema.name(), table}}));
  (void)rows;
  return {};
}

Status unlock_table(pg::Connection& connection, const Lake& lake, TableId table) {
  DIL_TRY(auto rows, connection.exec(Statement{kUnlock, {lake.metadata_schema.name(), table}}));
  (void)rows;
  return {};
}

}  // namespace duckicelake::store
