// SPDX-License-Identifier: Apache-2.0
#include "iceberg/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "iceberg/decimal.h"
#include "iceberg/temporal.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

Type type_of(std::string_view text) { return *parse_primitive(text); }

constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Spec appendix D: binary and JSON form of each type, both ways.
TEST(Value, HasTheFormsOfAppendixD) {
  struct Case {
    std::string_view type;
    std::string_view json;
    std::string_view hex;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"boolean", "true", "01"},
           {"boolean", "false", "00"},
           {"int", "34", "22000000"},
           {"int", "-2147483648", "00000080"},
           {"long", "34", "2200000000000000"},
           {"long", "9223372036854775807", "ffffffffffffff7f"},
           {"float", "1.0", "0000803f"},
           {"float", "-0.0", "00000080"},
           {"float", "0.1", "cdcccc3d"},
           {"float", "3.4028235e+38", "ffff7f7f"},
           {"double", "1.0", "000000000000f03f"},
           {"double", "0.1", "9a9999999999b93f"},
           {"double", "1e+300", "9c7500883ce4377e"},
           {"double", "\"NaN\"", "000000000000f87f"},
           {"double", "\"Infinity\"", "000000000000f07f"},
           {"float", "\"-Infinity\"", "000080ff"},
           {"decimal(9,2)", "\"14.20\"", "058c"},
           {"decimal(9,2)", "\"-0.01\"", "ff"},
           {"decimal(9,2)", "\"0.00\"", "00"},
           {"decimal(9,0)", "\"128\"", "0080"},
           {"decimal(9,0)", "\"-128\"", "80"},
           {"decimal(9,0)", "\"-129\"", "ff7f"},
           {"decimal(5,5)", "\"-0.00001\"", "ff"},
           {"decimal(38,0)", "\"99999999999999999999999999999999999999\"",
            "4b3b4ca85a86c47a098a223fffffffff"},
           {"decimal(38,38)", "\"-0.99999999999999999999999999999999999999\"",
            "b4c4b357a5793b85f675ddc000000001"},
           {"date", "\"2017-11-16\"", "4e440000"},
           {"date", "\"1970-01-01\"", "00000000"},
           {"date", "\"1969-12-31\"", "ffffffff"},
           {"date", "\"-0044-03-15\"", "dbc6f4ff"},
           {"date", "\"+12345-06-07\"", "ecd23900"},
           {"date", "\"0000-02-29\"", "9305f5ff"},
           {"time", "\"22:31:08.123456\"", "406509e012000000"},
           {"timestamp", "\"1970-01-01T00:00:00.000001\"", "0100000000000000"},
           {"timestamp", "\"1969-12-31T23:59:59.999999\"", "ffffffffffffffff"},
           {"timestamptz", "\"1969-12-31T23:59:59.999999+00:00\"", "ffffffffffffffff"},
           {"timestamp_ns", "\"1969-12-31T23:59:59.999999999\"", "ffffffffffffffff"},
           {"timestamptz_ns", "\"1970-01-01T00:00:00.000000001+00:00\"", "0100000000000000"},
           {"timestamp_ns", "\"1677-09-21T00:12:43.145224192\"", "0000000000000080"},
           {"timestamp_ns", "\"2262-04-11T23:47:16.854775807\"", "ffffffffffffff7f"},
           {"timestamp", "\"-290308-12-21T19:59:05.224192\"", "0000000000000080"},
           {"timestamp", "\"+294247-01-10T04:00:54.775807\"", "ffffffffffffff7f"},
           {"string", "\"iceberg\"", "69636562657267"},
           {"string", "\"\"", ""},
           {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", "f79c3e09677c4bbda4793f349cb785e7"},
           {"fixed[4]", "\"000102FF\"", "000102ff"},
           {"binary", "\"000102FF\"", "000102ff"},
           {"binary", "\"\"", ""}}) {
    Type type = type_of(c.type);
    auto bytes = value_from_json_text(type, c.json);
    ASSERT_TRUE(bytes.has_value()) << c.type << " " << c.json << ": " << bytes.error().message();
    EXPECT_EQ(to_hex(*bytes), c.hex) << c.type << " " << c.json;
    EXPECT_TRUE(is_valid_value(type, *bytes));
    EXPECT_EQ(value_to_json(type, *bytes), c.json) << c.type;
    EXPECT_EQ(compare_values(type, *bytes, *bytes), 0);
  }
}

