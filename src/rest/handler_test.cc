// SPDX-License-Identifier: Apache-2.0
#include "rest/handler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "json/value.h"
#include "net/gzip.h"
#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

using testing::Bench;
using testing::header_of;

constexpr const char* kTable = "/v1/lake/namespaces/shop/tables/t";

// The Iceberg error body, of this status and type.
void expect_error(const net::Response& response, int status, std::string_view type) {
  EXPECT_EQ(response.status, status);
  EXPECT_EQ(header_of(response, "content-type"), "application/json");
  const std::string text = response.body_text();
  const auto document = json::Document::parse(text);
  ASSERT_TRUE(document.has_value()) << text;
  const json::Object root = *document->root_object();
  EXPECT_EQ(root.size(), 1U);
  const json::Object error = *root.require_object("error");
  EXPECT_EQ(*error.require_string("type"), type);
  EXPECT_EQ(*error.require_int32("code"), status);
  EXPECT_FALSE(error.require_string("message")->empty());
}

TEST(Handler, LoadsACachedTableOnTheIoThread) {
  Bench bench;
  const net::Response response = bench.get(kTable);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body_text(),
            R"({"metadata-location":"s3://b/t/metadata/v1.metadata.json",)"
            R"("metadata":{"format-version":2,"snapshots":[]},)"
            R"("config":{"s3.path-style-access":"true","s3.url-style":"path"}})");
  EXPECT_EQ(bench.executor.taken, 0);
  EXPECT_EQ(bench.catalog.heads, 1);
}

TEST(Handler, LoadsOthersOnAWorker) {
  Bench bench;
  bench.catalog.is_cold = true;
  EXPECT_EQ(bench.get(kTable).status, 200);
  EXPECT_EQ(bench.executor.taken, 1);
  EXPECT_EQ(bench.catalog.loads, 1);
}

TEST(Handler, AnswersOnlyAfterTheHeadIsKnown) {
  Bench bench;
  bench.catalog.defers_head = true;
  EXPECT_EQ(bench.get(kTable).status, 0);
  ASSERT_EQ(bench.catalog.waiting.size(), 1U);
  bench.catalog.waiting[0](bench.catalog.head);
  EXPECT_EQ(bench.last_sink->caught.value_or(net::Response{}).status, 200);
  EXPECT_EQ(bench.last_sink->calls, 1);
}

TEST(Handler, SaysThatTheDatabaseIsAway) {
  Bench bench;
  bench.catalog.head = Error(Code::kUnavailable, "the catalog's database is away");
  const net::Response response = bench.get(kTable);
  expect_error(response, 503, "ServiceUnavailableException");
  EXPECT_FALSE(header_of(response, "retry-after").empty());
  EXPECT_EQ(bench.get("/readyz").status, 503);
  EXPECT_EQ(bench.get("/healthz").status, 200);
}

TEST(Handler, RefusesWhenNoWorkerIsFree) {
  Bench bench;
  bench.executor.is_full = true;
  const net::Response response = bench.get("/v1/lake/namespaces");
  expect_error(response, 503, "ServiceUnavailableException");
  EXPECT_FALSE(header_of(response, "retry-after").empty());
  EXPECT_EQ(bench.handler.counters().refused, 1U);
}

TEST(Handler, AnswersWhatAnEndingPoolGivesUp) {
  Bench bench;
  bench.executor.is_ending = true;
  const net::Response response = bench.get("/v1/lake/namespaces");
  expect_error(response, 503, "ServiceUnavailableException");
  EXPECT_FALSE(header_of(response, "retry-after").empty());
  EXPECT_EQ(bench.last_sink->calls, 1);
}

TEST(Handler, PassesModeAndPin) {
  Bench bench;
  bench.catalog.is_cold = true;
  bench.get(std::string(kTable) + "?snapshots=refs&other=x");
  EXPECT_EQ(bench.catalog.last_load.mode, catalog::SnapshotsMode::kRefs);
  for (std::string name : {"snapshot-id", "snapshot_id"}) {
    bench.catalog.heads = 0;
    bench.get(fmt::format("{}?{}=42", kTable, name));
    EXPECT_EQ(bench.catalog.last_load.pinned_snapshot, 42);
    EXPECT_EQ(bench.catalog.heads, 0);
  }
}

