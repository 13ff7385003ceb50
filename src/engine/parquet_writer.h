// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "engine/database.h"
#include "engine/temp_files.h"

namespace duckicelake::engine {

// The two writing duties of the DataEngine port, on a session that is lent to them. The rows are
// staged in a temporary table of the session, copied to a private file, read back and removed.

Result<catalog::WrittenParquet> write_position_deletes(Session& session, TempFolder& folder,
                                                       const std::string& data_file_path,
                                                       std::span<const std::int64_t> positions);

struct RowsToWrite {
  std::span<const catalog::ParquetColumn> columns;
  std::span<const catalog::TextRow> rows;
  std::span<const std::int64_t> row_ids;       // parallel to rows
  std::span<const std::int64_t> snapshot_ids;  // parallel to rows
};
// kInvalidArgument when shapes do not match, kCorruptData when a cell does not parse as its type.
Result<catalog::WrittenParquet> write_rows(Session& session, TempFolder& folder,
                                           const RowsToWrite& input);

}  // namespace duckicelake::engine