TEST(Value, ReadsOtherLegalSpellings) {
  auto same = [](std::string_view type, std::string_view a, std::string_view b) {
    auto x = value_from_json_text(type_of(type), a);
    auto y = value_from_json_text(type_of(type), b);
    return x.has_value() && y.has_value() && *x == *y;
  };
  EXPECT_TRUE(same("binary", "\"000102ff\"", "\"000102FF\""));
  EXPECT_TRUE(same("uuid", "\"F79C3E09-677C-4BBD-A479-3F349CB785E7\"",
                   "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""));
  EXPECT_TRUE(same("timestamp", "\"2017-11-16T22:31:08\"", "\"2017-11-16T22:31:08.000000\""));
  EXPECT_TRUE(same("timestamp", "\"2017-11-16T22:31\"", "\"2017-11-16T22:31:00.000000000\""));
  EXPECT_TRUE(
      same("timestamptz", "\"2017-11-16T22:31:08.1Z\"", "\"2017-11-16T22:31:08.100000+00:00\""));
  EXPECT_TRUE(same("time", "\"22:31:08.5\"", "\"22:31:08.500000\""));
  EXPECT_TRUE(same("double", "1", "1.0"));
  EXPECT_TRUE(same("decimal(9,2)", "\"14.2\"", "\"14.20\""));
  EXPECT_TRUE(same("decimal(9,2)", "\"+1.42E+1\"", "\"14.20\""));
  EXPECT_TRUE(same("decimal(20,10)", "\"0E-10\"", "\"0\""));
  EXPECT_TRUE(same("decimal(9,2)", "\"14.2000\"", "\"14.20\""));
}

TEST(Value, RefusesJsonThatIsNotTheType) {
  struct Case {
    std::string_view type;
    std::string_view json;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"boolean", "1"},
                                   {"boolean", "\"true\""},
                                   {"int", "1.0"},
                                   {"int", "2147483648"},
                                   {"int", "\"1\""},
                                   {"int", "null"},
                                   {"long", "9223372036854775808"},
                                   {"long", "1e3"},
                                   {"float", "1e39"},
                                   {"float", "\"1.0\""},
                                   {"double", "\"nan\""},
                                   {"double", "true"},
                                   {"decimal(9,2)", "14.20"},
                                   {"decimal(9,2)", "\"14.201\""},
                                   {"decimal(4,2)", "\"100.00\""},
                                   {"decimal(4,2)", "\"1E+2\""},
                                   {"decimal(9,2)", "\"\""},
                                   {"decimal(9,2)", "\".\""},
                                   {"decimal(9,2)", "\"1e\""},
                                   {"decimal(9,2)", "\"1e+-2\""},
                                   {"decimal(9,2)", "\"0x10\""},
                                   {"decimal(9,2)", "\"1E+2000000000\""},
                                   {"decimal(9,2)", "\"1E-2000000000000000000000\""},
                                   {"decimal(38,0)", "\"100000000000000000000000000000000000000\""},
                                   {"decimal(9,2)", "\"NaN\""},
                                   {"date", "17486"},
                                   {"date", "\"2017-02-29\""},
                                   {"date", "\"2017-13-01\""},
                                   {"date", "\"2017-00-01\""},
                                   {"date", "\"2017-1-1\""},
                                   {"date", "\"17-11-16\""},
                                   {"date", "\"2017-11-16T00:00\""},
                                   {"date", "\"+9999999-01-01\""},
                                   {"date", "\"-9999999-01-01\""},
                                   {"date", "\"99999999999-01-01\""},
                                   {"date", "\"infinity\""},
                                   {"time", "\"24:00:00\""},
                                   {"time", "\"23:60:00\""},
                                   {"time", "\"23:59:60\""},
                                   {"time", "\"1:02:03\""},
                                   {"time", "\"01:02:03.\""},
                                   {"time", "\"01:02:03.1234567\""},
                                   {"timestamp", "\"2017-11-16\""},
                                   {"timestamp", "\"2017-11-16 22:31:08\""},
                                   {"timestamp", "\"2017-11-16T22:31:08Z\""},
                                   {"timestamp", "\"2017-11-16T22:31:08+00:00\""},
                                   {"timestamp", "\"+294247-01-10T04:00:54.775808\""},
                                   {"timestamp", "\"-290308-12-21T19:59:05.224191\""},
                                   {"timestamp_ns", "\"2262-04-11T23:47:16.854775808\""},
                                   {"timestamp_ns", "\"2017-11-16T22:31:08.1234567890\""},
                                   {"timestamptz", "\"2017-11-16T22:31:08\""},
                                   {"timestamptz", "\"2017-11-16T14:31:08-08:00\""},
                                   {"string", "1"},
                                   {"string", "\"\\ud800\""},
                                   {"uuid", "\"f79c3e09677c4bbda4793f349cb785e7\""},
                                   {"fixed[4]", "\"000102\""},
                                   {"fixed[4]", "\"000102FFFF\""},
                                   {"fixed[2]", "\"zz00\""},
                                   {"binary", "\"0\""},
                                   {"variant", "\"x\""},
                                   {"geometry", "\"POINT (30 10)\""},
                                   {"unknown", "\"x\""},
                                   {"unknown", "null"}}) {
    EXPECT_FALSE(value_from_json_text(type_of(c.type), c.json).has_value())
        << c.type << " " << c.json;
  }
  EXPECT_FALSE(value_from_json_text(Type::structure({}), "{}").has_value());
}

