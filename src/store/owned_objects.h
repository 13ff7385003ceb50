// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

namespace duckicelake::store {

// The objects that belong to one table alone.
struct OwnedObjects {
  std::string folder;  // of the table: absolute URI ending in '/'
  std::string uuid;
  // Another table or a schema has, or had, a folder that is this one, lies in it or holds it.
  bool is_folder_shared = false;
  bool is_uuid_shared = false;  // another table has, or had, this uuid
  // Absolute URIs of its data and delete files, live or ended, that lie below its folder and that
  // no row of another table names.
  std::vector<std::string> files;
};
// kNoSuchTable when the table is not live. Reads the rows of all tables: for rare use.
Result<OwnedObjects> load_owned_objects(pg::Connection& connection, const Lake& lake,
                                        TableId table);

// The folder of a live table: absolute URI ending in '/'. kNoSuchTable.
Result<std::string> load_table_folder(pg::Connection& connection, const Lake& lake, TableId table);

}  // namespace duckicelake::store
