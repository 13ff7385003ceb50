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

// Files that only snapshots beside main name: those of branches, and staged ones. DuckLake's orphan
// cleanup removes what no row names, so each has a row of ducklake_data_file that no snapshot of
// DuckLake shows (docs/adr/0010). Triggers keep row and object while the file is listed in
// duckicelake.side_file and its table is live.
namespace duckicelake::store {

inline constexpr std::int64_t kSideSnapshot = -1;  // begin and end of such a row

struct SideFile {
  std::string path;  // absolute URI
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
};

// Registers those that no row names yet, under ids from `first_id` on, one for each.
Status add_side_files(pg::Transaction& transaction, const Lake& lake,
                      const ducklake::TableRow& table, std::int64_t first_id,
                      std::span<const SideFile> files);
// Files among `paths` (absolute URIs) become files of main: their hidden rows make room. They stay
// listed, for the snapshots beside main may name them still.
Status release_side_rows(pg::Transaction& transaction, const Lake& lake, TableId table,
                         std::span<const std::string> paths);

struct ListedSideFile {
  TableId table;
  std::string path;
};
// After `after`, by path, at most `limit`.
Result<std::vector<ListedSideFile>> load_side_files(pg::Connection& connection, const Lake& lake,
                                                    const std::string& after, std::int64_t limit);
// No snapshot beside main names them any more. Their objects are then nobody's, or main's.
Status forget_side_files(pg::Transaction& transaction, const Lake& lake,
                         std::span<const std::string> paths);

}  // namespace duckicelake::store
