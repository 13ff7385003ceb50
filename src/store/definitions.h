// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/transaction.h"
#include "store/lake.h"
#include "store/names.h"
#include "store/slot.h"

// Rows of ducklake_* that say which schemas, tables and views there are and how they are named,
// written as DuckLake writes them: a row of the past is ended, never changed; a new version is a
// new row. All of it happens inside a slot, after names were looked up in it.
namespace duckicelake::store {

struct NewSchema {
  SchemaId schema_id;
  std::string uuid;
  std::string name;
  std::string path;              // below DATA_PATH, ending in '/'
  std::optional<Levels> levels;  // for the sidecar; absent: the namespace of its name
};
Status insert_schema(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                     const NewSchema& schema);
// Also forgets the namespace's levels and properties. Pre-condition: it is empty.
Status end_schema(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                  SchemaId schema);

// Ends the table with its columns, partitioning, sort order, comments and files, and forgets what
// the sidecar keeps for the current state. kCommitFailed when it is not live.
Status end_table(pg::Transaction& transaction, const Lake& lake, const Slot& slot, TableId table);

struct NewName {
  SchemaId schema_id;
  std::string name;
  // Of a table that moves to another schema: its folder, which then is no longer relative to that
  // of its schema. Absent: the path stays as it is.
  std::optional<std::string> absolute_path;
};
// kCommitFailed when it is not live.
Status rename_table(pg::Transaction& transaction, const Lake& lake, const Slot& slot, TableId table,
                    const NewName& to);
Status rename_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot, ViewId view,
                   const NewName& to);

struct NewView {
  ViewId view_id;
  std::string uuid;
  SchemaId schema_id;
  std::string name;
  std::string dialect;
  std::string sql;
  std::optional<std::string> comment;
};
Status insert_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                   const NewView& view);
// A new version of a live view: same id, uuid, schema and name. kCommitFailed when it is not live.
Status replace_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot,
                    const NewView& view);
// Also forgets its Iceberg metadata and its comment. kCommitFailed when it is not live.
Status end_view(pg::Transaction& transaction, const Lake& lake, const Slot& slot, ViewId view);

// --- the sidecar

Result<std::map<std::string, std::string>> load_namespace_properties(pg::Connection& connection,
                                                                     const Lake& lake,
                                                                     SchemaId schema);
Status set_namespace_properties(pg::Transaction& transaction, const Lake& lake, SchemaId schema,
                                const std::map<std::string, std::string>& properties);
// Those of the keys that were there.
Result<std::vector<std::string>> remove_namespace_properties(pg::Transaction& transaction,
                                                             const Lake& lake, SchemaId schema,
                                                             std::span<const std::string> keys);

// The Iceberg metadata of a view made over REST; nullopt for others.
struct ViewState {
  std::string metadata_location;
  std::string document;  // view metadata JSON
};
Result<std::optional<ViewState>> load_view_state(pg::Connection& connection, const Lake& lake,
                                                 ViewId view);
Status save_view_state(pg::Transaction& transaction, const Lake& lake, ViewId view,
                       const ViewState& state);

// Keeps the newest kMetricsReports of each table.
inline constexpr std::int64_t kMetricsReports = 1000;
Status insert_metrics_report(pg::Connection& connection, const Lake& lake, TableId table,
                             const std::string& principal, const std::string& report);

}  // namespace duckicelake::store