TEST(Value, WritesGeometryBoundsAsWktAndForeignBytesAsNull) {
  std::string point = value_of_double(30) + value_of_double(10.5);
  EXPECT_EQ(value_to_json(type_of("geometry"), point), "\"POINT (30 10.5)\"");
  EXPECT_EQ(value_to_json(type_of("geometry"), point + value_of_double(1)),
            "\"POINT Z (30 10.5 1)\"");
  EXPECT_EQ(value_to_json(type_of("geography"), point + value_of_double(kNan) + value_of_double(2)),
            "\"POINT M (30 10.5 2)\"");
  EXPECT_EQ(value_to_json(type_of("int"), "abc"), "null");
  EXPECT_EQ(value_to_json(type_of("string"), "\xff"), "null");
  EXPECT_EQ(value_to_json(type_of("unknown"), "x"), "null");
  EXPECT_EQ(value_to_json(Type::structure({}), "x"), "null");
}

TEST(Value, KnowsWhichBytesFit) {
  EXPECT_FALSE(is_valid_value(type_of("boolean"), ""));
  EXPECT_FALSE(is_valid_value(type_of("long"), "1234"));
  EXPECT_FALSE(is_valid_value(type_of("decimal(9,2)"), ""));
  EXPECT_FALSE(is_valid_value(type_of("decimal(9,2)"), std::string(17, '\0')));
  EXPECT_TRUE(is_valid_value(type_of("decimal(9,2)"), std::string(16, '\0')));
  EXPECT_FALSE(is_valid_value(type_of("string"), "\xc3"));
  EXPECT_FALSE(is_valid_value(type_of("fixed[3]"), "ab"));
  EXPECT_FALSE(is_valid_value(type_of("unknown"), ""));
  EXPECT_TRUE(is_valid_value(type_of("binary"), ""));
}

TEST(Value, ComparesByTypeAndNotByBytes) {
  auto ordered = [](std::string_view type, const std::vector<ValueBytes>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        int expected = i < k ? -1 : i > k ? 1 : 0;
        EXPECT_EQ(compare_values(type_of(type), values[i], values[k]), expected)
            << type << " " << i << " " << k;
      }
    }
  };
  ordered("boolean", {value_of_bool(false), value_of_bool(true)});
  ordered("int",
          {value_of_int(-2147483647 - 1), value_of_int(-1), value_of_int(0), value_of_int(256)});
  ordered("date", {value_of_int(-1), value_of_int(1)});
  for (std::string_view type : {"long", "time", "timestamp", "timestamptz_ns"}) {
    ordered(type, {value_of_long(std::numeric_limits<std::int64_t>::min()), value_of_long(-1),
                   value_of_long(255), value_of_long(256)});
  }
  ordered("float", {value_of_float(static_cast<float>(-kInf)), value_of_float(-1),
                    value_of_float(-0.0F), value_of_float(0.0F), value_of_float(1e-45F),
                    value_of_float(static_cast<float>(kInf)), value_of_float(kNanF)});
  ordered("double",
          {value_of_double(-kInf), value_of_double(-1), value_of_double(-0.0), value_of_double(0.0),
           value_of_double(5e-324), value_of_double(kInf), value_of_double(kNan)});
  EXPECT_EQ(compare_values(type_of("double"), value_of_double(-kNan), value_of_double(kNan)), 0);
  ordered("decimal(38,2)",
          {value_of_decimal(-(Int128{1} << 100)), value_of_decimal(-129), value_of_decimal(-128),
           value_of_decimal(-1), value_of_decimal(0), value_of_decimal(127), value_of_decimal(128),
           value_of_decimal(Int128{1} << 100)});
  ordered("string", {"", std::string("\0", 1), "a", "aa", "b", "é", "\uD7FF", "\uE000", "😀"});
  ordered("binary", {"", std::string("\0", 1), "\x7f", "\x80", "\xff"});
  ordered("uuid", {std::string(16, '\x01'), std::string(16, '\x7f'), std::string(16, '\x80')});
}

