// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/bytes.h"
#include "iceberg/value.h"
#include "translate/column_types.h"
#include "translate/file_entry.h"
#include "translate/stats_value.h"

namespace duckicelake::translate {
namespace {

using iceberg::Type;
using iceberg::TypeKind;

std::string hex_of(const std::optional<iceberg::ValueBytes>& value) {
  return value ? to_hex(*value) : "none";
}

TEST(StatsValue, ReadsDuckLakesTextOfEachType) {
  const auto value = [](TypeKind kind, std::string_view text) {
    return hex_of(value_from_stats_text(Type::primitive(kind), text));
  };
  EXPECT_EQ(value(TypeKind::kBoolean, "1"), "01");
  EXPECT_EQ(value(TypeKind::kInt, "-1"), "ffffffff");
  EXPECT_EQ(value(TypeKind::kLong, "3000000000"), "005ed0b200000000");
  EXPECT_EQ(value(TypeKind::kDate, "1970-01-02"), "01000000");
  EXPECT_EQ(value(TypeKind::kTime, "00:00:00.0001"), "6400000000000000");
  EXPECT_EQ(value(TypeKind::kTimestamp, "1970-01-01 00:00:01.5"), "60e3160000000000");
  EXPECT_EQ(value(TypeKind::kTimestamptz, "1970-01-01 00:00:01.5+00"), "60e3160000000000");
  EXPECT_EQ(value(TypeKind::kBinary, "00FF61"), "00ff61");
  EXPECT_EQ(value(TypeKind::kBinary, ""), "");
  EXPECT_EQ(value(TypeKind::kString, ""), "");
  EXPECT_EQ(hex_of(value_from_stats_text(Type::decimal(9, 2), "-1.28")), "80");
}

TEST(StatsValue, HasNoValueForWhatIsNotOneFiniteValue) {
  for (auto [kind, text] :
       std::initializer_list<std::pair<TypeKind, const char*>>{{TypeKind::kDate, "infinity"},
                                                               {TypeKind::kDate, "0044-03-15 (BC)"},
                                                               {TypeKind::kTimestamp, "-infinity"},
                                                               {TypeKind::kInt, "2147483648"},
                                                               {TypeKind::kInt, ""},
                                                               {TypeKind::kInt, "1 "},
                                                               {TypeKind::kDouble, "nan"},
                                                               {TypeKind::kBinary, "F"},
                                                               {TypeKind::kString, "\xff"},
                                                               {TypeKind::kUuid, "x"}}) {
    EXPECT_FALSE(value_from_stats_text(Type::primitive(kind), text).has_value()) << text;
  }
}

TEST(StatsValue, PartitionTextDiffersForBooleansAndBlobs) {
  EXPECT_EQ(hex_of(value_from_partition_text(Type::primitive(TypeKind::kBoolean), "true")), "01");
  EXPECT_EQ(hex_of(value_from_partition_text(Type::primitive(TypeKind::kBinary), "\\x00ab")),
            "006162");
  EXPECT_FALSE(value_from_partition_text(Type::primitive(TypeKind::kBinary), "\\x0").has_value());
}

TEST(StatsValue, BoundsEncloseWhatTheyCut) {
  const Type text = Type::primitive(TypeKind::kString);
  const std::string long_text(40, 'z');
  EXPECT_EQ(*bound_from_stats_text(text, long_text, BoundSide::kLower), std::string(16, 'z'));
  EXPECT_EQ(*bound_from_stats_text(text, long_text, BoundSide::kUpper), std::string(15, 'z') + "{");
  const Type stamp = Type::primitive(TypeKind::kTimestamp);
  EXPECT_EQ(
      hex_of(bound_from_stats_text(stamp, "1970-01-01 00:00:00.000001001", BoundSide::kLower)),
      "0100000000000000");
  EXPECT_EQ(
      hex_of(bound_from_stats_text(stamp, "1970-01-01 00:00:00.000001001", BoundSide::kUpper)),
      "0200000000000000");
  EXPECT_EQ(
      hex_of(bound_from_stats_text(Type::primitive(TypeKind::kDouble), "0.0", BoundSide::kLower)),
      "0000000000000080");
}

ducklake::ColumnRow column(std::int32_t id, const char* name, const char* type,
                           std::int64_t begin = 1, std::optional<std::int64_t> end = {}) {
  ducklake::ColumnRow row;
  row.column_id = FieldId(id);
  row.life.begin = SnapshotId(begin);
  if (end) row.life.end = SnapshotId(*end);
  row.order = id;
  row.name = name;
  row.type = type;
  return row;
}

TEST(ColumnTypes, HidesWhatClientsWouldReadWrongly) {
  const std::vector<ducklake::ColumnRow> columns = {
      column(1, "ok", "int32"), column(2, "big", "uint64"), column(3, "gap", "interval"),
      column(4, "u32", "uint32"), column(5, "large", "uint32")};
  ducklake::TableStats stats;
  stats.max_values[4] = "2147483647";
  stats.max_values[5] = "2147483648";
  SchemaInput input;
  input.columns = columns;
  input.stats = &stats;
  auto built = build_schema_at(input, SnapshotId(5));
  ASSERT_TRUE(built.has_value());
  ASSERT_EQ(built->schema.fields.size(), 2U);
  EXPECT_EQ(built->schema.fields[1].name, "u32");
  ASSERT_EQ(built->hidden.size(), 3U);
  EXPECT_EQ(built->hidden[2].reason, HiddenReason::kUnsignedRange);
}

TEST(ColumnTypes, HidesARetypedColumnUntilOldFilesAreGone) {
  const std::vector<ducklake::ColumnRow> columns = {
      column(1, "ok", "int32"), column(2, "x", "int32", 1, 7), column(2, "x", "float64", 7),
      column(3, "y", "int32", 1, 7), column(3, "y", "int64", 7)};
  SchemaInput input;
  input.columns = columns;
  input.oldest_live_file = SnapshotId(3);
  EXPECT_EQ(build_schema_at(input, SnapshotId(6))->schema.fields.size(), 3U);
  auto later = build_schema_at(input, SnapshotId(9));
  EXPECT_EQ(later->schema.fields.size(), 2U) << "int to double is no promotion, int to long is";
  input.oldest_live_file = SnapshotId(8);
  EXPECT_EQ(build_schema_at(input, SnapshotId(9))->schema.fields.size(), 3U);
}

TEST(ColumnTypes, NestedFieldsAreOptionalAndMapKeysRequired) {
  std::vector<ducklake::ColumnRow> columns = {column(1, "m", "map"), column(2, "key", "varchar"),
                                              column(3, "value", "struct"),
                                              column(4, "a", "int32")};
  columns[0].nulls_allowed = false;
  for (std::size_t i : {1UL, 2UL}) columns[i].parent = FieldId(1);
  columns[3].parent = FieldId(3);
  for (ducklake::ColumnRow& row : columns) row.nulls_allowed = false;
  SchemaInput input;
  input.columns = columns;
  auto built = build_schema_at(input, SnapshotId(1));
  ASSERT_TRUE(built.has_value());
  const iceberg::Field& map = built->schema.fields[0];
  EXPECT_TRUE(map.required);
  EXPECT_TRUE(map.type.fields[0].required);
  EXPECT_FALSE(map.type.fields[1].required);
  EXPECT_FALSE(map.type.fields[1].type.fields[0].required);
}

class FileEntryTest : public testing::Test {
 protected:
  FileEntryTest() {
    iceberg::Field stamp{FieldId(1), "ts", false, Type::primitive(TypeKind::kTimestamp),
                         {},         {},   {}};
    iceberg::Field number{FieldId(2), "x", false, Type::primitive(TypeKind::kDouble), {}, {}, {}};
    schema_.fields = {stamp, number};
    iceberg::PartitionSpec spec{
        1, {{FieldId(1), 1000, "ts_month", {iceberg::TransformKind::kMonth, 0}}}};
    specs_.specs = {{}, spec};
    specs_.bindings = {{40, 1, {{0, FieldId(1), "month"}}}};
    row_.record_count = 3;
    row_.partition_id = 40;
    row_.partition_values[0] = "1";
  }
  void stats(std::int32_t id, std::optional<std::int64_t> values, std::optional<std::int64_t> nulls,
             const char* min, const char* max, std::optional<bool> nan = {}) {
    row_.stats.push_back(
        {FieldId(id), 10, values, nulls, std::string(min), std::string(max), nan, {}});
  }
  FileEntry make() { return make_file_entry(row_, schema_, specs_, begins_); }

