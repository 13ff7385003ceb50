// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/lake.h"

// The sidecar: PostgreSQL schema `duckicelake`, keyed by catalog id and by ids of tables, never by
// names.
namespace duckicelake::store {

// Creates or upgrades the sidecar. Any number of processes may call it at once.
Status migrate_sidecar(pg::Connection& connection);

// Registers the lake under its catalog id, as that of a process's own settings. kAlreadyExists when
// id, schema or place are registered otherwise, or are not apart from another catalog's.
Status register_catalog(pg::Connection& connection, const Lake& lake);

// --- which snapshots touched which table
// --------------------------------------------------------------------

struct TableChange {
  SnapshotId snapshot;
  bool is_compaction = false;
};

// Brings the index of changes up to the newest snapshot; amortised one read of each DuckLake
// snapshot, once in the life of the catalog for all processes together. Returns the snapshot it
// reaches to. Its own transactions.
Result<SnapshotId> catch_up_change_index(pg::Connection& connection, const Lake& lake);

// The snapshot that the index reaches to, as the connection's transaction sees it.
Result<SnapshotId> load_index_end(pg::Connection& connection, const Lake& lake);

// The snapshots after `after` up to `through` that changed the table's data, ascending.
Result<std::vector<TableChange>> load_table_changes(pg::Connection& connection, const Lake& lake,
                                                    TableId table, SnapshotId after,
                                                    SnapshotId through);

// --- what has been published of a table
// -----------------------------------------------------------------------

// A synthesised Parquet file that holds inlined rows of one snapshot. Its key is negative.
struct InlinedFile {
  std::int64_t key = 0;
  std::string inlined_table;
  SnapshotId begin;
  std::string path;  // absolute URI
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
  std::vector<std::int64_t> row_ids;  // by position in the file
  std::string stats;                  // JSON, see inlined_files.cc of the catalog module
};

// The state behind the newest published metadata of a table. `document` is table metadata without
// snapshots, log and refs; `manifests` is a manifest list in Avro.
struct TableState {
  std::int64_t version = 0;         // N of vN.metadata.json
  SnapshotId through;               // DuckLake snapshot up to which the table was projected
  std::int64_t next_file_id = 0;    // ducklake_snapshot.next_file_id there
  std::int64_t revision = 0;        // catalog revision that was taken into account
  std::int64_t retired_serial = 0;  // retired files up to this were taken into account
  std::string metadata_location;
  std::string document;
  std::string manifests;
  std::vector<std::int64_t> ranges;  // min and max file key for each manifest
  std::vector<std::int64_t>
      totals;  // data files, records, size, delete files, position deletes, next row id
  std::vector<std::int64_t> inlined_keys;  // inlined files that are live in the newest snapshot
  bool must_rewrite = false;  // the next snapshot rewrites all manifests (format upgrade)
  std::string refs = "{}";    // tags and branches but for main, a JSON object
  bool is_dirty = false;      // a commit changed document or refs since `version` was published
  // The DuckLake partitioning (sort order) under which the document's default one was chosen, -1:
  // none. As long as it is the live one, the document's choice holds, which may say more.
  std::optional<std::int64_t> spec_binding;
  std::optional<std::int64_t> sort_binding;
  // Snapshots up to this one are history: the table was replaced and has no current snapshot yet.
  std::int64_t main_after = -1;
};

// What tells whether a state in memory is the stored one; nullopt: nothing is stored.
struct StateTag {
  std::int64_t version = 0;
  bool is_dirty = false;
};
Result<std::optional<StateTag>> load_state_tag(pg::Connection& connection, const Lake& lake,
                                               TableId table);
// Of several tables; those without a state are left out.
Result<std::unordered_map<TableId, StateTag>> load_state_tags(pg::Connection& connection,
                                                              const Lake& lake,
                                                              std::span<const TableId> tables);
Result<std::optional<TableState>> load_table_state(pg::Connection& connection, const Lake& lake,
                                                   TableId table);
Status save_table_state(pg::Transaction& transaction, const Lake& lake, TableId table,
                        const TableState& state);
// Forgets what was published of main: the table is projected anew. What clients committed stays.
Status reset_table_state(pg::Connection& connection, const Lake& lake, TableId table);

struct PublishedSnapshot {
  SnapshotId id;
  std::string document;  // Iceberg snapshot JSON
  bool is_main = true;   // else of another branch, or staged: DuckLake does not know its id
};
// All published snapshots that were not taken off, ascending.
Result<std::vector<PublishedSnapshot>> load_published(pg::Connection& connection, const Lake& lake,
                                                      TableId table);
Status save_published(pg::Transaction& transaction, const Lake& lake, TableId table,
                      std::span<const PublishedSnapshot> snapshots);
Status hide_published(pg::Transaction& transaction, const Lake& lake, TableId table,
                      std::span<const std::int64_t> ids);

// Published snapshots that DuckLake has expired.
Result<std::vector<std::int64_t>> load_expired_published(pg::Connection& connection,
                                                         const Lake& lake, TableId table);

// A row that vanished from ducklake_data_file (merge, flush, expire): it was live in [begin, end).
struct RetiredFile {
  std::int64_t serial = 0;
  std::int64_t data_file_id = 0;
  SnapshotId begin;
  std::optional<SnapshotId> end;
  std::string path;      // absolute URI
  bool is_gone = false;  // the object was removed by DuckLake's cleanup
};
// Retired files of the table with a serial above `after`, and, whatever their serial, those that
// are gone.
Result<std::vector<RetiredFile>> load_retired(pg::Connection& connection, const Lake& lake,
                                              const ducklake::TableRow& table, std::int64_t after);
pg::Statement retired_statement(const Lake& lake, TableId table, std::int64_t after);
// Rows about objects that are gone and that no published snapshot needs any more.
Status forget_gone(pg::Transaction& transaction, const Lake& lake, TableId table,
                   std::span<const std::int64_t> serials);

Result<std::vector<InlinedFile>> load_inlined_files(pg::Connection& connection, const Lake& lake,
                                                    TableId table);
// Fills in `key`.
Status insert_inlined_file(pg::Connection& connection, const Lake& lake, TableId table,
                           InlinedFile& file);

Result<std::map<std::string, std::string>> load_table_properties(pg::Connection& connection,
                                                                 const Lake& lake, TableId table);

// What a state in memory needs to be brought up to date, when it is a few snapshots old. One round
// trip; one view of the database inside of a REPEATABLE READ transaction only.
struct TableNews {
  LakeHead head;
  std::vector<ChangesRow> changes;  // of all tables, after the state's snapshot
  std::optional<StateTag> tag;
  std::map<std::string, std::string> properties;
  std::optional<ducklake::TableStats> stats;
};
std::vector<pg::Statement> table_news_statements(const Lake& lake, TableId table, SnapshotId after,
                                                 std::int64_t max_changes);
Result<TableNews> load_table_news(pg::Connection& connection, const Lake& lake, TableId table,
                                  SnapshotId after, std::int64_t max_changes);

// A session lock of one table's projection across processes. Waits at most until the connection's
// deadline (kDeadlineExceeded). Released by unlock, or with the connection.
Status lock_table(pg::Connection& connection, const Lake& lake, TableId table);
Status unlock_table(pg::Connection& connection, const Lake& lake, TableId table);

}  // namespace duckicelake::store