// Case A-41: the width changes at every power of 2^8.
TEST(Decimal, IsAsShortAsItsValueAllows) {
  struct Case {
    std::int64_t value;
    std::string_view hex;
  };
  for (const Case& c : std::initializer_list<Case>{{0, "00"},
                                                   {1, "01"},
                                                   {-1, "ff"},
                                                   {127, "7f"},
                                                   {128, "0080"},
                                                   {-128, "80"},
                                                   {-129, "ff7f"},
                                                   {255, "00ff"},
                                                   {256, "0100"},
                                                   {-256, "ff00"},
                                                   {32767, "7fff"},
                                                   {32768, "008000"},
                                                   {-32768, "8000"},
                                                   {-32769, "ff7fff"}}) {
    EXPECT_EQ(to_hex(value_of_decimal(c.value)), c.hex) << c.value;
  }
  for (int bit = 0; bit < 127; ++bit) {
    for (Int128 delta : {-1, 0, 1}) {
      for (Int128 sign : {-1, 1}) {
        Int128 value = sign * ((Int128{1} << bit) + delta);
        ValueBytes bytes = value_of_decimal(value);
        EXPECT_TRUE(decimal_from_bytes(bytes) == value);
        if (bytes.size() > 1) {
          bool redundant =
              (bytes[0] == '\0' && bytes[1] >= 0) || (bytes[0] == '\xff' && bytes[1] < 0);
          EXPECT_FALSE(redundant) << to_hex(bytes);
        }
      }
    }
  }
  Int128 lowest = -(Int128{1} << 126) * 2;
  EXPECT_TRUE(decimal_from_bytes(value_of_decimal(lowest)) == lowest);
  EXPECT_EQ(decimal_to_text(lowest, 0), "-170141183460469231731687303715884105728");
  EXPECT_TRUE(decimal_from_bytes("\xff\xff\x80") == Int128{-128});
  EXPECT_EQ(decimal_from_bytes(""), std::nullopt);
  EXPECT_EQ(decimal_from_bytes(std::string(17, '\0')), std::nullopt);
}