TEST(Handler, RefusesMalformedParameters) {
  Bench bench;
  for (std::string query :
       {"snapshots=some", "snapshots=", "snapshot-id=", "snapshot-id=x", "snapshot-id=-1",
        "snapshot-id=99999999999999999999999", "snapshot-id=1&snapshot_id=2",
        "snapshot-id=1&snapshot-id=2", "snapshot-id=1%00", "x=%zz", "snapshot-id=+1"}) {
    expect_error(bench.get(fmt::format("{}?{}", kTable, query)), 400, "BadRequestException");
  }
  for (std::string query : {"pageToken=&pageSize=x", "pageToken=&pageSize=-1", "pageSize=0",
                            "pageToken=forged", "pageToken=%00", "pageSize=99999999999999999999"}) {
    expect_error(bench.get("/v1/lake/namespaces?" + query), 400, "BadRequestException");
  }
}

TEST(Handler, AnswersConditionalLoads) {
  Bench bench;
  const std::string tag = header_of(bench.get(kTable), "etag");
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(bench.get(kTable, {{"if-none-match", tag}}).status, 304);
  EXPECT_EQ(bench.get(kTable, {{"if-none-match", "*"}}).status, 304);
  EXPECT_EQ(bench.get(kTable, {{"if-none-match", "\"x\", " + tag}}).status, 304);
  EXPECT_EQ(bench.get(kTable, {{"if-none-match", "\"x\""}}).status, 200);
  bench.catalog.is_cold = true;
  EXPECT_EQ(bench.get(kTable, {{"if-none-match", tag}}).status, 304);
}

TEST(Handler, CompressesATableOnAWorkerAndOnceOnly) {
  Bench bench;
  bench.catalog.add_table({"shop"}, "big", "{\"x\":\"" + std::string(5000, 'y') + "\"}");
  const std::string path = "/v1/lake/namespaces/shop/tables/big";
  const std::string plain = bench.get(path).body_text();
  for (int i = 0; i < 3; ++i) {
    const net::Response packed = bench.get(path, {{"accept-encoding", "gzip"}});
    EXPECT_EQ(header_of(packed, "content-encoding"), "gzip");
    EXPECT_EQ(*net::gunzip(packed.body_text(), 1 << 20), plain);
  }
  EXPECT_EQ(bench.executor.taken, 1);
  EXPECT_EQ(bench.catalog.loads, 0);
}

TEST(Handler, ChecksExistence) {
  Bench bench;
  for (std::string path : {"shop", "shop/tables/t", "shop/views/seen"}) {
    const net::Response response = bench.ask("HEAD", "/v1/lake/namespaces/" + path);
    EXPECT_EQ(response.status, 204) << path;
    EXPECT_EQ(response.body_size(), 0U);
  }
  for (std::string path : {"no", "shop/tables/no", "shop/views/no"}) {
    EXPECT_EQ(bench.ask("HEAD", "/v1/lake/namespaces/" + path).status, 404) << path;
  }
}

TEST(Handler, ListsNamespacesInPages) {
  Bench bench;
  EXPECT_EQ(bench.get("/v1/lake/namespaces").body_text(),
            R"({"namespaces":[["a"],["a.b"],["shop"]]})");
  EXPECT_EQ(bench.get("/v1/lake/namespaces?pageSize=1").body_text(),
            R"({"namespaces":[["a"],["a.b"],["shop"]]})");
  std::string token, all;
  for (int page = 0; page < 3; ++page) {
    const std::string body =
        bench.get("/v1/lake/namespaces?pageSize=1&pageToken=" + token).body_text();
    const auto document = json::Document::parse(body);
    const json::Object root = *document->root_object();
    const json::Array listed = *root.require_array("namespaces");
    ASSERT_EQ(listed.size(), 1U);
    all += listed[0].to_text();
    if (page < 2) {
      token = *root.require_string("next-page-token");
    } else {
      EXPECT_NE(body.find("\"next-page-token\":null"), std::string::npos);
    }
  }
  EXPECT_EQ(all, R"(["a"]["a.b"]["shop"])");
  expect_error(bench.get("/v1/lake/namespaces/shop/tables?pageToken=" + token), 400,
               "BadRequestException");
}

