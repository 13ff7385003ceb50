// SPDX-License-Identifier: Apache-2.0
#include "avro/binary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "avro/reader.h"

namespace duckicelake::avro {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

std::string long_bytes(std::int64_t value) {
  std::string out;
  append_long(out, value);
  return out;
}

TEST(Binary, LongsHaveTheBytesOfTheSpecification) {
  EXPECT_EQ(long_bytes(0), std::string(1, '\0'));
  EXPECT_EQ(long_bytes(-1), "\x01");
  EXPECT_EQ(long_bytes(1), "\x02");
  EXPECT_EQ(long_bytes(-64), "\x7f");
  EXPECT_EQ(long_bytes(64), "\x80\x01");
}

TEST(Binary, LongsComeBack) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{300}, kMax, kMin,
                                   std::int64_t{1} << 31, -(std::int64_t{1} << 35)}) {
    const std::string bytes = long_bytes(value);
    Decoder decoder(bytes);
    EXPECT_EQ(decoder.read_long(), value);
    EXPECT_TRUE(decoder.ok());
    EXPECT_EQ(decoder.remaining(), 0U);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      Decoder cut(std::string_view(bytes).substr(0, n));
      EXPECT_EQ(cut.read_long(), 0);
      EXPECT_FALSE(cut.ok());
    }
  }
}

TEST(Binary, RefusesLongsOfMoreThan64Bits) {
  Decoder too_big("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02");
  too_big.read_long();
  EXPECT_FALSE(too_big.ok());
  Decoder too_long("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
  too_long.read_long();
  EXPECT_FALSE(too_long.ok());
}

TEST(Binary, RefusesIntsOfMoreThan32Bits) {
  for (const std::int64_t value : {std::int64_t{1} << 31, -(std::int64_t{1} << 31) - 1, kMax}) {
    const std::string bytes = long_bytes(value);
    Decoder decoder(bytes);
    EXPECT_EQ(decoder.read_int(), 0);
    EXPECT_FALSE(decoder.ok());
  }
}

TEST(Binary, FloatsKeepTheirBits) {
  std::string bytes;
  append_float(bytes, -0.0F);
  append_double(bytes, 1.5);
  append_boolean(bytes, true);
  Decoder decoder(bytes);
  EXPECT_TRUE(std::signbit(decoder.read_float()));
  EXPECT_EQ(decoder.read_double(), 1.5);
  EXPECT_TRUE(decoder.read_boolean());
  EXPECT_TRUE(decoder.status().has_value());
}

TEST(Binary, RefusesBooleansOtherThanZeroAndOne) {
  Decoder decoder("\x02");
  decoder.read_boolean();
  EXPECT_FALSE(decoder.ok());
}

TEST(Binary, RefusesLengthsBeyondTheInput) {
  for (const std::int64_t length :
       {std::int64_t{4}, std::int64_t{1} << 30, kMax, std::int64_t{-1}, kMin}) {
    const std::string bytes = long_bytes(length) + "abc";
    Decoder decoder(bytes);
    EXPECT_TRUE(decoder.read_bytes().empty());
    EXPECT_FALSE(decoder.ok()) << length;
  }
}

TEST(Binary, StaysFailedAfterTheFirstFailure) {
  Decoder decoder(std::string_view("\x02\x02\x02", 3));
  decoder.fail("first");
  decoder.fail("second");
  EXPECT_EQ(decoder.read_long(), 0);
  EXPECT_EQ(decoder.read_block_count(0), 0U);
  EXPECT_EQ(decoder.status().error().message(), "malformed Avro data: first");
  EXPECT_EQ(decoder.status().error().code(), Code::kInvalidArgument);
}

TEST(Binary, RefusesBlockCountsThatTheInputCannotHold) {
  const std::string bytes = long_bytes(std::int64_t{1} << 40) + "abcdef";
  Decoder decoder(bytes);
  EXPECT_EQ(decoder.read_block_count(1), 0U);
  EXPECT_FALSE(decoder.ok());
}

TEST(Binary, NegativeBlockCountsCarryTheirSize) {
  const std::string good = long_bytes(-2) + long_bytes(2) + "ab";
  Decoder decoder(good);
  EXPECT_EQ(decoder.read_block_count(1), 2U);
  EXPECT_TRUE(decoder.ok());
  for (const auto& [count, size] :
       {std::pair{std::int64_t{-2}, std::int64_t{3}}, std::pair{std::int64_t{-2}, std::int64_t{-1}},
        std::pair{kMin, std::int64_t{2}}, std::pair{std::int64_t{-3}, std::int64_t{2}}}) {
    const std::string bad = long_bytes(count) + long_bytes(size) + "ab";
    Decoder refusing(bad);
    EXPECT_EQ(refusing.read_block_count(1), 0U);
    EXPECT_FALSE(refusing.ok()) << count << ' ' << size;
  }
}

Schema schema_of(std::string_view json) { return Schema::parse(json).value(); }

TEST(Reader, SkipsEveryType) {
  const Schema schema = schema_of(R"({"type":"record","name":"r","fields":[
    {"name":"a","type":"null"},{"name":"b","type":"boolean"},{"name":"c","type":"int"},
    {"name":"d","type":"long"},{"name":"e","type":"float"},{"name":"f","type":"double"},
    {"name":"g","type":"bytes"},{"name":"h","type":"string"},
    {"name":"i","type":{"type":"enum","name":"e","symbols":["x","y"]}},
    {"name":"j","type":{"type":"fixed","name":"f3","size":3}},
    {"name":"k","type":{"type":"array","items":"int"}},
    {"name":"l","type":{"type":"map","values":"f3"}},
    {"name":"m","type":["null","string","long"]}]})");
  std::string bytes;
  append_boolean(bytes, true);
  append_long(bytes, -5);
  append_long(bytes, kMin);
  append_float(bytes, 1);
  append_double(bytes, 2);
  append_bytes(bytes, "xyz");
  append_bytes(bytes, "");
  append_long(bytes, 1);
  bytes += "abc";
  append_long(bytes, -2);  // a block with its size
  append_long(bytes, 2);
  append_long(bytes, 1);
  append_long(bytes, 2);
  append_long(bytes, 1);
  append_long(bytes, 3);
  append_long(bytes, 0);
  append_long(bytes, 1);
  append_bytes(bytes, "key");
  bytes += "def";
  append_long(bytes, 0);
  append_long(bytes, 2);
  append_long(bytes, kMax);
  Decoder decoder(bytes);
  skip(schema, schema.root(), decoder);
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(decoder.remaining(), 0U);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Decoder cut(std::string_view(bytes).substr(0, n));
    skip(schema, schema.root(), cut);
    EXPECT_FALSE(cut.ok()) << n;
  }
}

