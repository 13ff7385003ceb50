// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Before a table's rows are rewritten with the server's own keys: kUnsupported when a file of it,
// or a folder that it has or had, lies in another catalog's place. DuckLake takes any path in a
// row, and what is rewritten lies where the table's readers read.
Status check_own_files(pg::Connection& connection, const store::Lake& lake, TableId table);

}  // namespace duckicelake::catalog
