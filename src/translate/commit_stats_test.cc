// SPDX-License-Identifier: Apache-2.0
#include "translate/commit_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "iceberg/decimal.h"
#include "iceberg/value.h"
#include "parquet/test_footers.h"
#include "translate/footer_facts.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::Schema;
using iceberg::Type;
using iceberg::TypeKind;
using parquet::testing::decimal_logical;
using parquet::testing::plain;
using parquet::testing::plain_logical;
using parquet::testing::temporal_logical;
using parquet::testing::TestColumn;
using parquet::testing::TestFooter;

Field field(std::int32_t id, Type type) {
  Field out;
  out.id = FieldId(id);
  out.name = "f" + std::to_string(id);
  out.type = std::move(type);
  return out;
}
Schema schema_of(std::vector<Field> fields) {
  Schema out;
  out.fields = std::move(fields);
  return out;
}
Schema schema_of(TypeKind kind) { return schema_of({field(1, Type::primitive(kind))}); }

FileFacts facts_of(TestColumn column, const Schema& schema) {
  TestFooter footer;
  footer.columns = {std::move(column)};
  return facts_of_footer(parquet::parse_footer(footer.bytes()).value(), schema);
}
// As DuckLake's text.
std::string bounds(TestColumn column, const Type& type) {
  const FileFacts facts = facts_of(std::move(column), schema_of({field(1, type)}));
  const auto found = facts.find(1);
  if (found == facts.end()) return "unknown";
  if (!found->second.low) return "none";
  manifest::DataFile entry;
  entry.record_count = 10;
  const auto stats = file_stats({&entry, &facts}, schema_of({field(1, type)}));
  return stats.at(0).min_value.value_or("-") + " " + stats.at(0).max_value.value_or("-");
}
std::string bounds(TestColumn column, TypeKind kind) {
  return bounds(std::move(column), Type::primitive(kind));
}

template <class T>
TestColumn column(std::int32_t physical, T low, T high,
                  std::function<void(parquet::testing::ThriftWriter&)> logical = {}) {
  return {.physical = physical,
          .logical = std::move(logical),
          .groups = {{.low = plain(low), .high = plain(high)}}};
}
TestColumn text(std::string low, std::string high, bool is_exact = true) {
  return {.logical = plain_logical(1),
          .groups = {{.low = std::move(low),
                      .high = std::move(high),
                      .is_low_exact = is_exact,
                      .is_high_exact = is_exact}}};
}

TEST(FooterFacts, GivesValuesOfTheTablesTypes) {
  const std::int32_t one = 1, two = 2;
  const std::int64_t long_one = 1, long_two = 2;
  EXPECT_EQ(bounds(column(1, one, two), TypeKind::kInt), "1 2");
  EXPECT_EQ(bounds(column(1, one, two), TypeKind::kLong), "1 2");
  EXPECT_EQ(bounds(column(2, long_one, long_two), TypeKind::kLong), "1 2");
  EXPECT_EQ(bounds(column(1, one, two, plain_logical(6)), TypeKind::kDate),
            "1970-01-02 1970-01-03");
  EXPECT_EQ(bounds(column(2, long_one, long_two, temporal_logical(7, true, 2)), TypeKind::kTime),
            "00:00:00.000001 00:00:00.000002");
  EXPECT_EQ(
      bounds(column(2, long_one, long_two, temporal_logical(8, true, 1)), TypeKind::kTimestamptz),
      "1970-01-01 00:00:00.001000+00 1970-01-01 00:00:00.002000+00");
  EXPECT_EQ(bounds(column(4, std::bit_cast<std::int32_t>(0.1F), std::bit_cast<std::int32_t>(2.5F)),
                   TypeKind::kFloat),
            "0.1 2.5");
  EXPECT_EQ(bounds(column(4, std::bit_cast<std::int32_t>(0.1F), std::bit_cast<std::int32_t>(2.5F)),
                   TypeKind::kDouble),
            "0.10000000149011612 2.5");
  EXPECT_EQ(bounds(column(1, -150, 20, decimal_logical(2, 9)), Type::decimal(12, 2)), "-1.50 0.20");
  EXPECT_EQ(bounds({.physical = 7,
                    .type_length = 2,
                    .logical = decimal_logical(1, 4),
                    .groups = {{.low = "\xff\xfe", .high = std::string("\x00\x05", 2)}}},
                   Type::decimal(4, 1)),
            "-0.2 0.5");
  EXPECT_EQ(bounds(text("a\xc3\xa4", "b"), TypeKind::kString), "a\xc3\xa4 b");
  EXPECT_EQ(bounds({.groups = {{.low = "\xfe", .high = "\xff"}}}, TypeKind::kBinary), "FE FF");
}

