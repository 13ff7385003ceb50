// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "catalog/data_engine.h"
#include "engine/database.h"
#include "engine/parquet_reader.h"

namespace duckicelake::engine {

// See catalog::DataEngine. Bounds are in the form that DuckDB's writer reports to DuckLake. A text
// or blob bound of more than 1024 bytes is left out. kCorruptData when counts contradict each
// other.
Result<catalog::FooterStats> read_footer_stats(Session& session, const FileReference& file,
                                               std::span<const FieldId> leaves);

// See catalog::DataEngine. kCorruptData when the column is not floating point.
Result<std::int64_t> count_nans(Session& session, const FileReference& file, FieldId column);

}  // namespace duckicelake::engine
