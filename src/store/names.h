// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

// Names of namespaces, tables and views as of now, looked up by name and answered with ids.
namespace duckicelake::store {

// The levels of a namespace. A DuckLake schema is one level, whatever dots it has, unless the
// sidecar holds levels for it (a multi-level namespace made over REST).
using Levels = std::vector<std::string>;

struct NamespaceRow {
  SchemaId schema_id;
  std::string schema_name;  // DuckLake's
  Levels levels;
  std::string folder;  // absolute URI ending in '/': what relative paths of its tables continue
};

// All namespaces, by levels. Schemas whose name begins with "__masked_" are left out.
Result<std::vector<NamespaceRow>> list_namespaces(pg::Connection& connection, const Lake& lake);
// nullopt: there is none.
Result<std::optional<NamespaceRow>> find_namespace(pg::Connection& connection, const Lake& lake,
                                                   const Levels& levels);

// Whether a live namespace lies below these levels. Such levels are listed as a namespace even
// where no schema has them.
Result<bool> has_namespaces_below(pg::Connection& connection, const Lake& lake,
                                  const Levels& levels);

// A live schema whose name DuckDB takes for this one (it ignores the case of ASCII letters), hidden
// ones included.
struct SchemaName {
  SchemaId schema_id;
  bool is_plain = true;  // it is the namespace of its name: the sidecar has no levels for it
};
Result<std::optional<SchemaName>> find_schema(pg::Connection& connection, const Lake& lake,
                                              const std::string& name);
// Whether a schema, live or not, has or had this path below DATA_PATH.
Result<bool> is_schema_path_used(pg::Connection& connection, const Lake& lake,
                                 const std::string& path);

// A page of names in byte order. `after` empty: from the start; limit 0: all.
struct PageRequest {
  std::string after;
  std::int64_t limit = 0;
  std::vector<std::int64_t> hidden = {};  // ids of tables (of views) that are left out
};
// Names of live tables; those that begin with "__mask_" are left out.
Result<std::vector<std::string>> list_tables(pg::Connection& connection, const Lake& lake,
                                             SchemaId schema, const PageRequest& page);
Result<std::vector<std::string>> list_views(pg::Connection& connection, const Lake& lake,
                                            SchemaId schema, const PageRequest& page);

// Live tables of a schema, at most `limit`, by name; likewise.
struct NamedTable {
  TableId id;
  std::string name;
};
Result<std::vector<NamedTable>> list_table_ids(pg::Connection& connection, const Lake& lake,
                                               SchemaId schema, std::int64_t limit);

struct TableName {
  TableId table_id;
  std::string uuid;
};
Result<std::optional<TableName>> find_table(pg::Connection& connection, const Lake& lake,
                                            SchemaId schema, const std::string& name);

// A live table or view whose name DuckDB takes for this one, hidden ones included: what a new table
// or view of the name would clash with.
struct EntryName {
  bool is_view = false;
  std::int64_t id = 0;  // of the table or view
  std::string name;
};
Result<std::optional<EntryName>> find_entry(pg::Connection& connection, const Lake& lake,
                                            SchemaId schema, const std::string& name);
// Whether live tables, views or macros are in the schema, hidden ones included.
Result<bool> has_entries(pg::Connection& connection, const Lake& lake, SchemaId schema);

struct ViewRow {
  ViewId view_id;
  std::string uuid;
  SnapshotId begin;
  std::int64_t begin_time_micros =
      0;  // of the snapshot `begin`; of the oldest one when that was expired
  std::string name;
  std::string dialect;
  std::string sql;             // with DuckLake's {DUCKLAKE_CATALOG} placeholder
  std::string column_aliases;  // "a","b" or empty
  std::optional<std::string> comment;
};
Result<std::optional<ViewRow>> find_view(pg::Connection& connection, const Lake& lake,
                                         SchemaId schema, const std::string& name);

}  // namespace duckicelake::store
