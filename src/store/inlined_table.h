// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "ducklake/rows.h"
#include "pg/transaction.h"
#include "store/lake.h"
#include "store/slot.h"

namespace duckicelake::store {

// DuckDB puts small inserts into the newest table that ducklake_inlined_data_tables names for a
// DuckLake table, by position. So whoever changes a table's columns makes the next one in the same
// transaction: ducklake_inlined_data_<table>_<slot.schema_version>, as DuckDB itself does. Rows in
// the older ones stay readable; DuckDB finds their columns by ducklake_schema_versions.
//
// `live_columns_after`: all columns of the table that are live once the change is done, nested ones
// too, in any order. The slot must have raised schema_version. Does nothing for a table that never
// had such a table, and for columns with which DuckDB inlines nothing (variant or geometry at any
// depth, names that DuckLake keeps for itself or that are longer than 63 bytes).
// kInvalidArgument: PostgreSQL cannot have such a table (names of its own columns, too many
// columns).
Status add_inlined_table(pg::Transaction& transaction, const Lake& lake, TableId table,
                         const Slot& slot, std::span<const ducklake::ColumnRow> live_columns_after);

}  // namespace duckicelake::store
