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

// Where the objects of one table lie, for keys that open them and nothing else.
namespace duckicelake::store {

struct StorageFolder {
  std::string uri;  // absolute, ending in '/'
  // Another table (live, or dropped with files that are still there), a schema, a view's metadata,
  // or a file of another table lies in it, or it lies in another table's folder.
  bool is_shared = false;
};

struct TableStorage {
  std::string uuid;
  bool is_uuid_shared = false;         // another table has, or had, this uuid
  StorageFolder location;              // where new files go
  std::vector<StorageFolder> earlier;  // where the table was before set-location
  // Data and delete files, live or ended, that lie in none of these folders nor in `beside`; and
  // their folders. At most as many as asked for.
  std::vector<std::string> outside;
  bool has_more_outside = false;
  std::vector<StorageFolder> outside_folders;
  bool has_more_folders = false;
};

struct StorageLimits {
  std::int64_t max_files = 0;
  std::int64_t max_folders = 0;
};

// `beside`: the folder of files that only Iceberg metadata names, an absolute URI ending in '/'.
// kNoSuchTable when the table is not live. Three round trips; reads the rows of all tables, but of
// no other table's files.
Result<TableStorage> load_table_storage(pg::Connection& connection, const Lake& lake, TableId table,
                                        const std::string& beside, StorageLimits limits);

// Whether `folder` (absolute URI ending in '/') would be shared if this table had it; a new one:
// kNewTable.
inline constexpr TableId kNewTable{-1};
Result<bool> is_folder_shared(pg::Connection& connection, const Lake& lake, TableId table,
                              const std::string& folder);

// Whether `folder` (likewise) is no place for a table of the schema: it would be shared, or it lies
// in the folder of another schema, where tables may come that are not there yet.
Result<bool> is_place_taken(pg::Connection& connection, const Lake& lake, TableId table,
                            SchemaId schema, const std::string& folder);

// The live table in whose folder an object (absolute URI) lies: its location, the folder of files
// that only Iceberg metadata names, or, when it lies in none, that of the table one of whose rows
// names it.
struct ObjectOwner {
  TableId table;
  SchemaId schema;
  std::string name;
};
Result<std::optional<ObjectOwner>> find_object_owner(pg::Connection& connection, const Lake& lake,
                                                     const std::string& uri);

// nullopt: the table is not live.
Result<std::optional<ObjectOwner>> find_live_table(pg::Connection& connection, const Lake& lake,
                                                   TableId table);
// Those of the tables that are live, in any order.
Result<std::vector<ObjectOwner>> load_live_tables(pg::Connection& connection, const Lake& lake,
                                                  const std::vector<std::int64_t>& ids);
Result<std::optional<TableId>> find_table_of_uuid(pg::Connection& connection, const Lake& lake,
                                                  const std::string& uuid);

// Whether a row of the table names the object (absolute URI), live or ended.
Result<bool> is_file_of(pg::Connection& connection, const Lake& lake, TableId table,
                        const std::string& uri);

}  // namespace duckicelake::store
