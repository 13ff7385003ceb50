// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/transaction.h"
#include "store/lake.h"

namespace duckicelake::store {

// A mapping that finds the columns of data files by name; `mapping_id` is one of the slot's file
// ids. The rows' own mapping_id is not looked at.
Status insert_name_mapping(pg::Transaction& transaction, const Lake& lake, TableId table,
                           std::int64_t mapping_id, std::span<const ducklake::NameMappingRow> rows);

}  // namespace duckicelake::store