TEST(Reader, RefusesEndlessRecursion) {
  const Schema schema =
      schema_of(R"({"type":"record","name":"r","fields":[{"name":"a","type":"r"}]})");
  Decoder decoder("");
  skip(schema, schema.root(), decoder);
  EXPECT_FALSE(decoder.ok());
}

TEST(Reader, RefusesWorkThatCostsNoInput) {
  // 2^62 nulls in a few bytes.
  const Schema nulls = schema_of(R"({"type":"array","items":"null"})");
  const std::string bytes = long_bytes(std::int64_t{1} << 62) + std::string(1, '\0');
  Decoder decoder(bytes);
  skip(nulls, nulls.root(), decoder);
  EXPECT_FALSE(decoder.ok());
  // Records of two records each, 30 levels: 2^30 steps without a byte.
  std::string json = R"("null")";
  for (int level = 0; level < 29; ++level) {
    const std::string name = "r" + std::to_string(level);
    json = R"({"type":"record","name":")" + name + R"(","fields":[{"name":"a","type":)" + json +
           R"(},{"name":"b","type":)" +
           (level == 0 ? "\"null\"" : "\"r" + std::to_string(level - 1) + "\"") + "}]}";
  }
  const Result<Schema> schema = Schema::parse(json);
  ASSERT_TRUE(schema.has_value()) << schema.error().to_string();
  Decoder empty("");
  skip(*schema, schema->root(), empty);
  EXPECT_FALSE(empty.ok());
}

TEST(Reader, ResolvesUnionsWithNullInEitherOrder) {
  const Schema schema = schema_of(
      R"({"type":"record","name":"r","fields":[{"name":"a","type":["null","int"]},
      {"name":"b","type":["int","null"]},{"name":"c","type":"int"},{"name":"d","type":["int"]},
      {"name":"e","type":"null"},{"name":"f","type":["int","string"]},
      {"name":"g","type":["null","int","string"]}]})");
  const Node& record = schema.node(schema.root());
  const auto presence = [&](std::size_t field, std::string_view bytes, bool& ok) {
    Decoder decoder(bytes);
    const bool present =
        read_presence(schema, resolve_slot(schema, record.fields[field].type).value(), decoder);
    ok = decoder.ok();
    return present;
  };
  bool ok = false;
  const std::string_view first("\x00", 1);
  EXPECT_FALSE(presence(0, first, ok) || !ok);
  EXPECT_TRUE(presence(0, "\x02", ok) && ok);
  EXPECT_TRUE(presence(1, first, ok) && ok);
  EXPECT_FALSE(presence(1, "\x02", ok) || !ok);
  EXPECT_TRUE(presence(2, "", ok) && ok);
  EXPECT_TRUE(presence(3, first, ok) && ok);
  EXPECT_FALSE(presence(3, "\x02", ok) || ok);
  EXPECT_FALSE(presence(4, "", ok) || !ok);
  EXPECT_FALSE(presence(0, "\x04", ok) || ok);
  EXPECT_FALSE(presence(0, "\x01", ok) || ok);
  EXPECT_FALSE(resolve_slot(schema, record.fields[5].type).has_value());
  EXPECT_FALSE(resolve_slot(schema, record.fields[6].type).has_value());
}

TEST(Reader, PromotesNumbers) {
  std::string bytes;
  append_long(bytes, 7);
  append_long(bytes, -8);
  append_float(bytes, 0.5F);
  append_double(bytes, 0.25);
  Decoder decoder(bytes);
  EXPECT_EQ(read_number(Node(Kind::kInt), decoder), 7);
  EXPECT_EQ(read_number(Node(Kind::kLong), decoder), -8);
  EXPECT_EQ(read_number(Node(Kind::kFloat), decoder), 0.5);
  EXPECT_EQ(read_number(Node(Kind::kDouble), decoder), 0.25);
  EXPECT_TRUE(decoder.ok());
}

}  // namespace
}  // namespace duckicelake::avro
