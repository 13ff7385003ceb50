// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace duckicelake::ducklake {

// The words of ducklake_snapshot_changes.changes_made.
enum class ChangeKind : std::uint8_t {
  kCreatedSchema,
  kDroppedSchema,
  kCreatedTable,
  kDroppedTable,
  kAlteredTable,
  kCreatedView,
  kDroppedView,
  kAlteredView,
  kCreatedMacro,
  kDroppedMacro,
  kInsertedIntoTable,
  kDeletedFromTable,
  kInlinedInsert,
  kInlinedDelete,
  kInlineFlush,
  kMergeAdjacent,
  kRewriteDelete,
  kCompactedTable,
  kOther,  // a word that this version does not know
};

struct Change {
  ChangeKind kind = ChangeKind::kOther;
  std::int64_t id = -1;     // of the table, schema, view or macro; -1 for the created_* words
  std::string schema_name;  // created_schema, and the first part of created_table / created_view
  std::string name;         // the second part of created_table / created_view / created_*_macro

  // The words after which a table's rows or files differ: such a snapshot is one of the table's
  // Iceberg history.
  bool touches_data() const {
    return kind >= ChangeKind::kInsertedIntoTable && kind < ChangeKind::kOther;
  }
  // The words after which a table is not what it was.
  bool is_about(TableId table) const {
    return id == table.value && (kind == ChangeKind::kAlteredTable ||
                                 kind == ChangeKind::kDroppedTable || touches_data());
  }
  // Rows stay the same, files do not.
  bool is_compaction() const {
    return kind >= ChangeKind::kInlineFlush && kind < ChangeKind::kOther;
  }
};

// Parses the comma-separated words; names are double-quoted with "" for a quote. An empty text has
// no changes. kCorruptData on a text that does not follow the grammar; unknown words come back as
// kOther.
Result<std::vector<Change>> parse_changes(std::string_view text);

// The reverse, in the vocabulary of DuckLake 1.0 (an unknown word would make every DuckDB commit
// beside ours fail). Pre-condition: no kOther and no macros.
std::string changes_text(std::span<const Change> changes);

}  // namespace duckicelake::ducklake
