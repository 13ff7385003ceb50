// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "engine/database.h"
#include "engine/parquet_reader.h"

namespace duckicelake::engine {

// Delete files that clients wrote, on a session that is lent. Their form is not trusted.

// See catalog::DataEngine. At most `max_rows` rows and 64 MiB of different paths.
Result<catalog::DataEngine::PositionsByFile> read_client_position_deletes(Session& session,
                                                                          const FileReference& file,
                                                                          std::int64_t max_rows);

struct EqualityFiles {
  FileReference data_file;
  std::vector<FileReference> delete_files;
};
// See catalog::DataEngine. At most `max_rows` rows in all delete files, and as many matches. The
// rows to delete by are hashed (DuckDB spills what does not fit its memory), the data file streams.
Result<std::vector<std::int64_t>> find_equality_matches(
    Session& session, const EqualityFiles& files, std::span<const catalog::EqualityColumn> columns,
    std::int64_t max_rows);

}  // namespace duckicelake::engine