TEST(Handler, ListsChildrenOfAParent) {
  Bench bench;
  bench.catalog.children[{"x", "y"}] = {{"x", "y", "z"}};
  EXPECT_EQ(bench.get("/v1/lake/namespaces?parent=x%1Fy").body_text(),
            R"({"namespaces":[["x","y","z"]]})");
  // As Iceberg's Java client before 1.8 sends it.
  EXPECT_EQ(bench.get("/v1/lake/namespaces?parent=x%251Fy").body_text(),
            R"({"namespaces":[["x","y","z"]]})");
  bench.catalog.children[{"x%1Fy"}] = {};
  EXPECT_EQ(bench.get("/v1/lake/namespaces?parent=x%251Fy").body_text(), R"({"namespaces":[]})");
  EXPECT_EQ(bench.get("/v1/lake/namespaces?parent=").body_text(),
            bench.get("/v1/lake/namespaces").body_text());
  for (std::string parent : {"no", "x%1F", "%1F", "no%251Fno"}) {
    expect_error(bench.get("/v1/lake/namespaces?parent=" + parent), 404,
                 "NoSuchNamespaceException");
  }
}

TEST(Handler, ListsTablesInPages) {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.catalog.add_table({"shop"}, fmt::format("u{}", i), "{}");
  const std::string first =
      bench.get("/v1/lake/namespaces/shop/tables?pageToken=&pageSize=2").body_text();
  EXPECT_NE(first.find(R"([{"namespace":["shop"],"name":"t"},{"namespace":["shop"],"name":"u0"}])"),
            std::string::npos);
  const auto document = json::Document::parse(first);
  const std::string token(*document->root_object()->require_string("next-page-token"));
  bench.get("/v1/lake/namespaces/shop/tables?pageSize=5000&pageToken=" + token);
  EXPECT_EQ(bench.catalog.last_page.after, "u0");
  EXPECT_EQ(bench.catalog.last_page.limit, 1000);
  bench.get("/v1/lake/namespaces/shop/tables?pageToken=");
  EXPECT_EQ(bench.catalog.last_page.limit, 100);
  bench.get("/v1/lake/namespaces/shop/tables?pageSize=2");
  EXPECT_EQ(bench.catalog.last_page.limit, 0);
  expect_error(bench.get("/v1/lake/namespaces/shop/views?pageToken=" + token), 400,
               "BadRequestException");
  expect_error(bench.get("/v1/lake/namespaces/other/tables?pageToken=" + token), 400,
               "BadRequestException");
}

TEST(Handler, DecodesNamesOnce) {
  Bench bench;
  bench.catalog.is_cold = true;
  bench.get("/v1/lake/namespaces/a%1Fb.c/tables/a%252Fb+c%20d");
  EXPECT_EQ(bench.catalog.last_load.table.levels, (catalog::Levels{"a", "b.c"}));
  EXPECT_EQ(bench.catalog.last_load.table.name, "a%2Fb+c d");
  bench.get("/v1/lake/namespaces/a/tables/b+c%2Bd",
            {{"x-client-version", "Apache Iceberg 1.9.2 (commit abc)"}});
  EXPECT_EQ(bench.catalog.last_load.table.name, "b c+d");
}

