// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/database.h"
#include "engine/parquet_reader.h"

namespace duckicelake::engine {

// See catalog::DataEngine.
Result<std::vector<std::optional<std::int64_t>>> count_nans(Session& session,
                                                            const FileReference& file,
                                                            std::span<const FieldId> columns);

}  // namespace duckicelake::engine
