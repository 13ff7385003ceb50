// SPDX-License-Identifier: Apache-2.0
// Texts that come out of DuckLake's tables: change words, type names, statistics and partition
// values.
#include <array>
#include <cstdint>
#include <string_view>

#include "ducklake/changes.h"
#include "iceberg/value.h"
#include "translate/column_types.h"
#include "translate/stats_value.h"

using namespace duckicelake;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)ducklake::parse_changes(text).has_value();
  (void)translate::leaf_type(text);
  (void)translate::duckdb_leaf_type(text);
  using iceberg::Type;
  using iceberg::TypeKind;
  static const std::array kTypes = {
      Type::primitive(TypeKind::kBoolean),     Type::primitive(TypeKind::kInt),
      Type::primitive(TypeKind::kLong),        Type::primitive(TypeKind::kFloat),
      Type::primitive(TypeKind::kDouble),      Type::decimal(38, 10),
      Type::primitive(TypeKind::kDate),        Type::primitive(TypeKind::kTime),
      Type::primitive(TypeKind::kTimestamp),   Type::primitive(TypeKind::kTimestamptz),
      Type::primitive(TypeKind::kTimestampNs), Type::primitive(TypeKind::kString),
      Type::primitive(TypeKind::kUuid),        Type::primitive(TypeKind::kBinary),
  };
  const Type& type = kTypes[data[0] % kTypes.size()];
  const auto value = translate::value_from_stats_text(type, text);
  if (value && !iceberg::is_valid_value(type, *value)) __builtin_trap();
  (void)translate::value_from_partition_text(type, text);
  const auto lower = translate::bound_from_stats_text(type, text, translate::BoundSide::kLower);
  const auto upper = translate::bound_from_stats_text(type, text, translate::BoundSide::kUpper);
  // A bound that crosses its value would lose rows.
  if (value && lower && iceberg::compare_values(type, *lower, *value) > 0) __builtin_trap();
  if (value && upper && iceberg::compare_values(type, *upper, *value) < 0) __builtin_trap();
  return 0;
}