  iceberg::Schema schema_;
  SpecHistory specs_;
  ColumnBegins begins_;
  ducklake::DataFileRow row_;
};

TEST_F(FileEntryTest, TakesTheMonthFromTheFilesOwnRange) {
  stats(1, 3, 0, "2024-01-02 00:00:00", "2024-01-31 23:59:59");
  FileEntry entry = make();
  EXPECT_EQ(entry.spec_id, 1);
  EXPECT_EQ(to_hex(*entry.file.partition[0]), "88020000") << "648 months since 1970";
}

TEST_F(FileEntryTest, FilesWithoutOneProvedValueAreUnpartitioned) {
  stats(1, 3, 0, "2024-01-02 00:00:00", "2024-02-01 00:00:00");
  EXPECT_EQ(make().spec_id, 0);
  row_.stats.clear();
  stats(1, 2, 1, "2024-01-02 00:00:00", "2024-01-02 00:00:00");
  EXPECT_EQ(make().spec_id, 0) << "a null among values";
  row_.stats.clear();
  stats(1, 3, 0, "1969-12-02 00:00:00", "1969-12-03 00:00:00");
  EXPECT_EQ(make().spec_id, 0) << "clients compute months before 1970 wrongly";
  row_.stats.clear();
  EXPECT_EQ(make().spec_id, 0) << "no statistics";
}

TEST_F(FileEntryTest, ValueCountsIncludeNullsAndNothingIsGuessed) {
  stats(1, 2, 1, "2024-01-02 00:00:00", "2024-01-02 00:00:00");
  stats(2, 3, 0, "1.0", "2.0", true);
  FileEntry entry = make();
  EXPECT_THAT(entry.file.value_counts,
              testing::ElementsAre(testing::Pair(1, 3), testing::Pair(2, 3)));
  EXPECT_THAT(entry.file.null_value_counts,
              testing::ElementsAre(testing::Pair(1, 1), testing::Pair(2, 0)));
  EXPECT_TRUE(entry.file.nan_value_counts.empty());
  EXPECT_EQ(entry.file.lower_bounds.size(), 2U);
  EXPECT_EQ(entry.file.upper_bounds.size(), 1U) << "no upper bound where NaN may be";
}

TEST_F(FileEntryTest, CountsThatDoNotAddUpAreLeftOut) {
  stats(2, 0, 0, "1.0", "2.0", false);
  FileEntry entry = make();
  EXPECT_TRUE(entry.file.value_counts.empty());
  EXPECT_TRUE(entry.file.lower_bounds.empty());
}

TEST_F(FileEntryTest, AColumnAddedLaterCountsAsAllNull) {
  row_.life.begin = SnapshotId(4);
  begins_ = {{1, 1}, {2, 9}};
  FileEntry entry = make();
  EXPECT_THAT(entry.file.null_value_counts, testing::ElementsAre(testing::Pair(2, 3)));
}

}  // namespace
}  // namespace duckicelake::translate
