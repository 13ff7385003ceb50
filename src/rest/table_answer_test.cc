// SPDX-License-Identifier: Apache-2.0
#include "rest/table_answer.h"

#include <gtest/gtest.h>

#include "net/gzip.h"
#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

using testing::header_of;

catalog::TableAnswer table(std::string tag, std::size_t size = 5000) {
  catalog::TableAnswer answer;
  answer.metadata_location = "s3://b/t/metadata/v1.metadata.json";
  answer.metadata =
      std::make_shared<const std::string>("{\"x\":\"" + std::string(size, 'a') + "\"}");
  answer.version_tag = std::move(tag);
  return answer;
}

TableAnswers make(std::size_t cache_bytes = 1 << 20, std::string config = "{}") {
  return TableAnswers({std::move(config), "v", 1, 1024, cache_bytes});
}

net::Request gzip_request() {
  net::Request request;
  request.headers = {{"accept-encoding", "gzip"}};
  return request;
}

TEST(NoneMatch, NamesTheTagInAnyForm) {
  for (std::string_view value : {"\"t\"", "W/\"t\"", "\"x\", \"t\"", "*", "\"t.gz\"", " \"t\"",
                                 "W/\"a\" , W/\"t-gzip\"", "\"x\",,\"t\""}) {
    EXPECT_TRUE(none_match_names(value, "t")) << value;
  }
  for (std::string_view value :
       {"", "t", "\"T\"", "\"t", "\"x\" t", "W/", "\"x\"", "W/*", "\"tt\"", ","}) {
    EXPECT_FALSE(none_match_names(value, "t")) << value;
  }
}

TEST(StorageConfig, HasStringsAndNoKeys) {
  StorageSettings storage{"http://s3:9000", "us-east-1", true};
  EXPECT_EQ(storage_config_json(storage),
            R"({"client.region":"us-east-1","s3.endpoint":"http://s3:9000",)"
            R"("s3.path-style-access":"true","s3.region":"us-east-1","s3.url-style":"path"})");
}

TEST(TableAnswers, SharesTheMetadataBytes) {
  TableAnswers answers = make();
  const catalog::TableAnswer answer = table("t1");
  const auto response = answers.respond({}, answer);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body_text(), "{\"metadata-location\":\"" + answer.metadata_location +
                                       "\",\"metadata\":" + *answer.metadata + ",\"config\":{}}");
  EXPECT_EQ(response->body[1].bytes().data(), answer.metadata->data());
}

TEST(TableAnswers, TagCoversVersionConfigAndCoding) {
  TableAnswers one = make();
  TableAnswers two = make(1 << 20, R"({"a":"b"})");
  const std::string plain = header_of(*one.respond({}, table("t1")), "etag");
  EXPECT_NE(plain, header_of(*one.respond({}, table("t2")), "etag"));
  EXPECT_NE(plain, header_of(*two.respond({}, table("t1")), "etag"));
  EXPECT_NE(plain, header_of(one.compress_and_respond(table("t1")), "etag"));
  EXPECT_EQ(plain, header_of(*make().respond({}, table("t1")), "etag"));
}

TEST(TableAnswers, AreNotRepeatedToWhoHasThem) {
  TableAnswers answers = make();
  for (const std::string& tag : {header_of(*answers.respond({}, table("t1")), "etag"),
                                 header_of(answers.compress_and_respond(table("t1")), "etag")}) {
    for (net::Request request : {net::Request{}, gzip_request()}) {
      request.headers.emplace_back("if-none-match", tag);
      const auto response = answers.respond(request, table("t1"));
      ASSERT_TRUE(response);
      EXPECT_EQ(response->status, 304);
      EXPECT_EQ(response->body_size(), 0U);
      EXPECT_FALSE(header_of(*response, "etag").empty());
      EXPECT_EQ(answers.respond(request, table("t2")).value_or(net::Response{}).status, 200);
    }
  }
}

TEST(TableAnswers, CompressOnceForManyRequests) {
  TableAnswers answers = make();
  EXPECT_FALSE(answers.respond(gzip_request(), table("t1")));
  const net::Response made = answers.compress_and_respond(table("t1"));
  EXPECT_EQ(header_of(made, "content-encoding"), "gzip");
  const auto again = answers.respond(gzip_request(), table("t1"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->body[0].bytes().data(), made.body[0].bytes().data());
  EXPECT_EQ(*net::gunzip(again->body_text(), 1 << 20),
            answers.respond({}, table("t1"))->body_text());
  EXPECT_EQ(answers.counters().hits, 1U);
}

TEST(TableAnswers, DoNotCompressSmallOnes) {
  TableAnswers answers = make();
  const auto response = answers.respond(gzip_request(), table("t1", 10));
  ASSERT_TRUE(response);
  EXPECT_EQ(header_of(*response, "content-encoding"), "");
}

TEST(TableAnswers, KeepCompressedBodiesWithinTheirBytes) {
  TableAnswers probe = make();
  const std::size_t size = probe.compress_and_respond(table("a")).body_size();
  TableAnswers answers = make(2 * size + size / 2);
  for (std::string tag : {"a", "b"}) answers.compress_and_respond(table(tag));
  EXPECT_TRUE(answers.respond(gzip_request(), table("a")));  // now b is the oldest
  answers.compress_and_respond(table("c"));
  EXPECT_TRUE(answers.respond(gzip_request(), table("a")));
  EXPECT_FALSE(answers.respond(gzip_request(), table("b")));
  EXPECT_TRUE(answers.respond(gzip_request(), table("c")));
  EXPECT_LE(answers.counters().bytes, 2 * size + size / 2);

  TableAnswers none = make(0);
  none.compress_and_respond(table("a"));
  EXPECT_FALSE(none.respond(gzip_request(), table("a")));
  EXPECT_EQ(none.counters().bytes, 0U);
}

}  // namespace
}  // namespace duckicelake::rest
