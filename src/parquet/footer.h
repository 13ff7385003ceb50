// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What the footer of a Parquet file says of its rows and columns (parquet-format, "File format" and
// parquet.thrift). Footers are hostile input: what is not certain is absent, what contradicts
// itself is kCorruptData.
namespace duckicelake::parquet {

// The last bytes of a file: the footer's length and the magic.
inline constexpr std::size_t kTrailerBytes = 8;
// The length of the footer before the trailer; kCorruptData when the bytes are no trailer, or that
// of a file whose footer is encrypted ("PARE").
Result<std::size_t> footer_length(std::string_view trailer);

enum class PhysicalType : std::uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kBytes = 6,       // BYTE_ARRAY
  kFixedBytes = 7,  // FIXED_LEN_BYTE_ARRAY
};

struct LogicalType {
  enum class Kind : std::uint8_t {
    kNone,
    kText,  // string, enum, JSON
    kInteger,
    kDecimal,
    kDate,
    kTime,
    kTimestamp,
    kUuid,
    kOther,  // none of which values are compared
  };
  enum class Unit : std::uint8_t { kMillis, kMicros, kNanos };
  Kind kind = Kind::kNone;
  bool is_signed = true;            // integers
  std::int32_t precision = 0;       // decimals
  std::int32_t scale = 0;           // decimals
  Unit unit = Unit::kMicros;        // times and timestamps
  std::optional<bool> is_utc = {};  // timestamps; absent where the writer knew no such thing
};

// A value in Parquet's plain encoding that none of the column's values is beyond. `is_exact`: one
// of them is equal to it.
struct Bound {
  std::string bytes;
  bool is_exact = false;
};

// A column of the file, over all row groups.
struct Leaf {
  std::vector<std::int32_t>
      id_path;               // field ids from the top column down; kNoId where there is none
  bool is_repeated = false;  // it, or a group that it lies in
  PhysicalType physical = PhysicalType::kBytes;
  std::int32_t type_length = 0;  // of kFixedBytes
  LogicalType logical;
  std::int64_t compressed_bytes = 0;
  std::int64_t value_count = 0;  // nulls are counted too
  std::optional<std::int64_t> null_count;
  // Both or neither. Absent also where the writer's order is not the type's own or not known
  // (unsigned numbers, INT96, the fields `min` and `max` of old writers), and where a NaN is one of
  // them.
  std::optional<Bound> low, high;
};
inline constexpr std::int32_t kNoId = -1;

struct Footer {
  std::int64_t row_count = 0;
  std::vector<Leaf> leaves;             // in the file's order
  std::vector<std::int32_t> field_ids;  // of all nodes, ascending; may hold an id twice
};

// `bytes` are those between the last column and the trailer.
Result<Footer> parse_footer(std::string_view bytes);

}  // namespace duckicelake::parquet