TEST(Handler, LoadsNamespacesAndViews) {
  Bench bench;
  EXPECT_EQ(bench.get("/v1/lake/namespaces/a.b").body_text(),
            R"({"namespace":["a.b"],"properties":{"owner":"me"}})");
  EXPECT_EQ(
      bench.get("/v1/lake/namespaces/shop/views/seen").body_text(),
      R"({"metadata-location":"s3://b/seen/1.metadata.json","metadata":{"format-version":1}})");
  EXPECT_EQ(bench.get("/v1/lake/namespaces/shop/views").body_text(),
            R"({"identifiers":[{"namespace":["shop"],"name":"seen"}]})");
}

TEST(Handler, KnowsOneWarehouse) {
  Bench bench;
  EXPECT_EQ(bench.get("/v1/config").status, 200);
  EXPECT_EQ(bench.get("/v1/config?warehouse=").status, 200);
  EXPECT_EQ(bench.get("/v1/config?warehouse=lake").status, 200);
  expect_error(bench.get("/v1/config?warehouse=other"), 404, "NoSuchWarehouseException");
  expect_error(bench.get("/v1/other/namespaces"), 404, "NoSuchWarehouseException");
}

TEST(Handler, RefusesUnknownRoutesAndMethods) {
  Bench bench;
  for (std::string path :
       {"/", "/v1", "/v1/", "/v1/lake/config", "/v1/lake/unknown", "/v1/../etc/passwd",
        "/v1/lake/namespaces/shop/tables/", "/v1/lake/namespaces/shop/tables/t/x", "*", "",
        "/v1/lake/namespaces/shop/tables/t/plan", "//v1/config"}) {
    expect_error(bench.get(path), 404, "NotFoundException");
  }
  for (auto [method, path] : {std::pair("DELETE", "/v1/config"), std::pair("PUT", kTable),
                              std::pair("PATCH", "/v1/lake/namespaces"),
                              std::pair("OPTIONS", "/healthz"), std::pair("TRACE", kTable)}) {
    const net::Response response = bench.ask(method, path);
    expect_error(response, 405, "MethodNotAllowedException");
    EXPECT_TRUE(header_of(response, "allow").starts_with("GET, HEAD"));
  }
}

TEST(Handler, AnswersAMethodThatNoResourceKnowsWith501) {
  Bench bench;
  for (std::string method : {"BREW", "PROPFIND", "get"}) {
    for (std::string path : {std::string(kTable), std::string("/unknown"), std::string("")}) {
      expect_error(bench.ask(method, path), 501, "UnsupportedOperationException");
    }
  }
}

TEST(Handler, NamesTheMethodsOfTheServer) {
  Bench bench;
  const net::Response response = bench.ask("OPTIONS", "*");
  EXPECT_EQ(response.status, 204);
  EXPECT_EQ(response.body_size(), 0U);
  const std::string allow = header_of(response, "allow");
  EXPECT_TRUE(allow.starts_with("GET, HEAD")) << allow;
  EXPECT_TRUE(allow.ends_with(", OPTIONS")) << allow;
}

TEST(Handler, RefusesHostileNames) {
  Bench bench;
  for (std::string name : {"%zz", "%00", "%ff", "a%00b"}) {
    expect_error(bench.get("/v1/lake/namespaces/" + name), 400, "BadRequestException");
    expect_error(bench.get("/v1/lake/namespaces/shop/tables/" + name), 400, "BadRequestException");
  }
  expect_error(bench.get("/v1/lake/namespaces/" + std::string(9000, 'n')), 400,
               "BadRequestException");
  expect_error(bench.get("/v1/lake/namespaces/a%1F"), 404, "NoSuchNamespaceException");
}

TEST(Handler, AnswersRandomTargetsWithoutA500) {
  Bench bench;
  bench.catalog.is_cold = true;
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {
      "/v1",       "/lake",       "/namespaces", "/shop", "/tables",   "/t",
      "/views",    "/seen",       "/",           "%",     "%1F",       "%00",
      "%2F",       "?",           "&",           "=",     "pageToken", "pageSize",
      "snapshots", "snapshot-id", "parent",      "#",     "..",        "\xff",
      "ä",         "+",           "config",      "1",     "-1",        std::string(2000, 'x')};
  for (int i = 0; i < 20'000; ++i) {
    std::string target = random() % 2 ? "/v1/lake/namespaces" : "";
    for (auto n = random() % 8; n > 0; --n) target += pieces[random() % pieces.size()];
    const net::Response response = bench.ask(random() % 4 ? "GET" : "HEAD", target);
    ASSERT_NE(response.status, 0) << target;
    ASSERT_LT(response.status, 500) << target;
    ASSERT_EQ(bench.last_sink->calls, 1);
  }
}

TEST(Handler, KeepsCausesForTheLog) {
  Bench bench;
  bench.catalog.is_cold = true;
  bench.catalog.failure = Error(Code::kInternal, "the lake broke", "relation secret_table");
  const net::Response response = bench.get(kTable);
  expect_error(response, 500, "InternalServerError");
  EXPECT_EQ(response.body_text().find("secret_table"), std::string::npos);
  EXPECT_NE(response.body_text().find("req-1"), std::string::npos);
  const auto& seen = bench.observer.seen.back();
  EXPECT_EQ(seen.cause, "relation secret_table");
  EXPECT_EQ(seen.error, Code::kInternal);
  EXPECT_EQ(seen.message, "the lake broke");
}

TEST(Handler, TurnsExceptionsIntoA500) {
  Bench bench;
  bench.catalog.is_cold = true;
  bench.catalog.throws = true;
  const net::Response response = bench.get(kTable);
  expect_error(response, 500, "InternalServerError");
  EXPECT_EQ(response.body_text().find("secret"), std::string::npos);
  EXPECT_EQ(bench.observer.seen.back().cause, "SELECT secret");
}

TEST(Handler, ReportsEachRequestOnce) {
  Bench bench;
  bench.get(kTable);
  bench.get("/nowhere");
  bench.ask("HEAD", "/v1/lake/namespaces");
  ASSERT_EQ(bench.observer.seen.size(), 3U);
  EXPECT_EQ(route_path(bench.observer.seen[0].route),
            "/v1/{prefix}/namespaces/{namespace}/tables/{table}");
  EXPECT_EQ(bench.observer.seen[0].request_id, "req-1");
  EXPECT_EQ(bench.observer.seen[0].caller, "anonymous");
  EXPECT_GT(bench.observer.seen[0].response_bytes, 0U);
  EXPECT_EQ(bench.observer.seen[1].route, kNoRoute);
  EXPECT_EQ(bench.observer.seen[1].error, Code::kNotFound);
  EXPECT_EQ(bench.observer.seen[2].response_bytes, 0U);
}

TEST(Handler, TellsHealthReadinessAndMetrics) {
  Bench bench;
  EXPECT_EQ(bench.get("/healthz").body_text(), R"({"status":"ok"})");
  EXPECT_EQ(bench.get("/readyz").body_text(), R"({"status":"ready"})");
  const net::Response metrics = bench.get("/metrics");
  EXPECT_EQ(metrics.body_text(), "metric 1\n");
  EXPECT_TRUE(header_of(metrics, "content-type").starts_with("text/plain; version=0.0.4"));
  bench.not_ready = "draining";
  const net::Response response = bench.get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body_text(), R"({"status":"not-ready","reason":"draining"})");
}

