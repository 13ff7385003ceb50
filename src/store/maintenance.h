// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

// What maintenance asks of the database. All of it looks at the whole lake: for rare use.
namespace duckicelake::store {

// A session lock that one maintenance of the lake holds at a time; false: another one does.
Result<bool> try_lock_maintenance(pg::Connection& connection, const Lake& lake);
Status unlock_maintenance(pg::Connection& connection, const Lake& lake);

// A version of a table's row; tables have one for each name and folder that they had.
struct TableFolder {
  TableId table;
  std::string uuid;
  std::string folder;  // absolute URI ending in '/'
  bool is_live = false;
};
Result<std::vector<TableFolder>> load_table_folders(pg::Connection& connection, const Lake& lake);

struct LiveTable {
  TableId table;
  std::string schema_name;
  std::string name;
};
// Those with a policy of expiry, of their own or of a ref: after `after`, ascending by id, at most
// `limit`.
Result<std::vector<LiveTable>> load_tables_with_policy(pg::Connection& connection, const Lake& lake,
                                                       TableId after, std::int64_t limit);

// Metadata files of views, dropped ones included.
struct ViewLocation {
  std::string metadata_location;
  bool is_known = false;  // DuckLake has a row of the view, live or ended
};
Result<std::vector<ViewLocation>> load_view_locations(pg::Connection& connection, const Lake& lake);
// Those of `locations` whose views DuckLake has no row of.
Status forget_dead_views(pg::Connection& connection, const Lake& lake,
                         std::span<const std::string> locations);
// Metadata files of tables that DuckLake has no row of any more, not even an ended one.
Result<std::vector<std::string>> load_dead_locations(pg::Connection& connection, const Lake& lake);

// A row that names a path, as it stands there; table is nullopt for rows that belong to no table.
struct PathRow {
  std::optional<TableId> table;
  std::string path;
  bool is_relative = false;  // to the table's folder, or to DATA_PATH without a table
};
// Rows of data files, delete files, scheduled deletions and files beside main (without table) whose
// path is one of `paths`.
Result<std::vector<PathRow>> find_path_rows(pg::Connection& connection, const Lake& lake,
                                            std::span<const std::string> paths);

// Published snapshots that are going to be hidden: ids run in parallel with their tables.
struct ToHide {
  std::vector<std::int64_t> tables;
  std::vector<std::int64_t> snapshots;
};
// DuckLake snapshots, never the newest, that changed the data of tables each of which hid it, or is
// going to; ascending, at most `limit`. One that no table hid is not among them.
Result<std::vector<SnapshotId>> find_expirable(pg::Connection& connection, const Lake& lake,
                                               const ToHide& to_hide, std::int64_t limit);

// Inlined files (sidecar) of a table, to let go of: key and path.
struct InlinedFileName {
  std::int64_t key = 0;  // as InlinedFile::key
  std::string path;
};
Result<std::vector<InlinedFileName>> load_inlined_names(pg::Connection& connection,
                                                        const Lake& lake, TableId table);
Status remove_inlined_files(pg::Connection& connection, const Lake& lake, TableId table,
                            std::span<const std::int64_t> keys);

// Sidecar rows that stand for nothing any more; `older_than_seconds` spares those of tables that
// went a moment ago, whose objects are still to be swept.
struct DeadRows {
  std::int64_t tables = 0;  // rows of tables that DuckLake has no row of
  std::int64_t committed_files = 0;
  std::int64_t committed_manifests = 0;
};
enum class DeadRowsMode : bool { kCount, kRemove };
Result<DeadRows> sweep_dead_rows(pg::Connection& connection, const Lake& lake,
                                 std::int64_t older_than_seconds, DeadRowsMode mode);

// Paths of objects that DuckLake's schedule passes over because another table took them.
Result<std::vector<std::string>> load_revived(pg::Connection& connection, const Lake& lake);
Status forget_revived(pg::Connection& connection, const Lake& lake,
                      std::span<const std::string> paths);

}  // namespace duckicelake::store
