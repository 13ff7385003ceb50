// SPDX-License-Identifier: Apache-2.0
#include "net/url.h"

#include <gtest/gtest.h>

namespace duckicelake::net {
namespace {

using Segments = std::vector<std::string>;

TEST(Url, DecodesSegmentsOnce) {
  struct Case {
    std::string raw, decoded;
  };
  for (const Case& c :
       {Case{"a%2Fb", "a/b"}, Case{"a%2fb", "a/b"}, Case{"a%20b", "a b"}, Case{"%C3%A4", "ä"},
        Case{"ä", "ä"}, Case{"100%25", "100%"}, Case{"a+b", "a+b"}, Case{"a%2Bb", "a+b"},
        Case{"a.b", "a.b"}, Case{"a%252Fb", "a%2Fb"},
        Case{"a%1Fb",
             "a\x1f"
             "b"},
        Case{"%3F%23", "?#"}, Case{"a%2e%2E", "a.."}, Case{"%F0%9F%A6%86", "🦆"}, Case{"", ""}}) {
    auto result = decode_segment(c.raw);
    ASSERT_TRUE(result.has_value()) << c.raw;
    EXPECT_EQ(*result, c.decoded);
  }
}

TEST(Url, RefusesMalformedCoding) {
  for (std::string raw :
       {"%", "a%", "%2", "a%2", "%zz", "%2g", "% 20", "%+2", "%-1", "%00", "a%00b", "%FF", "%C3",
        "%C3%28", "%ED%A0%80", "%C0%AF", "%F4%90%80%80", "\xff"}) {
    EXPECT_FALSE(decode_segment(raw).has_value()) << raw;
    EXPECT_FALSE(decode_query_component(raw).has_value()) << raw;
    EXPECT_FALSE(decode_path("/v1/" + raw + "/x").has_value()) << raw;
    EXPECT_FALSE(parse_query("a=" + raw).has_value()) << raw;
    EXPECT_FALSE(parse_query(raw + "=a").has_value()) << raw;
  }
  EXPECT_FALSE(decode_segment(std::string("a\0b", 3)).has_value());
}

TEST(Url, EncodingRoundTrips) {
  for (std::string name : {"a/b", "a b", "ä", "100%", "a+b", "a.b", "a%2Fb",
                           "a\x1f"
                           "b",
                           "..", "?&=#", "~-_.", "🦆", "'\"<>"}) {
    std::string encoded = encode_component(name);
    EXPECT_EQ(encoded.find_first_of("/ +?&=#\"<>\x1f"), std::string::npos) << encoded;
    EXPECT_EQ(*decode_segment(encoded), name);
    EXPECT_EQ(*decode_query_component(encoded), name);
  }
  EXPECT_EQ(encode_component("a/b ä+100%.~"), "a%2Fb%20%C3%A4%2B100%25.~");
}

TEST(Url, SplitsPathsBeforeDecoding) {
  struct Case {
    std::string raw;
    Segments segments;
  };
  for (const Case& c : {Case{"/", {}}, Case{"/v1", {"v1"}}, Case{"/v1/a%2Fb/c", {"v1", "a/b", "c"}},
                        Case{"/v1/100%25/a+b", {"v1", "100%", "a+b"}},
                        Case{"/a.b/...", {"a.b", "..."}}, Case{"/a;b=c:d@e", {"a;b=c:d@e"}}}) {
    auto result = decode_path(c.raw);
    ASSERT_TRUE(result.has_value()) << c.raw;
    EXPECT_EQ(*result, c.segments) << c.raw;
  }
}

TEST(Url, RefusesPathsThatProxiesReadDifferently) {
  for (std::string raw : {"", "a", "*", "//", "//a", "/a//b", "/a/", "/.", "/..", "/a/./b",
                          "/a/../b", "/%2e", "/%2E%2e/b", "/a/.%2e"}) {
    EXPECT_FALSE(decode_path(raw).has_value()) << raw;
  }
}

TEST(Url, BoundsThePath) {
  std::string path;
  for (std::size_t i = 0; i < kMaxPathSegments; ++i) path += "/a";
  EXPECT_TRUE(decode_path(path).has_value());
  EXPECT_FALSE(decode_path(path + "/a").has_value());
}

TEST(Url, SplitsTheTargetAtTheFirstMark) {
  EXPECT_EQ(split_target("/a").path, "/a");
  EXPECT_FALSE(split_target("/a").has_query);
  EXPECT_TRUE(split_target("/a?").has_query);
  EXPECT_EQ(split_target("/a?b=c?d").query, "b=c?d");
  EXPECT_EQ(split_target("/a%3Fb").path, "/a%3Fb");
}

TEST(Url, ParsesQueriesInOrder) {
  struct Case {
    std::string raw;
    QueryPairs pairs;
  };
  for (const Case& c : {Case{"", {}}, Case{"a=1", {{"a", "1"}}},
                        Case{"b=2&a=1&b=3", {{"b", "2"}, {"a", "1"}, {"b", "3"}}},
                        Case{"a", {{"a", ""}}}, Case{"a=", {{"a", ""}}}, Case{"=v", {{"", "v"}}},
                        Case{"&&a=1&", {{"a", "1"}}}, Case{"a=b=c", {{"a", "b=c"}}},
                        Case{"parent=a%1Fb&x=a+b%2B",
                             {{"parent",
                               "a\x1f"
                               "b"},
                              {"x", "a b+"}}},
                        Case{"%61%3D=%26", {{"a=", "&"}}}}) {
    auto result = parse_query(c.raw);
    ASSERT_TRUE(result.has_value()) << c.raw;
    EXPECT_EQ(*result, c.pairs) << c.raw;
  }
}

TEST(Url, BoundsTheQuery) {
  QueryLimits limits;
  limits.max_bytes = 10;
  limits.max_pairs = 2;
  EXPECT_TRUE(parse_query("a=1&b=2", limits).has_value());
  EXPECT_FALSE(parse_query("a&b&c", limits).has_value());
  EXPECT_FALSE(parse_query("a=123456789", limits).has_value());
}

}  // namespace
}  // namespace duckicelake::net
