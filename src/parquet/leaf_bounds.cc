// SPDX-License-Identifier: Apache-2.0
#include "parquet/leaf_bounds.h"

#include <bit>
#include <cmath>

#include "base/bytes.h"

namespace duckicelake::parquet {
namespace {

constexpr std::size_t kMaxDecimalBytes = 16;

template <class T>
int order_of_values(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

float float_of(std::string_view bytes) {
  return std::bit_cast<float>(read_little_endian<std::int32_t>(bytes));
}
double double_of(std::string_view bytes) {
  return std::bit_cast<double>(read_little_endian<std::int64_t>(bytes));
}

// Two's complement, the most significant byte first.
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideBits;
Wide decimal_of(std::string_view bytes) {
  WideBits value = (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? ~WideBits{0} : 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<Wide>(value);
}

}  // namespace

LeafBounds::LeafBounds(const Leaf& leaf)
    : order_(order_of(leaf)), type_length_(leaf.type_length), is_known_(order_ != Order::kNone) {}

LeafBounds::Order LeafBounds::order_of(const Leaf& leaf) {
  using Kind = LogicalType::Kind;
  const Kind kind = leaf.logical.kind;
  if (kind == Kind::kOther || !leaf.logical.is_signed) return Order::kNone;
  switch (leaf.physical) {
    case PhysicalType::kBoolean: return Order::kBoolean;
    case PhysicalType::kInt32: return Order::kInt32;
    case PhysicalType::kInt64: return Order::kInt64;
    case PhysicalType::kFloat: return Order::kFloat;
    case PhysicalType::kDouble: return Order::kDouble;
    case PhysicalType::kBytes:
    case PhysicalType::kFixedBytes: return kind == Kind::kDecimal ? Order::kDecimal : Order::kBytes;
    default: return Order::kNone;  // INT96: writers do not agree
  }
}

bool LeafBounds::is_valid(std::string_view bytes) const {
  switch (order_) {
    case Order::kBoolean: return bytes.size() == 1 && static_cast<unsigned char>(bytes[0]) <= 1;
    case Order::kInt32: return bytes.size() == 4;
    case Order::kInt64: return bytes.size() == 8;
    // A NaN as a bound says that the writer compared with it.
    case Order::kFloat: return bytes.size() == 4 && !std::isnan(float_of(bytes));
    case Order::kDouble: return bytes.size() == 8 && !std::isnan(double_of(bytes));
    case Order::kBytes: return true;
    case Order::kDecimal: return !bytes.empty() && bytes.size() <= kMaxDecimalBytes;
    case Order::kNone: break;
  }
  return false;
}

int LeafBounds::compare(std::string_view a, std::string_view b) const {
  switch (order_) {
    case Order::kInt32:
      return order_of_values(read_little_endian<std::int32_t>(a),
                             read_little_endian<std::int32_t>(b));
    case Order::kInt64:
      return order_of_values(read_little_endian<std::int64_t>(a),
                             read_little_endian<std::int64_t>(b));
    case Order::kFloat: return order_of_values(float_of(a), float_of(b));
    case Order::kDouble: return order_of_values(double_of(a), double_of(b));
    case Order::kDecimal: return order_of_values(decimal_of(a), decimal_of(b));
    default: return a.compare(b);  // as unsigned bytes
  }
}

void LeafBounds::join(std::optional<Bound>& bound, std::string_view bytes, bool is_exact,
                      bool is_low) const {
  const int order = bound ? compare(bytes, bound->bytes) : 0;
  if (!bound || (is_low ? order < 0 : order > 0)) {
    bound = Bound{std::string(bytes), is_exact};
  } else if (order == 0 && is_exact) {
    bound->is_exact = true;
  }
}

void LeafBounds::add(const ChunkStatistics& chunk) {
  has_nulls_ = has_nulls_ && chunk.null_count.has_value();
  if (has_nulls_) nulls_ += *chunk.null_count;  // no more than values, whose sum was checked
  if (!is_known_) return;
  if (chunk.null_count == chunk.value_count) return;  // nulls alone have no bounds and need none
  is_known_ = chunk.low && chunk.high && is_valid(*chunk.low) && is_valid(*chunk.high) &&
              compare(*chunk.low, *chunk.high) <= 0;
  if (!is_known_) return;
  // Bytes may be cut by the writer, unless the footer says otherwise, or both bounds are the same,
  // or they have the full length that all values have.
  const bool may_be_cut = order_ == Order::kBytes;
  const auto is_whole = [&](std::string_view bytes) {
    return !may_be_cut || *chunk.low == *chunk.high ||
           (type_length_ > 0 && bytes.size() == static_cast<std::size_t>(type_length_));
  };
  // Writers give a minimum of 0.0 as -0.0 and a maximum of -0.0 as 0.0 (parquet.thrift,
  // ColumnOrder), so which of the two is among the values stays open.
  const auto is_zero = [&](std::string_view bytes) {
    return (order_ == Order::kFloat && float_of(bytes) == 0.0F) ||
           (order_ == Order::kDouble && double_of(bytes) == 0.0);
  };
  join(low_, *chunk.low, chunk.is_low_exact.value_or(is_whole(*chunk.low)) && !is_zero(*chunk.low),
       true);
  join(high_, *chunk.high,
       chunk.is_high_exact.value_or(is_whole(*chunk.high)) && !is_zero(*chunk.high), false);
}

void LeafBounds::finish(Leaf& leaf, bool is_ordered) {
  if (leaf.is_repeated) return;
  if (has_nulls_) leaf.null_count = nulls_;
  if (!is_ordered || !is_known_) return;
  leaf.low = std::move(low_);
  leaf.high = std::move(high_);
}

}  // namespace duckicelake::parquet
