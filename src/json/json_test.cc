// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::json {
namespace {

using ::testing::HasSubstr;

std::string parse_failure(std::string_view text, const ParseLimits& limits = {}) {
  auto document = Document::parse(text, limits);
  return document.has_value() ? "parsed" : document.error().message();
}

std::string round_trip(std::string_view text) {
  auto document = Document::parse(text);
  return document.has_value() ? document->root().to_text() : document.error().message();
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonParse, ReadsEveryKindExactly) {
  for (std::string_view text :
       {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "1.5",
        "\"\"", "[]", "{}", "[1,[2,[]],{\"a\":{}}]", "{\"a\":1,\"b\":[true,null],\"\":\"x\"}",
        "\"\\u0000\\u001f\\\"\\\\\"", "\"é😀\"", "1e+300", "5e-324", "-0.0"}) {
    EXPECT_EQ(round_trip(text), text);
  }
  EXPECT_EQ(round_trip(" [ 1 , 2 ]\n"), "[1,2]");
  EXPECT_EQ(round_trip("\"\\u00e9\\ud83d\\ude00\\/\""), "\"é😀/\"");
  EXPECT_EQ(round_trip("0.1"), "0.1");
  EXPECT_EQ(round_trip("8.41e21"), "8.41e+21") << "doubles are rounded correctly";
  EXPECT_EQ(round_trip("9007199254740993.0"), "9007199254740992.0");
}

TEST(JsonParse, RefusesWhatIsNotJson) {
  for (std::string_view text : {"",
                                " ",
                                "{",
                                "[1,]",
                                "{\"a\":}",
                                "{a:1}",
                                "'x'",
                                "01",
                                "+1",
                                "1.",
                                ".5",
                                "NaN",
                                "Infinity",
                                "tru",
                                "nulll",
                                "1 2",
                                "[] x",
                                "/* c */ 1",
                                "\"\t\"",
                                "\"\\x\"",
                                "\"\\ud800\"",
                                "\"\\udc00x\"",
                                "\"\xff\"",
                                "\"\xed\xa0\x80\"",
                                "\"\xc0\xaf\"",
                                "\"abc",
                                "\xef\xbb\xbf{}"}) {
    EXPECT_NE(parse_failure(text), "parsed") << text;
  }
  EXPECT_NE(parse_failure(std::string_view("1\0", 2)), "parsed");
}

TEST(JsonParse, RefusesNumbersThatItWouldHaveToRound) {
  EXPECT_THAT(parse_failure("9223372036854775808"), HasSubstr("outside 64 bits"));
  EXPECT_THAT(parse_failure("-9223372036854775809"), HasSubstr("outside 64 bits"));
  EXPECT_THAT(parse_failure("[1, 18446744073709551616]"), HasSubstr("outside 64 bits"));
  EXPECT_NE(parse_failure("1e999"), "parsed");
  EXPECT_NE(parse_failure("1e99999999999999999999"), "parsed");
  EXPECT_NE(parse_failure(std::string(100000, '9')), "parsed");
  EXPECT_NE(parse_failure("0." + std::string(100000, '9')), "parsed");
}

TEST(JsonParse, RefusesDuplicateNamesInSmallAndLargeObjects) {
  EXPECT_THAT(parse_failure(R"({"a":1,"a":2})"), HasSubstr("two members of one name"));
  EXPECT_THAT(parse_failure(R"([{"x":{"a":1,"\u0061":2}}])"), HasSubstr("two members"));
  std::string large = "{";
  for (int i = 0; i < 1000; ++i) large += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(parse_failure(large + "\"z\":0}"), "parsed");
  EXPECT_THAT(parse_failure(large + "\"k500\":0}"), HasSubstr("two members"));
  EXPECT_EQ(parse_failure(R"([{"a":1},{"a":2}])"), "parsed");
}

TEST(JsonParse, HoldsItsLimits) {
  EXPECT_EQ(parse_failure(nested(64)), "parsed");
  EXPECT_NE(parse_failure(nested(65)), "parsed");
  EXPECT_NE(parse_failure(std::string(1000000, '[')), "parsed");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_NE(parse_failure(objects), "parsed");
  EXPECT_EQ(parse_failure(nested(3), {.max_bytes = 6, .max_depth = 3}), "parsed");
  EXPECT_THAT(parse_failure(nested(3), {.max_bytes = 5}), HasSubstr("over the limit"));
  EXPECT_NE(parse_failure(nested(3), {.max_depth = 2}), "parsed");
  EXPECT_NE(parse_failure(nested(100000), {.max_depth = 1000000}), "parsed")
      << "the stack is bounded";
}

TEST(JsonParse, KeepsAMegabyteName) {
  std::string name(1 << 20, 'n');
  auto document = Document::parse("{\"" + name + "\":[true]}");
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->root_object()->member(0).name, name);
  auto element = (*document->root_object()->require_array(name))[0];
  EXPECT_LT(element.as_string().error().message().size(), 200U) << "messages stay short";
}