TEST(FooterFacts, KnowsOnlyCountsWhereTheFilesTypeIsAnother) {
  const std::int32_t one = 1, two = 2;
  const std::int64_t long_one = 1, long_two = 2;
  EXPECT_EQ(bounds(column(2, long_one, long_two), TypeKind::kInt), "none");
  EXPECT_EQ(bounds(column(1, one, two), TypeKind::kDate), "none");
  EXPECT_EQ(bounds(column(1, one, two, plain_logical(6)), TypeKind::kInt), "none");
  EXPECT_EQ(bounds(column(1, one, two, plain_logical(6)), TypeKind::kTimestamp), "none");
  EXPECT_EQ(bounds(column(1, one, two), Type::decimal(9, 0)), "none");
  EXPECT_EQ(bounds(column(1, one, two, decimal_logical(3, 9)), Type::decimal(9, 2)), "none");
  EXPECT_EQ(bounds(column(1, one, two, decimal_logical(2, 10)), Type::decimal(9, 2)), "none");
  // Read as the other kind its value depends on the session's zone.
  EXPECT_EQ(
      bounds(column(2, long_one, long_two, temporal_logical(8, true, 2)), TypeKind::kTimestamp),
      "none");
  EXPECT_EQ(
      bounds(column(2, long_one, long_two, temporal_logical(8, false, 2)), TypeKind::kTimestamptz),
      "none");
  // A microsecond cannot say it.
  EXPECT_EQ(
      bounds(column(2, long_one, long_two, temporal_logical(8, false, 3)), TypeKind::kTimestamp),
      "none");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(bounds(column(2, most, most, temporal_logical(8, false, 1)), TypeKind::kTimestamp),
            "none");
  // DuckDB reads plain bytes as text in a form of its own.
  EXPECT_EQ(bounds({.groups = {{.low = "a", .high = "a"}}}, TypeKind::kString), "none");
  EXPECT_EQ(bounds(text("a", "b"), TypeKind::kBinary), "none");
  EXPECT_EQ(bounds(text("a\xff", "b"), TypeKind::kString), "none");
  EXPECT_EQ(bounds(text(std::string(1025, 'a'), "b"), TypeKind::kString), "none");
}

TEST(FooterFacts, FollowsFieldIdsAlone) {
  const Schema schema = schema_of(TypeKind::kInt);
  TestColumn nameless = column(1, 1, 2);
  nameless.field_id = {};
  EXPECT_TRUE(facts_of(nameless, schema).empty());
  // Another column's id: the table's own column is nowhere in the file, and null.
  TestColumn other = column(1, 1, 2);
  other.field_id = 7;
  const FileFacts absent = facts_of(other, schema);
  ASSERT_TRUE(absent.contains(1));
  EXPECT_EQ(absent.at(1).values, 10);
  EXPECT_EQ(absent.at(1).nulls, 10);
  Schema with_default = schema;
  with_default.fields[0].initial_default = iceberg::value_of_int(3);
  EXPECT_FALSE(facts_of(other, with_default).contains(1));
  // The same id twice, in a struct that the table has not, or of a group.
  TestFooter twice;
  twice.columns = {column(1, 1, 2), column(1, 3, 4)};
  EXPECT_TRUE(facts_of_footer(parquet::parse_footer(twice.bytes()).value(), schema).empty());
  EXPECT_TRUE(facts_of({.field_id = 9, .children = {column(1, 1, 2)}}, schema).empty());
  EXPECT_TRUE(facts_of({.field_id = 1, .children = {other}}, schema).empty());
  const Schema nested =
      schema_of({field(9, Type::structure({field(1, Type::primitive(TypeKind::kInt))}))});
  const FileFacts inner = facts_of({.field_id = 9, .children = {column(1, 1, 2)}}, nested);
  ASSERT_TRUE(inner.contains(1));
  EXPECT_EQ(inner.at(1).low->value, iceberg::value_of_int(1));
  EXPECT_TRUE(facts_of(column(1, 1, 2), nested).empty());
}

