// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "iceberg/schema.h"
#include "manifest/manifest.h"
#include "parquet/footer.h"

// What the footer of a data file says of the columns of a table.
namespace duckicelake::translate {

struct ColumnBound {
  iceberg::ValueBytes value;
  bool is_exact = false;  // one of the column's values is equal to it
};

// Of a leaf that lies in no list or map. What is not certain is absent.
struct LeafFacts {
  std::optional<std::int64_t> column_size;
  std::int64_t values = 0;  // nulls are counted too
  std::optional<std::int64_t> nulls;
  std::optional<ColumnBound> low, high;  // both or neither
};
using FileFacts = std::unordered_map<std::int32_t, LeafFacts>;  // by field id

// Leaves of `schema` that the file has under the same field ids, and those top columns that it has
// nowhere and whose rows are null therefore. Nothing when the file carries no field ids. A leaf
// whose type in the file is not the table's, or one that reads as it without loss, has its counts
// alone. Bounds longer than 1024 bytes are left out.
FileFacts facts_of_footer(const parquet::Footer& footer, const iceberg::Schema& schema);

// Of the columns that have values of their own.
std::size_t leaf_count(const iceberg::Schema& schema);

// Whether the footer can tell more than the client's entry: counts or bounds of a column are
// missing, or a bound may be cut (spec "Metrics": a bound need not be a value of the column).
bool needs_footer(const manifest::DataFile& file, const iceberg::Schema& schema);

// Takes out of the entry what the footer contradicts: other counts, and bounds that leave values
// out. What the client left out stays out.
void correct_metrics(manifest::DataFile& file, const iceberg::Schema& schema,
                     const FileFacts& facts);

}  // namespace duckicelake::translate