TEST(JsonValue, NamesThePathOfWhatIsWrong) {
  auto document =
      Document::parse(R"({"schemas":[{"fields":[{"name":"a"},{"name":null,"id":"7"}]}]})");
  ASSERT_TRUE(document.has_value());
  auto field = (*(*document->root_object()->require_array("schemas"))[0].as_object()->require_array(
      "fields"))[1]
                   .as_object();
  ASSERT_TRUE(field.has_value());
  EXPECT_EQ(field->require_int32("id").error().message(),
            "schemas[0].fields[1].id: expected an integer, found a string");
  EXPECT_EQ(field->require_string("name").error().message(),
            "schemas[0].fields[1]: the member \"name\" is missing");
  EXPECT_EQ(document->root().as_array().error().message(),
            "the document: expected an array, found an object");
  EXPECT_EQ(document->root_object()->require("x").error().code(), Code::kInvalidArgument);
}

TEST(JsonValue, TreatsNullAsAbsent) {  // case A-14
  auto document = Document::parse(R"({"a":null,"b":1,"c":"x","d":[null],"e":2147483648})");
  auto object = document->root_object();
  EXPECT_FALSE(object->has("a"));
  EXPECT_TRUE(object->has("b"));
  EXPECT_EQ(*object->optional_int64("a"), std::nullopt);
  EXPECT_EQ(*object->optional_string("a"), std::nullopt);
  EXPECT_FALSE(object->optional_array("a")->has_value());
  EXPECT_FALSE(object->optional_object("missing")->has_value());
  EXPECT_EQ(*object->optional_int32("b"), 1);
  EXPECT_EQ(*object->require_double("b"), 1.0);
  EXPECT_FALSE(object->optional_int64("c").has_value()) << "another type is an error, not absence";
  EXPECT_FALSE(object->require_bool("b").has_value());
  EXPECT_THAT(object->require_int32("e").error().message(),
              HasSubstr("e: the integer is outside 32"));
  int nulls = 0;
  Array elements = *object->require_array("d");
  for (auto element : elements) nulls += element.is_null() ? 1 : 0;
  EXPECT_EQ(nulls, 1);
  std::string names;
  for (auto member : *object) names += member.name;
  EXPECT_EQ(names, "abcde");
}

TEST(JsonWriter, SetsCommasAndEscapes) {
  std::string out = "prefix:";
  Writer writer(out);
  writer.begin_object();
  writer.member("a", 1);
  writer.member("b", std::string("x\n\x01\x7f\"\\/é"));
  writer.member("c", true);
  writer.member("d", std::optional<std::int64_t>());
  writer.member("e", std::optional<std::int64_t>(std::numeric_limits<std::int64_t>::min()));
  writer.key("f");
  writer.begin_array();
  writer.value(1.0);
  writer.value("s");
  writer.null();
  writer.begin_object();
  writer.end_object();
  writer.raw("[2]");
  writer.end_array();
  writer.member_raw("g", "{}");
  writer.member("h", std::numeric_limits<std::uint64_t>::max());
  writer.end_object();
  EXPECT_EQ(
      out,
      "prefix:{\"a\":1,\"b\":\"x\\n\\u0001\x7f\\\"\\\\/é\",\"c\":true,\"e\":-9223372036854775808,"
      "\"f\":[1.0,\"s\",null,{},[2]],\"g\":{},\"h\":18446744073709551615}");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  std::string out;
  append_string(out, "a\xff\xc3\xa9\xed\xa0\x80\xf4\x90\x80\x80\xc3");
  EXPECT_EQ(out,
            "\"a\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_TRUE(Document::parse(out).has_value());
}

TEST(JsonWriter, AnyBytesBecomeAStringThatParses) {
  std::string all;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; b += 5) {
      all.push_back(static_cast<char>(static_cast<unsigned char>(a)));
      all.push_back(static_cast<char>(static_cast<unsigned char>(b)));
    }
  }
  std::string out;
  append_string(out, all);
  EXPECT_TRUE(Document::parse(out).has_value());
}

TEST(JsonWriter, DoublesRoundTripInTheirShortestForm) {
  for (double value :
       {0.1, 1.0, -0.0, 1e300, 5e-324, 1.7976931348623157e308, 123456789.125, 1e21}) {
    std::string out;
    append_number(out, value);
    auto document = Document::parse(out);
    ASSERT_TRUE(document.has_value()) << out;
    EXPECT_EQ(document->root().kind(), Kind::kDouble) << out;
    EXPECT_EQ(*document->root().as_double(), value);
    EXPECT_EQ(std::signbit(*document->root().as_double()), std::signbit(value));
  }
  std::string out;
  append_number(out, 0.1F);
  EXPECT_EQ(out, "0.1");
  out.clear();
  append_number(out, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(out, "null");
}

}  // namespace
}  // namespace duckicelake::json