// An entry of one column with id 1.
manifest::DataFile entry(std::optional<std::string> low, std::optional<std::string> high,
                         std::int64_t nulls = 0) {
  manifest::DataFile out;
  out.file_path = "s3://b/f.parquet";
  out.record_count = 10;
  out.value_counts = {{1, 10}};
  out.null_value_counts = {{1, nulls}};
  if (low) out.lower_bounds = {{1, *low}};
  if (high) out.upper_bounds = {{1, *high}};
  return out;
}

TEST(NeedsFooter, OnlyWhereTheClientLeavesSomethingOpen) {
  const Schema numbers = schema_of(TypeKind::kInt);
  const Schema texts = schema_of(TypeKind::kString);
  const Schema doubles = schema_of(TypeKind::kDouble);
  const std::string one = iceberg::value_of_int(1), two = iceberg::value_of_int(2);
  EXPECT_FALSE(needs_footer(entry(one, two), numbers));
  EXPECT_TRUE(needs_footer(entry(one, {}), numbers));
  EXPECT_FALSE(needs_footer(entry({}, {}, 10), numbers));  // nothing but nulls
  EXPECT_FALSE(needs_footer(entry("a", "a"), texts));
  EXPECT_TRUE(needs_footer(entry("a", "b"), texts));
  EXPECT_FALSE(needs_footer(entry("a", "b"), schema_of(TypeKind::kBinary)));
  EXPECT_FALSE(needs_footer(entry({}, {}), schema_of(TypeKind::kVariant)));
  EXPECT_TRUE(needs_footer(manifest::DataFile(), numbers));  // says that it has no rows
  manifest::DataFile no_counts = entry(one, two);
  no_counts.null_value_counts.clear();
  EXPECT_TRUE(needs_footer(no_counts, numbers));
  manifest::DataFile nans = entry({}, {}, 4);
  EXPECT_TRUE(needs_footer(nans, doubles));
  nans.nan_value_counts = {{1, 6}};
  EXPECT_FALSE(needs_footer(nans, doubles));
  const Schema list = schema_of({field(8, Type::list(field(9, Type::primitive(TypeKind::kInt))))});
  EXPECT_FALSE(needs_footer(entry(one, two), list));
}

TEST(CorrectMetrics, KeepsWhatIsRightAndLeavesOutWhatIsLeftOut) {
  const Schema texts = schema_of(TypeKind::kString);
  const FileFacts facts = facts_of(text("abcdefghijklmnopqrst", "x"), texts);
  manifest::DataFile file = entry("abcdefghijklmnop", "y");
  const manifest::DataFile before = file;
  correct_metrics(file, texts, facts);
  EXPECT_EQ(file, before);
  manifest::DataFile silent;
  correct_metrics(silent, texts, facts);
  EXPECT_EQ(silent, manifest::DataFile());
}

TEST(CorrectMetrics, TakesOutWhatTheFooterContradicts) {
  const Schema texts = schema_of(TypeKind::kString);
  const FileFacts facts = facts_of(text("abcdefghijklmnopqrst", "xyzxyzxyzxyzxyzxyzz"), texts);
  manifest::DataFile file = entry("b", "c", 3);
  file.value_counts = {{1, 7}};
  correct_metrics(file, texts, facts);
  EXPECT_EQ(file.lower_bounds[0].second, "abcdefghijklmnop");
  EXPECT_EQ(file.upper_bounds[0].second, "xyzxyzxyzxyzxyzy");
  EXPECT_EQ(file.value_counts[0].second, 10);
  EXPECT_EQ(file.null_value_counts[0].second, 0);
}

ducklake::TableColumnStats row(std::optional<std::string> min, std::optional<std::string> max,
                               std::optional<bool> has_nan = {}) {
  ducklake::TableColumnStats out;
  out.column_id = FieldId(1);
  out.contains_null = false;
  out.contains_nan = has_nan;
  out.min_value = std::move(min);
  out.max_value = std::move(max);
  return out;
}

// "min max" of the table's column after the file joined it; "forgotten", "unknown".
std::string merged(std::vector<ducklake::TableColumnStats> current, bool is_empty, TypeKind kind,
                   const manifest::DataFile& file, const FileFacts* facts = nullptr) {
  const ClientFile added[] = {{&file, facts}};
  const MergedStats out = merge_table_stats(current, is_empty, schema_of(kind), {}, added);
  if (!out.forgotten.empty()) return "forgotten";
  if (out.changed.empty()) return "unknown";
  return out.changed[0].min_value.value_or("-") + " " + out.changed[0].max_value.value_or("-");
}