TEST(Temporal, CalendarRoundTripsOverAllYears) {
  CivilDate last = civil_from_days(-800001);
  for (std::int64_t days = -800000; days < 400000; ++days) {
    CivilDate date = civil_from_days(days);
    ASSERT_EQ(days_from_civil(date), days);
    bool next_day = date.year == last.year && date.month == last.month && date.day == last.day + 1;
    bool next_month = date.year == last.year && date.month == last.month + 1 && date.day == 1;
    bool next_year =
        date.year == last.year + 1 && date.month == 1 && date.day == 1 && last.day == 31;
    ASSERT_TRUE(next_day || next_month || next_year) << days;
    last = date;
  }
  for (std::int32_t edge :
       {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(*parse_date(date_to_text(edge)), edge) << date_to_text(edge);
  }
  EXPECT_EQ(time_to_text(0), "00:00:00.000000");
  EXPECT_FALSE(time_to_text(std::numeric_limits<std::int64_t>::min()).empty());
  EXPECT_FALSE(time_to_text(std::numeric_limits<std::int64_t>::max()).empty());
}

TEST(Bounds, WidenThoseOfFilesOlderThanAPromotion) {
  EXPECT_EQ(widen_bound(type_of("long"), value_of_int(-5)), value_of_long(-5));
  EXPECT_EQ(widen_bound(type_of("double"), value_of_float(0.5F)), value_of_double(0.5));
  EXPECT_EQ(widen_bound(type_of("timestamp"), value_of_int(-1)), value_of_long(-86400000000));
  EXPECT_EQ(widen_bound(type_of("timestamp_ns"), value_of_int(1)), value_of_long(86400000000000));
  EXPECT_EQ(widen_bound(type_of("timestamp_ns"), value_of_int(2147483647)), std::nullopt);
  EXPECT_EQ(widen_bound(type_of("timestamptz"), value_of_int(1)), std::nullopt);
  EXPECT_EQ(widen_bound(type_of("int"), value_of_int(7)), value_of_int(7));
  EXPECT_EQ(widen_bound(type_of("int"), value_of_long(7)), std::nullopt);
  EXPECT_EQ(widen_bound(type_of("long"), "abc"), std::nullopt);
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string out;
  while (count-- > 0) out += text;
  return out;
}

// Case A-40.
TEST(Bounds, StringsAreCutOnACodePointAndRoundedToAValidOne) {
  const std::string last = "\U0010FFFF";
  struct Case {
    std::string value, lower;
    std::optional<std::string> upper;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "", ""},
           {std::string("\0", 1), std::string("\0", 1), std::string("\0", 1)},
           {repeat("a", 16), repeat("a", 16), repeat("a", 16)},
           {repeat("a", 17), repeat("a", 16), repeat("a", 15) + "b"},
           {repeat("é", 40), repeat("é", 16), repeat("é", 15) + "ê"},
           {repeat("😀", 40), repeat("😀", 16), repeat("😀", 15) + "😁"},
           {repeat("\uD7FF", 40), repeat("\uD7FF", 16), repeat("\uD7FF", 15) + "\uE000"},
           {repeat("\x7f", 40), repeat("\x7f", 16), repeat("\x7f", 15) + "\u0080"},
           {repeat("\u07FF", 40), repeat("\u07FF", 16), repeat("\u07FF", 15) + "\u0800"},
           {repeat("\uFFFF", 40), repeat("\uFFFF", 16), repeat("\uFFFF", 15) + "\U00010000"},
           {repeat(last, 40), repeat(last, 16), std::nullopt},
           {"a" + repeat(last, 40), "a" + repeat(last, 15), "b"},
           {repeat(last, 16), repeat(last, 16), repeat(last, 16)},
           {std::string(40, '\0'), std::string(16, '\0'), std::string(15, '\0') + "\x01"}}) {
    Type type = type_of("string");
    EXPECT_EQ(truncate_lower(type, c.value), c.lower);
    EXPECT_EQ(truncate_upper(type, c.value), c.upper);
    EXPECT_TRUE(is_valid_utf8(c.lower));
    EXPECT_LE(compare_values(type, truncate_lower(type, c.value), c.value), 0);
    if (c.upper.has_value()) {
      EXPECT_TRUE(is_valid_utf8(*c.upper));
      EXPECT_GE(compare_values(type, *c.upper, c.value), 0);
    }
  }
  EXPECT_EQ(truncate_upper(type_of("string"), "\xff"), std::nullopt);
}

TEST(Bounds, BinaryIsCutByBytesAndOthersAreKept) {
  Type binary = type_of("binary");
  EXPECT_EQ(truncate_lower(binary, repeat("\x01", 17)), repeat("\x01", 16));
  EXPECT_EQ(truncate_upper(binary, repeat("\x01", 17)), repeat("\x01", 15) + "\x02");
  EXPECT_EQ(truncate_upper(binary, "\x01" + repeat("\xff", 20)), "\x02");
  EXPECT_EQ(truncate_upper(binary, repeat("\xff", 17)), std::nullopt);
  EXPECT_EQ(truncate_upper(binary, repeat("\xff", 16)), repeat("\xff", 16));
  EXPECT_EQ(truncate_upper(type_of("fixed[20]"), repeat("\xff", 20)), repeat("\xff", 20));
  EXPECT_EQ(truncate_lower(type_of("long"), value_of_long(5)), value_of_long(5));
  EXPECT_EQ(truncate_upper(type_of("decimal(38,0)"), value_of_decimal(-128)),
            value_of_decimal(-128));
}

}  // namespace
}  // namespace duckicelake::iceberg
