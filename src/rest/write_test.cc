// SPDX-License-Identifier: Apache-2.0
// Routes that change something, on a catalog in memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/value.h"
#include "rest/requests.h"
#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

using testing::Bench;
using testing::header_of;

constexpr const char* kSpace = "/v1/lake/namespaces/shop";
constexpr const char* kKey = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";

std::string type_of(const net::Response& response) {
  const std::string text = response.body_text();
  const auto document = json::Document::parse(text);
  if (!document.has_value()) return text;
  const auto error = document->root_object()->require_object("error");
  if (!error.has_value()) return text;
  return std::string(*error->require_string("type"));
}

TEST(Writes, CreatesANamespace) {
  Bench bench;
  const net::Response response = bench.post(
      "/v1/lake/namespaces", R"({"namespace":["a","b"],"properties":{"k":"v","n":null}})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body_text(), R"({"namespace":["a","b"],"properties":{"k":"v"}})");
  EXPECT_EQ(bench.catalog.written, std::vector<std::string>{"create a.b 1"});
}

TEST(Writes, DropsAndUpdatesANamespace) {
  Bench bench;
  EXPECT_EQ(bench.ask("DELETE", kSpace).status, 204);
  const net::Response response = bench.post(std::string(kSpace) + "/properties",
                                            R"({"updates":{"a":"1"},"removals":["c","b","c"]})");
  EXPECT_EQ(response.body_text(), R"({"updated":["a"],"removed":[],"missing":["b","c"]})");
  EXPECT_EQ(bench.catalog.written, (std::vector<std::string>{"drop shop", "update shop"}));
}

TEST(Writes, DropsTablesWithOrWithoutTheirFiles) {
  Bench bench;
  const std::string table = std::string(kSpace) + "/tables/t";
  for (std::string query : {"", "?purgeRequested=false", "?purgeRequested=False",
                            "?purgeRequested=true", "?purgeRequested=True"}) {
    EXPECT_EQ(bench.ask("DELETE", table + query).status, 204) << query;
  }
  EXPECT_EQ(bench.catalog.written,
            (std::vector<std::string>{"drop shop.t", "drop shop.t", "drop shop.t", "purge shop.t",
                                      "purge shop.t"}));
  for (std::string query :
       {"?purgeRequested=yes", "?purgeRequested=1", "?purgeRequested=true&purgeRequested=false"}) {
    EXPECT_EQ(bench.ask("DELETE", table + query).status, 400) << query;
  }
}

TEST(Writes, RenamesWithoutABody) {
  Bench bench;
  const std::string body = R"({"source":{"namespace":["a"],"name":"t"},)"
                           R"("destination":{"namespace":["b","c"],"name":"u"}})";
  for (std::string kind : {"tables", "views"}) {
    const net::Response response = bench.post("/v1/lake/" + kind + "/rename", body);
    EXPECT_EQ(response.status, 204);
    EXPECT_EQ(response.body_size(), 0U);
  }
  EXPECT_EQ(bench.catalog.written,
            (std::vector<std::string>{"rename a.t b.c.u", "rename view a.t b.c.u"}));
}

TEST(Writes, KnowsNoFunctions) {
  Bench bench;
  EXPECT_EQ(bench.get(std::string(kSpace) + "/functions").body_text(), R"({"identifiers":[]})");
  EXPECT_EQ(type_of(bench.get(std::string(kSpace) + "/functions/f")), "NoSuchFunctionException");
  EXPECT_EQ(type_of(bench.get("/v1/lake/namespaces/no/functions")), "NoSuchNamespaceException");
  EXPECT_EQ(type_of(bench.get("/v1/lake/namespaces/no/functions/f")), "NoSuchNamespaceException");
}

TEST(Writes, TakesAnIdempotencyKey) {
  Bench bench;
  const std::string body = R"({"namespace":["a"]})";
  bench.post("/v1/lake/namespaces", body, {{"idempotency-key", kKey}});
  ASSERT_TRUE(bench.catalog.last_write.idempotency.has_value());
  const store::IdempotencyRecord first = *bench.catalog.last_write.idempotency;
  EXPECT_EQ(first.key, kKey);
  EXPECT_EQ(first.operation, "createNamespace");
  EXPECT_EQ(first.principal, "anonymous");
  bench.post("/v1/lake/namespaces", body + " ", {{"idempotency-key", kKey}});
  EXPECT_NE(bench.catalog.last_write.idempotency->body_hash, first.body_hash);
  bench.post("/v1/lake/namespaces", body,
             {{"idempotency-key", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"}});
  EXPECT_EQ(bench.catalog.last_write.idempotency->key, kKey);
  EXPECT_EQ(bench.catalog.last_write.idempotency->body_hash, first.body_hash);
  bench.ask("DELETE", kSpace, {{"idempotency-key", kKey}});
  EXPECT_EQ(bench.catalog.last_write.idempotency->operation, "dropNamespace");
  bench.ask("DELETE", kSpace);
  EXPECT_FALSE(bench.catalog.last_write.idempotency.has_value());
}

TEST(Writes, RefusesOtherKeys) {
  Bench bench;
  for (std::string key :
       {"", "x", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc3-18c4-dc0c0c07398f",
        "017f22e279b07cc398c4dc0c0c07398f", "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}"}) {
    EXPECT_EQ(bench.ask("DELETE", kSpace, {{"idempotency-key", key}}).status, 400) << key;
  }
  EXPECT_EQ(bench
                .ask("DELETE", kSpace,
                     {{"idempotency-key", kKey},
                      {"idempotency-key", "017f22e2-79b0-7cc3-98c4-dc0c0c073990"}})
                .status,
            400);
  EXPECT_TRUE(bench.catalog.written.empty());
}

TEST(Writes, AnswersUnknownOutcomesAsSuch) {
  Bench bench;
  bench.catalog.failure = Error(Code::kCommitStateUnknown, "nobody knows");
  const net::Response response = bench.ask("DELETE", kSpace);
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(type_of(response), "CommitStateUnknownException");
}

TEST(Writes, A22SaysWhenToTryAgain) {
  Bench bench;
  bench.catalog.failure = Error(Code::kUnavailable, "away");
  const net::Response response = bench.ask("DELETE", kSpace);
  EXPECT_EQ(type_of(response), "ServiceUnavailableException");
  EXPECT_FALSE(header_of(response, "retry-after").empty());
}

TEST(Writes, TellsJavaOfViewsThatMakeNoSense) {
  Bench bench;
  bench.catalog.failure = Error(Code::kInvalidArgument, "two queries of one dialect");
  const std::string path = std::string(kSpace) + "/views/seen";
  const net::Response response = bench.post(path, R"({"updates":[]})");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(type_of(response), "IllegalArgumentException");
  EXPECT_EQ(type_of(bench.post(path, "{")), "BadRequestException");
}

// Each body with one member left out or of another type.
TEST(Writes, RefusesBodiesThatDoNotFit) {
  Bench bench;
  const std::string views = std::string(kSpace) + "/views";
  const std::string metrics = std::string(kSpace) + "/tables/t/metrics";
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"/v1/lake/namespaces",
       {"", "[]", "{", "{}", R"({"namespace":"a"})", R"({"namespace":[]})",
        R"({"namespace":[null]})", R"({"namespace":["a"],"properties":{"a":1}})",
        R"({"namespace":["a"],"namespace":["b"]})", "{\"namespace\":[\"\xff\"]}"}},
      {std::string(kSpace) + "/properties",
       {"", R"({"updates":[]})", R"({"removals":{}})", R"({"removals":[1]})"}},
      {"/v1/lake/tables/rename",
       {"", "{}", R"({"source":{"namespace":["a"],"name":"t"}})",
        R"({"source":{"namespace":["a"]},"destination":{"namespace":["a"],"name":"t"}})",
        R"({"source":{"namespace":[],"name":"x"},"destination":{"namespace":["a"],"name":"t"}})"}},
      {views,
       {"", "{}", R"({"name":"v"})", R"({"name":"v","schema":{}})",
        R"({"name":"v","schema":{"type":"struct","fields":[]},"view-version":{}})"}},
      {views + "/seen",
       {"", "{}", R"({"updates":[{}]})", R"({"updates":[{"action":"x"}]})",
        R"({"updates":[],"requirements":[{"type":"assert-ref-snapshot-id"}]})",
        R"({"updates":[],"identifier":{"namespace":["shop"],"name":"w"}})"}},
      {std::string(kSpace) + "/register-view", {"", "{}", R"({"name":"v"})"}},
      {metrics,
       {"", "{}", R"({"report-type":"x","table-name":"t","snapshot-id":1,"metrics":{}})",
        R"({"report-type":"commit-report","table-name":"t","snapshot-id":1,"metrics":{}})",
        R"({"report-type":"commit-report","table-name":"t","snapshot-id":1,"sequence-number":1,)"
        R"("operation":"append","metrics":{"a":{"unit":"count"}}})"}},
  };
  for (const auto& [path, bodies] : cases) {
    for (const std::string& body : bodies) {
      const net::Response response = bench.post(path, body);
      EXPECT_EQ(response.status, 400) << path << " " << body;
      EXPECT_EQ(type_of(response), "BadRequestException");
    }
  }
  EXPECT_TRUE(bench.catalog.written.empty());
}

TEST(Writes, KeepsMetricsReportsOfALimitedSize) {
  Bench bench;
  const std::string path = std::string(kSpace) + "/tables/t/metrics";
  const std::string report =
      R"({"report-type":"scan-report","table-name":"t","snapshot-id":1,"filter":true,)"
      R"("schema-id":0,"projected-field-ids":[1],"projected-field-names":["id"],)"
      R"("metrics":{"result-data-files":{"unit":"count","value":1},)"
      R"("total-planning-duration":{"time-unit":"nanoseconds","count":1,"total-duration":2}},)"
      R"("metadata":{"a":"b"}})";
  EXPECT_EQ(bench.post(path, report).status, 204);
  EXPECT_EQ(bench.catalog.written.back(), "report shop.t " + report);
  EXPECT_EQ(bench.post(path, "[\"" + std::string(kMaxReportBytes, 'x') + "\"]").status, 413);
}

TEST(Writes, ReadsViews) {
  Bench bench;
  const std::string create =
      R"({"name":"v","location":null,"schema":{"type":"struct","schema-id":7,"fields":)"
      R"([{"id":1,"name":"id","type":"int","required":false}]},"view-version":{"version-id":1,)"
      R"("timestamp-ms":1,"schema-id":7,"summary":{},"default-namespace":["shop"],)"
      R"("representations":[{"type":"sql","sql":"SELECT 1","dialect":"duckdb"}]},)"
      R"("properties":null})";
  EXPECT_EQ(bench.post(std::string(kSpace) + "/views", create).status, 200);
  const std::string commit =
      R"({"identifier":{"namespace":["shop"],"name":"seen"},"requirements":)"
      R"([{"type":"assert-view-uuid","uuid":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}],)"
      R"("updates":[{"action":"set-properties","updates":{"a":"b"}}]})";
  EXPECT_EQ(bench.post(std::string(kSpace) + "/views/seen", commit).status, 200);
  EXPECT_EQ(bench
                .post(std::string(kSpace) + "/register-view",
                      R"({"name":"r","metadata-location":"s3://b/x"})")
                .body_text(),
            R"({"metadata-location":"s3://b/seen/1.metadata.json","metadata":{}})");
  EXPECT_EQ(bench.ask("DELETE", std::string(kSpace) + "/views/seen").status, 204);
  EXPECT_EQ(bench.catalog.written,
            (std::vector<std::string>{"create view shop.v", "commit shop.seen 1 1",
                                      "register shop.r s3://b/x", "drop view shop.seen"}));
}

}  // namespace
}  // namespace duckicelake::rest
