// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/transaction.h"
#include "store/lake.h"

// What is taken in the catalog: objects by rows of data files, uuids by tables.
namespace duckicelake::store {

enum class UsedBy : std::uint8_t { kAnyRow, kLiveRows };
// Those of `paths` (absolute URIs) that a row of any table, live or ended, names already; but for
// files of snapshots beside the main of `table` (side_files.h), which may become main's. DuckLake's
// cleanup would remove an object that two rows share. Reads the rows whose path ends like one of
// `paths`, so a file's name should be its own.
Result<std::vector<std::string>> find_used_paths(pg::Connection& connection, const Lake& lake,
                                                 TableId table, std::span<const std::string> paths,
                                                 UsedBy used_by);

// Objects of a dropped table that are part of another one again: DuckLake's cleanup is not to
// remove them, neither now nor when the dropped table's rows expire.
Status revive_paths(pg::Transaction& transaction, const Lake& lake,
                    std::span<const std::string> paths);

// Whether a table that lives has this uuid. What only Iceberg names lies in a folder of that name.
Result<bool> is_uuid_used(pg::Connection& connection, const Lake& lake, const std::string& uuid);

}  // namespace duckicelake::store
