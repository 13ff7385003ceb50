// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parquet/footer.h"

namespace duckicelake::parquet {

// What one row group says of one column.
struct ChunkStatistics {
  std::int64_t value_count = -1;  // nulls are counted too
  std::optional<std::int64_t> null_count;
  std::optional<std::string_view> low, high;
  std::optional<bool> is_low_exact, is_high_exact;
};

// Bounds and null counts of a column, joined over its row groups.
class LeafBounds {
 public:
  explicit LeafBounds(const Leaf& leaf);

  void add(const ChunkStatistics& chunk);
  // Into the leaf; bounds only when is_ordered.
  void finish(Leaf& leaf, bool is_ordered);

 private:
  enum class Order : std::uint8_t {
    kNone,  // not known
    kBoolean,
    kInt32,
    kInt64,
    kFloat,
    kDouble,
    kBytes,
    kDecimal,
  };
  static Order order_of(const Leaf& leaf);
  bool is_valid(std::string_view bytes) const;
  int compare(std::string_view a, std::string_view b) const;
  void join(std::optional<Bound>& bound, std::string_view bytes, bool is_exact, bool is_low) const;

  Order order_;
  std::int32_t type_length_ = 0;
  bool is_known_ = true;  // every row group with values has bounds
  std::int64_t nulls_ = 0;
  bool has_nulls_ = true;  // every row group says how many
  std::optional<Bound> low_, high_;
};

}  // namespace duckicelake::parquet
