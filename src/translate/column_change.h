// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "iceberg/schema.h"

namespace duckicelake::translate {

// What a new Iceberg schema makes of a table's rows in ducklake_column and ducklake_column_tag.
struct ColumnChange {
  std::vector<FieldId> ended;                 // columns whose live row ends
  std::vector<ducklake::ColumnRow> inserted;  // without their lifetime
  std::vector<FieldId> comments_ended;        // columns whose live comment ends
  std::vector<std::pair<FieldId, std::string>> comments_inserted;

  bool is_empty() const {
    return ended.empty() && inserted.empty() && comments_ended.empty() && comments_inserted.empty();
  }
};

// Whether a column may get a type that files from before cannot be read under. kRefuse is right as
// long as such files may be live; a table that is replaced as a whole has none.
enum class Retype : std::uint8_t { kRefuse, kAllow };

// `live` and `tags`: the table's rows at present (empty for a new table). `before`: the schema that
// was published for them. Columns that are hidden from Iceberg are not touched. A row that the new
// schema does not change stays as it is, whatever DuckLake type or order it has.
// kInvalidArgument: a type change that is no promotion, a required column added to a table without
// a default; kUnsupported: a type or default that DuckLake cannot keep.
Result<ColumnChange> change_columns(std::span<const ducklake::ColumnRow> live,
                                    std::span<const ducklake::ColumnTagRow> tags,
                                    const iceberg::Schema& before, const iceberg::Schema& after,
                                    Retype retype);

// The schema that DuckLake's rows give (`built`), with what only Iceberg knows of its fields taken
// from `known` where the rows still say the same: fixed lengths, required nested fields, defaults,
// identifier fields. `rows`: live at the snapshot.
iceberg::Schema refine_schema(iceberg::Schema built, const iceberg::Schema& known,
                              std::span<const ducklake::ColumnRow> rows);

}  // namespace duckicelake::translate
