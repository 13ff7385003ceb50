// SPDX-License-Identifier: Apache-2.0
// Paths, routes, errors and page tokens.
#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "json/value.h"
#include "rest/error_mapping.h"
#include "rest/page_token.h"
#include "rest/path.h"
#include "rest/route_table.h"

namespace duckicelake::rest {
namespace {

TEST(Path, SplitsAtRawSlashesOnly) {
  const auto path = split_path("/v1/a%2Fb/x");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->count, 3U);
  EXPECT_EQ(path->segments[1], "a%2Fb");
}

TEST(Path, RefusesWhatNoRouteReads) {
  for (std::string_view path : {"", "v1", "/", "//", "/v1/", "/v1//x", "/v1/../x", "/./v1",
                                "/1/2/3/4/5/6/7/8/9/10/11/12/13"}) {
    EXPECT_FALSE(split_path(path)) << path;
  }
}

TEST(Path, DecodesOnce) {
  EXPECT_EQ(*decode_name("a%252Fb", PlusSign::kLiteral), "a%2Fb");
  EXPECT_EQ(*decode_name("a%2Fb", PlusSign::kLiteral), "a/b");
  EXPECT_EQ(*decode_name("a+b", PlusSign::kLiteral), "a+b");
  EXPECT_EQ(*decode_name("%C3%A4", PlusSign::kLiteral), "ä");
}

TEST(Path, ReadsAPlusAsTheClientMeansIt) {
  EXPECT_EQ(plus_sign_of("Apache Iceberg 1.10.0 (commit 2114bf6)"), PlusSign::kSpace);
  EXPECT_EQ(plus_sign_of("0.14.1"), PlusSign::kLiteral);
  EXPECT_EQ(plus_sign_of(""), PlusSign::kLiteral);
  EXPECT_EQ(*decode_name("a+b%2Bc", PlusSign::kSpace), "a b+c");
}

TEST(Path, RefusesHostileNames) {
  for (std::string_view raw : {"%zz", "%", "%4", "a%00b", "%ff%fe", "%C3"}) {
    const auto name = decode_name(raw, PlusSign::kLiteral);
    ASSERT_FALSE(name.has_value()) << raw;
    EXPECT_EQ(name.error().code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(decode_name(std::string(1024, 'a'), PlusSign::kLiteral).has_value());
  EXPECT_FALSE(decode_name(std::string(1025, 'a'), PlusSign::kLiteral).has_value());
  EXPECT_FALSE(decode_name(std::string(100'000, 'a'), PlusSign::kLiteral).has_value());
}

TEST(Path, KeepsLevelsAndDotsDistinct) {
  EXPECT_EQ(*split_levels("a\x1F"
                          "b"),
            (catalog::Levels{"a", "b"}));
  EXPECT_EQ(*split_levels("a.b"), (catalog::Levels{"a.b"}));
  EXPECT_EQ(*split_levels("a\x1F"
                          "b.c"),
            (catalog::Levels{"a", "b.c"}));
}

TEST(Path, AnEmptyLevelIsNoNamespace) {
  for (std::string_view text : {"", "\x1F", "a\x1F",
                                "\x1F"
                                "a",
                                "a\x1F\x1F"
                                "b"}) {
    const auto levels = split_levels(text);
    ASSERT_FALSE(levels.has_value());
    EXPECT_EQ(levels.error().code(), Code::kNoSuchNamespace);
  }
}

RouteMatch match(net::Method method, std::string_view path) {
  return match_route(method, split_path(path).value());
}

TEST(Routes, MatchTheirPaths) {
  const RouteMatch found = match(net::Method::kGet, "/v1/lake/namespaces/a%1Fb/tables/t%2F1");
  ASSERT_NE(found.id, kNoRoute);
  EXPECT_EQ(routes()[found.id].operation_id, "loadTable");
  EXPECT_EQ(found.parameters.prefix, "lake");
  EXPECT_EQ(found.parameters.space, "a%1Fb");
  EXPECT_EQ(found.parameters.name, "t%2F1");
}

TEST(Routes, ALiteralMayComeEncoded) {
  EXPECT_EQ(route_path(match(net::Method::kGet, "/v1/lake/n%61mespaces").id),
            "/v1/{prefix}/namespaces");
  EXPECT_FALSE(match(net::Method::kGet, "/v1/lake/n%2561mespaces").is_path_known);
  EXPECT_FALSE(match(net::Method::kGet, "/v1/lake/%zz").is_path_known);
}

TEST(Routes, HeadFallsBackToGet) {
  EXPECT_EQ(routes()[match(net::Method::kHead, "/v1/lake/namespaces").id].operation_id,
            "listNamespaces");
  EXPECT_EQ(routes()[match(net::Method::kHead, "/v1/lake/namespaces/a").id].operation_id,
            "namespaceExists");
}

TEST(Routes, KnowThePathButNotTheMethod) {
  const RouteMatch found = match(net::Method::kPost, "/v1/config");
  EXPECT_TRUE(found.is_path_known);
  EXPECT_EQ(found.id, kNoRoute);
  EXPECT_EQ(allowed_methods(split_path("/v1/config").value()), "GET, HEAD");
}

TEST(Routes, ConfigLivesInOnePlaceOnly) {
  EXPECT_FALSE(match(net::Method::kGet, "/v1/lake/config").is_path_known);
}

TEST(Routes, AreUniqueAndComplete) {
  std::set<std::string> seen;
  std::set<std::string_view> operations;
  for (const Route& route : routes()) {
    EXPECT_TRUE(
        seen.insert(std::string(method_name(route.method)) + std::string(route.path)).second);
    EXPECT_TRUE(operations.insert(route.operation_id).second);
    EXPECT_NE(route.answer, nullptr);
    EXPECT_EQ(route.status == 204, route.media_type.empty());
  }
  EXPECT_EQ(route_count(), seen.size());
  EXPECT_EQ(route_path(kNoRoute), "unknown");
}

TEST(Errors, MapToStatusAndType) {
  EXPECT_EQ(error_kind(Code::kNoSuchTable).type, "NoSuchTableException");
  EXPECT_EQ(error_kind(Code::kCommitFailed).status, 409);
  for (int code = 0; code <= static_cast<int>(Code::kCorruptData); ++code) {
    const ErrorKind kind = error_kind(static_cast<Code>(code));
    EXPECT_GE(kind.status, 400);
    EXPECT_FALSE(kind.type.empty());
  }
}

TEST(Errors, HaveTheIcebergBody) {
  const net::Response response =
      error_response(Error(Code::kNoSuchTable, "no table \"x\"\n", "SELECT 1"), "r1");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body_text(),
            R"({"error":{"message":"no table \"x\"\n","type":"NoSuchTableException","code":404}})");
}

TEST(Errors, OfTheServerNameTheRequestAndNoCause) {
  const std::string body =
      error_response(Error(Code::kInternal, "it broke", "password=x"), "r-77").body_text();
  EXPECT_NE(body.find("r-77"), std::string::npos);
  EXPECT_EQ(body.find("password"), std::string::npos);
}

TEST(Errors, ThatMayPassSayWhenToTryAgain) {
  for (Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kTooManyRequests}) {
    bool has_retry = false;
    const net::Response response = error_response(Error(code, ""), "r");
    for (const auto& [name, value] : response.headers) has_retry |= name == "retry-after";
    EXPECT_TRUE(has_retry);
    EXPECT_NE(response.body_text().find("\"message\":\""), std::string::npos);
    EXPECT_EQ(response.body_text().find("\"message\":\"\""), std::string::npos);
  }
}

class PageTokenTest : public ::testing::Test {
 protected:
  PageTokens tokens_{Secret("key")};
};

TEST_F(PageTokenTest, RoundTrips) {
  for (const std::string name : {"a", "ä/b", "\x1F", "", "a name with blanks"}) {
    const std::string token = tokens_.make(Listing::kTables, {"a", "b"}, name);
    EXPECT_EQ(*tokens_.read(Listing::kTables, {"a", "b"}, token), name);
  }
}

TEST_F(PageTokenTest, IsReadByAnotherProcessWithTheKeyOnly) {
  const std::string token = tokens_.make(Listing::kTables, {"a"}, "x");
  EXPECT_TRUE(PageTokens(Secret("key")).read(Listing::kTables, {"a"}, token).has_value());
  EXPECT_FALSE(PageTokens(Secret("other")).read(Listing::kTables, {"a"}, token).has_value());
}

TEST_F(PageTokenTest, IsGoodForItsListingOnly) {
  const std::string token = tokens_.make(Listing::kTables, {"a", "b"}, "x");
  EXPECT_FALSE(tokens_.read(Listing::kViews, {"a", "b"}, token).has_value());
  EXPECT_FALSE(tokens_.read(Listing::kTables, {"ab"}, token).has_value());
  EXPECT_FALSE(tokens_.read(Listing::kTables, {"a", "bx"}, token).has_value());
  EXPECT_FALSE(tokens_.read(Listing::kTables, {"a"}, token).has_value());
}

TEST_F(PageTokenTest, IsRefusedWhenAnyCharacterChanges) {
  const std::string token = tokens_.make(Listing::kTables, {"a"}, "name7");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string altered = token;
    altered[i] = altered[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(tokens_.read(Listing::kTables, {"a"}, altered).has_value()) << i;
    altered = token;
    altered.erase(i, 1);
    EXPECT_FALSE(tokens_.read(Listing::kTables, {"a"}, altered).has_value()) << i;
  }
  EXPECT_FALSE(tokens_.read(Listing::kTables, {"a"}, token + "A").has_value());
  EXPECT_FALSE(tokens_.read(Listing::kTables, {"a"}, token + "=").has_value());
}

TEST_F(PageTokenTest, RefusesForgedOnes) {
  for (const std::string& token :
       {std::string("forged"), std::string("AAAA"), std::string("%00"), std::string(5000, 'x'),
        std::string(1'000'000, 'A'), std::string("\0", 1)}) {
    const auto read = tokens_.read(Listing::kTables, {"a"}, token);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace duckicelake::rest