TEST(Handler, AnswersDoNotNameAStrangersHost) {
  Bench bench;
  const net::Headers headers = {{"host", "evil.example"}, {"x-forwarded-host", "evil.example"}};
  EXPECT_EQ(bench.get("/v1/config", headers).body_text(), bench.get("/v1/config").body_text());
  EXPECT_EQ(bench.get(kTable, headers).body_text(), bench.get(kTable).body_text());
  RestConfig config;
  config.urls.public_url = "https://lake.example/";
  Bench outer(config);
  EXPECT_NE(outer.get("/openapi.json", headers).body_text().find("\"https://lake.example\""),
            std::string::npos);
}

TEST(Handler, CompressesLongListings) {
  Bench bench;
  for (int i = 0; i < 200; ++i) bench.catalog.add_table({"shop"}, fmt::format("table{}", i), "{}");
  const std::string path = "/v1/lake/namespaces/shop/tables";
  const net::Response packed = bench.get(path, {{"accept-encoding", "gzip"}});
  EXPECT_EQ(header_of(packed, "content-encoding"), "gzip");
  EXPECT_EQ(*net::gunzip(packed.body_text(), 1 << 20), bench.get(path).body_text());
  EXPECT_EQ(header_of(bench.get(path), "vary"), "Accept-Encoding");
}

}  // namespace
}  // namespace duckicelake::rest