TEST(MergeTableStats, TakesStringsWhoseBoundsAreValues) {
  const Schema texts = schema_of(TypeKind::kString);
  const FileFacts exact = facts_of(text("aaa", "zzz"), texts);
  const FileFacts cut = facts_of(text("aaa", "zzz", false), texts);
  const manifest::DataFile file = entry("a", "z");
  EXPECT_EQ(merged({}, true, TypeKind::kString, file), "unknown");
  EXPECT_EQ(merged({}, true, TypeKind::kString, file, &exact), "aaa zzz");
  EXPECT_EQ(merged({}, true, TypeKind::kString, file, &cut), "unknown");
  EXPECT_EQ(merged({}, true, TypeKind::kString, entry("m", "m")), "m m");
  EXPECT_EQ(merged({row("b", "c")}, false, TypeKind::kString, file, &exact), "aaa zzz");
  EXPECT_EQ(merged({row("b", "c")}, false, TypeKind::kString, file, &cut), "forgotten");
  EXPECT_EQ(merged({row("b", "c")}, false, TypeKind::kString, file), "forgotten");
  // A column that is unknown stays so.
  EXPECT_EQ(merged({}, false, TypeKind::kString, file, &exact), "unknown");
}

TEST(MergeTableStats, BelievesTheFooterBeforeTheClient) {
  const Schema texts = schema_of(TypeKind::kString);
  const FileFacts exact = facts_of(text("aaa", "zzz"), texts);
  EXPECT_EQ(merged({}, true, TypeKind::kString, entry("m", "m"), &exact), "aaa zzz");
  EXPECT_EQ(merged({}, true, TypeKind::kString, entry({}, {}, 10), &exact), "aaa zzz");
  const FileFacts numbers = facts_of(column(1, -3, 9), schema_of(TypeKind::kInt));
  EXPECT_EQ(merged({}, true, TypeKind::kInt,
                   entry(iceberg::value_of_int(0), iceberg::value_of_int(1)), &numbers),
            "-3 9");
}

// DuckDB's writer gives no bounds where a string has NUL or all numbers are NaN.
TEST(MergeTableStats, ARowWithoutBoundsMayHideValues) {
  const FileFacts exact = facts_of(text("aaa", "zzz"), schema_of(TypeKind::kString));
  EXPECT_EQ(merged({row({}, {})}, false, TypeKind::kString, entry("a", "z"), &exact), "forgotten");
  EXPECT_EQ(merged({row({}, {})}, false, TypeKind::kString, entry({}, {}, 10)), "- -");
  manifest::DataFile doubles = entry(iceberg::value_of_double(1), iceberg::value_of_double(2));
  doubles.nan_value_counts = {{1, 0}};
  EXPECT_EQ(merged({row({}, {}, true)}, false, TypeKind::kDouble, doubles), "forgotten");
  EXPECT_EQ(merged({row({}, {}, false)}, false, TypeKind::kDouble, doubles), "1 2");
  EXPECT_EQ(merged({row({}, {})}, false, TypeKind::kInt,
                   entry(iceberg::value_of_int(1), iceberg::value_of_int(2))),
            "1 2");
}

TEST(MergeTableStats, BinaryColumnsAreForgotten) {
  const Schema binary = schema_of(TypeKind::kBinary);
  const FileFacts exact = facts_of({.groups = {{.low = "a", .high = "a"}}}, binary);
  EXPECT_EQ(merged({row("AA", "BB")}, false, TypeKind::kBinary, entry("a", "a"), &exact),
            "forgotten");
}

TEST(MergeTableStats, AFloatColumnNeedsToKnowOfNan) {
  const manifest::DataFile file = entry(iceberg::value_of_double(1), iceberg::value_of_double(2));
  EXPECT_EQ(merged({row("0.0", "9.0", false)}, false, TypeKind::kDouble, file), "forgotten");
  // Nulls are none.
  EXPECT_EQ(merged({row("0.0", "9.0", false)}, false, TypeKind::kDouble, entry({}, {}, 10)),
            "0.0 9.0");
}

}  // namespace
}  // namespace duckicelake::translate
