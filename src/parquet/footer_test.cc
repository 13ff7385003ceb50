// SPDX-License-Identifier: Apache-2.0
#include "parquet/footer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "parquet/test_footers.h"

namespace duckicelake::parquet {
namespace {

using testing::decimal_logical;
using testing::integer_logical;
using testing::plain;
using testing::plain_logical;
using testing::temporal_logical;
using testing::TestColumn;
using testing::TestFooter;
using testing::TestStatistics;

std::string plain_double(double value) { return plain(std::bit_cast<std::int64_t>(value)); }

Footer parsed(const TestFooter& footer) {
  Result<Footer> out = parse_footer(footer.bytes());
  EXPECT_TRUE(out.has_value()) << out.error().to_string();
  return out.has_value() ? std::move(*out) : Footer();
}

// One column over as many row groups as there are statistics.
Leaf leaf_of(TestColumn column, std::vector<TestStatistics> groups) {
  TestFooter footer;
  footer.rows.assign(groups.size(), 10);
  column.groups = std::move(groups);
  footer.columns = {std::move(column)};
  Footer out = parsed(footer);
  return out.leaves.size() == 1 ? out.leaves[0] : Leaf();
}

// "low..high" with '~' after a bound that need not be a value; "none".
std::string bounds(const Leaf& leaf) {
  if (!leaf.low && !leaf.high) return "none";
  return leaf.low->bytes + (leaf.low->is_exact ? "" : "~") + ".." + leaf.high->bytes +
         (leaf.high->is_exact ? "" : "~");
}
std::string numbers(const Leaf& leaf) {
  if (!leaf.low && !leaf.high) return "none";
  return fmt::format("{}..{}", read_little_endian<std::int32_t>(leaf.low->bytes),
                     read_little_endian<std::int32_t>(leaf.high->bytes));
}

TestColumn text() { return {.logical = plain_logical(1)}; }
TestColumn int32() { return {.physical = 1}; }

TEST(ParquetFooter, JoinsRowGroups) {
  const Leaf leaf = leaf_of(int32(), {{.nulls = 1, .low = plain(-5), .high = plain(7)},
                                      {.nulls = 10},
                                      {.nulls = 2, .low = plain(-300), .high = plain(2)}});
  EXPECT_EQ(numbers(leaf), "-300..7");
  EXPECT_TRUE(leaf.low->is_exact && leaf.high->is_exact);
  EXPECT_EQ(leaf.value_count, 30);
  EXPECT_EQ(leaf.null_count, 13);
  EXPECT_EQ(leaf.compressed_bytes, 150);
  EXPECT_EQ(leaf.id_path, std::vector<std::int32_t>{1});
}

TEST(ParquetFooter, KnowsNoBoundsWhereARowGroupHasNone) {
  EXPECT_EQ(numbers(leaf_of(int32(), {{.low = plain(1), .high = plain(2)}, {.nulls = 3}})), "none");
  EXPECT_EQ(numbers(leaf_of(int32(), {{.low = plain(1), .high = plain(2)}, {.nulls = {}}})),
            "none");
  EXPECT_EQ(numbers(leaf_of(int32(), {{.low = plain(1)}})), "none");
  const Leaf leaf = leaf_of(int32(), {{.nulls = {}, .low = plain(1), .high = plain(2)}});
  EXPECT_EQ(numbers(leaf), "1..2");
  EXPECT_EQ(leaf.null_count, std::nullopt);
}

TEST(ParquetFooter, TextIsExactOnlyWhereTheFooterSaysSo) {
  const auto of = [](std::optional<bool> low, std::optional<bool> high) {
    return bounds(
        leaf_of(text(), {{.low = "ab", .high = "b", .is_low_exact = low, .is_high_exact = high}}));
  };
  EXPECT_EQ(of(true, true), "ab..b");
  EXPECT_EQ(of(true, false), "ab..b~");
  EXPECT_EQ(of(false, true), "ab~..b");
  EXPECT_EQ(of({}, {}), "ab~..b~");
  // Nothing lies between two equal bounds but the value itself.
  EXPECT_EQ(bounds(leaf_of(text(), {{.low = "ab", .high = "ab"}})), "ab..ab");
}

TEST(ParquetFooter, ABoundIsExactWhenTheOutermostOneIs) {
  EXPECT_EQ(bounds(leaf_of(
                text(), {{.low = "b", .high = "c", .is_low_exact = false, .is_high_exact = true},
                         {.low = "a", .high = "b", .is_low_exact = true, .is_high_exact = false}})),
            "a..c");
  EXPECT_EQ(bounds(leaf_of(
                text(), {{.low = "a", .high = "c", .is_low_exact = false, .is_high_exact = false},
                         {.low = "b", .high = "b", .is_low_exact = true, .is_high_exact = true}})),
            "a~..c~");
  EXPECT_EQ(bounds(leaf_of(
                text(), {{.low = "a", .high = "c", .is_low_exact = false, .is_high_exact = false},
                         {.low = "a", .high = "c", .is_low_exact = true, .is_high_exact = true}})),
            "a..c");
}

TEST(ParquetFooter, BytesAreComparedWithoutSign) {
  EXPECT_EQ(bounds(leaf_of(text(), {{.low = "\xff", .high = "\xff"}, {.low = "a", .high = "a"}})),
            "a..\xff");
  EXPECT_EQ(bounds(leaf_of(text(), {{.low = "\xff", .high = "a"}})), "none");
}

TEST(ParquetFooter, FixedBytesOfFullLengthAreWhole) {
  const TestColumn uuid{.physical = 7, .type_length = 2, .logical = plain_logical(14)};
  EXPECT_EQ(bounds(leaf_of(uuid, {{.low = "ab", .high = "zz"}})), "ab..zz");
  EXPECT_EQ(bounds(leaf_of(uuid, {{.low = "a", .high = "z"}})), "a~..z~");
}

TEST(ParquetFooter, TakesNoBoundWhoseOrderIsNotTheTypes) {
  const TestStatistics some{.low = plain(1), .high = plain(2)};
  TestColumn other = int32();
  other.has_own_order = false;
  EXPECT_EQ(numbers(leaf_of(other, {some})), "none");
  TestFooter old;
  old.has_orders = false;
  old.columns = {int32()};
  old.columns[0].groups = {some};
  EXPECT_EQ(numbers(parsed(old).leaves.at(0)), "none");
  // The fields of old writers, who compared bytes with sign.
  EXPECT_EQ(bounds(leaf_of(text(), {{.old_low = "a", .old_high = "b"}})), "none");
  TestColumn unsigned_numbers = int32();
  unsigned_numbers.logical = integer_logical(false);
  EXPECT_EQ(numbers(leaf_of(unsigned_numbers, {some})), "none");
  unsigned_numbers.logical = integer_logical(true);
  EXPECT_EQ(numbers(leaf_of(unsigned_numbers, {some})), "1..2");
  EXPECT_EQ(numbers(leaf_of({.physical = 1, .converted = 13}, {some})), "none");
  EXPECT_EQ(numbers(leaf_of({.physical = 1, .converted = 17}, {some})), "1..2");
  EXPECT_EQ(bounds(leaf_of({.physical = 3},
                           {{.low = std::string(12, 'a'), .high = std::string(12, 'b')}})),
            "none");                                                                   // INT96
  EXPECT_EQ(bounds(leaf_of({.converted = 21}, {{.low = "a", .high = "b"}})), "none");  // intervals
}

TEST(ParquetFooter, TakesNoBoundOfAnotherLengthOrOrder) {
  EXPECT_EQ(bounds(leaf_of(int32(), {{.low = "abc", .high = "abcd"}})), "none");
  EXPECT_EQ(bounds(leaf_of(int32(), {{.low = "", .high = ""}})), "none");
  EXPECT_EQ(numbers(leaf_of(int32(), {{.low = plain(2), .high = plain(1)}})), "none");
  EXPECT_EQ(bounds(leaf_of({.physical = 0}, {{.low = "a", .high = "b"}})), "none");
}

TEST(ParquetFooter, NanIsNoBound) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TestColumn doubles{.physical = 5};
  EXPECT_EQ(bounds(leaf_of(doubles, {{.low = plain_double(nan), .high = plain_double(1)}})),
            "none");
  EXPECT_EQ(bounds(leaf_of(doubles, {{.low = plain_double(1), .high = plain_double(-nan)}})),
            "none");
  const Leaf leaf = leaf_of(doubles, {{.low = plain_double(-0.0), .high = plain_double(0.0)},
                                      {.low = plain_double(-7), .high = plain_double(-6)}});
  EXPECT_EQ(leaf.low->bytes, plain_double(-7));
  EXPECT_EQ(leaf.high->bytes, plain_double(0.0));
}

TEST(ParquetFooter, AZeroMayStandForTheOtherZero) {
  const TestColumn doubles{.physical = 5};
  const Leaf leaf = leaf_of(doubles, {{.low = plain_double(-0.0), .high = plain_double(9)}});
  EXPECT_FALSE(leaf.low->is_exact);
  EXPECT_TRUE(leaf.high->is_exact);
  const Leaf other = leaf_of({.physical = 4}, {{.low = plain(std::bit_cast<std::int32_t>(-3.5F)),
                                                .high = plain(std::bit_cast<std::int32_t>(0.0F))}});
  EXPECT_TRUE(other.low->is_exact);
  EXPECT_FALSE(other.high->is_exact);
}

TEST(ParquetFooter, RefusesMoreColumnsThanAnybodyHas) {
  TestFooter footer;
  footer.columns.assign(19'000, int32());
  EXPECT_TRUE(parse_footer(footer.bytes()).has_value());
  footer.columns.assign(20'001, int32());
  EXPECT_FALSE(parse_footer(footer.bytes()).has_value());
}

TEST(ParquetFooter, DecimalsAreComparedByValue) {
  const TestColumn decimals{.physical = 6, .logical = decimal_logical(2, 9)};
  const Leaf leaf = leaf_of(decimals, {{.low = "\xff\xfe", .high = "\x01"},
                                       {.low = "\x80", .high = std::string("\x00\xff", 2)}});
  EXPECT_EQ(leaf.low->bytes, "\x80");
  EXPECT_EQ(leaf.high->bytes, std::string("\x00\xff", 2));
  EXPECT_TRUE(leaf.low->is_exact);
  EXPECT_EQ(bounds(leaf_of(decimals, {{.low = std::string(17, 'a'), .high = "b"}})), "none");
}

TEST(ParquetFooter, ReadsLogicalTypesOfBothKinds) {
  using Kind = LogicalType::Kind;
  const auto logical = [](TestColumn column) { return leaf_of(std::move(column), {{}}).logical; };
  LogicalType type = logical({.physical = 2, .logical = temporal_logical(8, true, 3)});
  EXPECT_EQ(type.kind, Kind::kTimestamp);
  EXPECT_EQ(type.is_utc, true);
  EXPECT_EQ(type.unit, LogicalType::Unit::kNanos);
  type = logical({.physical = 2, .converted = 9});
  EXPECT_EQ(type.kind, Kind::kTimestamp);
  EXPECT_EQ(type.is_utc, std::nullopt);
  EXPECT_EQ(type.unit, LogicalType::Unit::kMillis);
  type = logical({.physical = 7, .type_length = 5, .logical = decimal_logical(2, 11)});
  EXPECT_EQ(type.kind, Kind::kDecimal);
  EXPECT_EQ(type.scale, 2);
  EXPECT_EQ(type.precision, 11);
  EXPECT_EQ(logical({.converted = 0}).kind, Kind::kText);
  EXPECT_EQ(logical({.logical = plain_logical(15)}).kind, Kind::kOther);
  EXPECT_EQ(logical({.logical = plain_logical(99)}).kind, Kind::kOther);
  EXPECT_EQ(logical({.physical = 1, .converted = 6}).kind, Kind::kDate);
}

TEST(ParquetFooter, KnowsWhereALeafLies) {
  TestFooter footer;
  TestColumn inner{.name = "inner", .field_id = 3, .physical = 1};
  TestColumn group{.name = "group", .field_id = 2, .children = {inner}};
  TestColumn element{.name = "element", .field_id = 6, .physical = 1};
  TestColumn repeated{.name = "list", .field_id = {}, .repetition = 2, .children = {element}};
  TestColumn list{.name = "items", .field_id = 5, .children = {repeated}};
  footer.columns = {group, list, {.name = "last", .field_id = {}, .physical = 1}};
  const Footer out = parsed(footer);
  ASSERT_EQ(out.leaves.size(), 3u);
  EXPECT_EQ(out.leaves[0].id_path, (std::vector<std::int32_t>{2, 3}));
  EXPECT_FALSE(out.leaves[0].is_repeated);
  EXPECT_EQ(out.leaves[1].id_path, (std::vector<std::int32_t>{5, kNoId, 6}));
  EXPECT_TRUE(out.leaves[1].is_repeated);
  EXPECT_EQ(out.leaves[2].id_path, std::vector<std::int32_t>{kNoId});
  EXPECT_EQ(out.field_ids, (std::vector<std::int32_t>{2, 3, 5, 6}));
}

TEST(ParquetFooter, AFileWithoutRowsHasNoBounds) {
  TestFooter footer;
  footer.rows = {};
  footer.columns = {int32()};
  const Footer out = parsed(footer);
  EXPECT_EQ(out.row_count, 0);
  EXPECT_EQ(bounds(out.leaves.at(0)), "none");
  EXPECT_EQ(out.leaves.at(0).null_count, 0);
}

TEST(ParquetFooter, RefusesWhatContradictsItself) {
  const auto code = [](const TestFooter& footer) {
    const Result<Footer> out = parse_footer(footer.bytes());
    return out.has_value() ? std::optional<Code>() : out.error().code();
  };
  TestFooter footer;
  footer.columns = {int32()};
  EXPECT_EQ(code(footer), std::nullopt);
  footer.all_rows = 11;
  EXPECT_EQ(code(footer), Code::kCorruptData);
  footer.all_rows = -1;
  EXPECT_EQ(code(footer), Code::kCorruptData);
  footer.all_rows.reset();
  footer.columns[0].groups = {{.nulls = 11}};
  EXPECT_EQ(code(footer), Code::kCorruptData);
  footer.columns[0].groups = {{.nulls = -1}};
  EXPECT_EQ(code(footer), Code::kCorruptData);
  footer.columns[0] = {.physical = 8};
  EXPECT_EQ(code(footer), Code::kCorruptData);
  footer.columns[0] = int32();
  footer.rows = {std::numeric_limits<std::int64_t>::max(), 1};
  EXPECT_EQ(code(footer), Code::kCorruptData);
}

// Whatever the bytes: an answer or kCorruptData, in bounded time.
TEST(ParquetFooter, SurvivesAnyBytes) {
  TestFooter footer;
  TestColumn element{.name = "element", .field_id = 6, .logical = plain_logical(1)};
  TestColumn repeated{.name = "list", .field_id = {}, .repetition = 2, .children = {element}};
  footer.columns = {text(), int32(), {.name = "items", .field_id = 5, .children = {repeated}}};
  footer.columns[0].groups = {{.low = "a", .high = "b", .is_low_exact = true}};
  const std::string good = footer.bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 256; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bit);
      const Result<Footer> out = parse_footer(bad);
      if (!out.has_value()) {
        ASSERT_EQ(out.error().code(), Code::kCorruptData);
      }
    }
    ASSERT_FALSE(parse_footer(std::string_view(good).substr(0, i)).has_value());
  }
  // A list that says that it is long; structs in structs.
  EXPECT_FALSE(parse_footer("\x29\xfc\xff\xff\xff\xff\x0f").has_value());
  EXPECT_FALSE(parse_footer(std::string(100'000, '\x1c')).has_value());
  EXPECT_FALSE(parse_footer(std::string(100'000, '\x19')).has_value());
  EXPECT_FALSE(parse_footer("").has_value());
}

TEST(ParquetFooter, KnowsATrailer) {
  const auto trailer = [](std::uint32_t length, std::string_view magic) {
    std::string out;
    append_little_endian(out, length);
    return footer_length(out + std::string(magic));
  };
  EXPECT_EQ(trailer(77, "PAR1").value(), 77u);
  EXPECT_EQ(trailer(0xFFFFFFFF, "PAR1").value(), 0xFFFFFFFFu);
  EXPECT_FALSE(trailer(77, "PARE").has_value());
  EXPECT_FALSE(trailer(77, "ORC1").has_value());
  EXPECT_FALSE(footer_length("PAR1").has_value());
}

}  // namespace
}  // namespace duckicelake::parquet
