// SPDX-License-Identifier: Apache-2.0
#include "rest/storage_answer.h"

#include <gtest/gtest.h>

#include "json/value.h"
#include "rest/signer.h"
#include "rest/table_answer.h"
#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

using catalog::StorageGrant;
using testing::header_of;

RestConfig config() {
  RestConfig out;
  out.catalog_id = "lake";
  out.storage = {"http://s3:9000", "us-east-1", true};
  return out;
}

StorageGrant keys(StorageGrant::Kind kind = StorageGrant::Kind::kKeys) {
  auto made = std::make_shared<catalog::VendedKeys>();
  made->access_key = "AK";
  made->secret_key = Secret("SK");
  made->session_token = Secret("ST");
  made->expiration = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
  made->routes = {"s3://b/data/s/t/", "s3://b/data-iceberg/lake/u/"};
  StorageGrant out;
  out.kind = kind;
  out.keys = made;
  return out;
}

const catalog::TableRef kTable{{"a b", "c"}, "t/1"};

StorageAnswer answer(const StorageGrant& grant) {
  return storage_answer(config().storage, config().catalog_id, grant, kTable, "http://server",
                        "http://gateway");
}

net::Request asking(std::initializer_list<std::string> values) {
  net::Request out;
  for (const std::string& value : values) {
    out.headers.emplace_back("x-iceberg-access-delegation", value);
  }
  return out;
}

TEST(Delegation, IsAListInAnyCaseOnAnyLine) {
  const auto words = [](const net::Request& request) {
    const catalog::DelegationRequest asked = delegation_of(request);
    return std::string(asked.wants_keys ? "k" : "") + (asked.wants_signing ? "s" : "");
  };
  EXPECT_EQ(words(asking({})), "");
  EXPECT_EQ(words(asking({""})), "");
  EXPECT_EQ(words(asking({"vended-credentials"})), "k");
  EXPECT_EQ(words(asking({" Vended-Credentials ,\tREMOTE-SIGNING"})), "ks");
  EXPECT_EQ(words(asking({"remote-signing", "vended-credentials"})), "ks");
  EXPECT_EQ(words(asking({"vended", "vended-credentials2", "none,,"})), "");
}

TEST(TablePath, EncodesEachPart) {
  EXPECT_EQ(table_path("lake", kTable), "v1/lake/namespaces/a%20b%1Fc/tables/t%2F1");
}

TEST(StorageAnswer, GivesKeysForEachFolder) {
  const StorageAnswer out = answer(keys());
  EXPECT_TRUE(out.has_keys);
  for (
      const char* member :
      {R"("s3.access-key-id":"AK")", R"("s3.secret-access-key":"SK")", R"("s3.session-token":"ST")",
       R"("s3.session-token-expires-at-ms":"1700000000000")",
       R"("s3.credentials-expiration":"2023-11-14T22:13:20Z")", R"("s3.endpoint":"http://s3:9000")",
       R"("s3.remote-signing-enabled":"false")",
       R"("client.refresh-credentials-endpoint":"v1/lake/namespaces/a%20b%1Fc/tables/t%2F1/credentials")"}) {
    EXPECT_NE(out.config.find(member), std::string::npos) << member << " in " << out.config;
  }
  EXPECT_EQ(out.credentials.find(R"([{"prefix":"s3://b/data/s/t/","config":{)"), 0U);
  EXPECT_NE(out.credentials.find(R"({"prefix":"s3://b/data-iceberg/lake/u/","config":{)"),
            std::string::npos);
  // A mark gives no key away.
  for (const char* secret : {"AK", "SK", "ST"}) {
    EXPECT_EQ(out.mark.find(secret), std::string::npos);
  }
}

TEST(StorageAnswer, PointsToTheGatewayForItsKeys) {
  const StorageAnswer out = answer(keys(StorageGrant::Kind::kGatewayKeys));
  EXPECT_NE(out.config.find(R"("s3.endpoint":"http://gateway")"), std::string::npos);
  EXPECT_EQ(out.config.find("s3:9000"), std::string::npos);
}

TEST(StorageAnswer, HasNoEmptyCredentials) {
  StorageGrant signing;
  signing.kind = StorageGrant::Kind::kSigning;
  for (const StorageGrant& grant : {StorageGrant{}, signing}) {
    const StorageAnswer out = answer(grant);
    EXPECT_FALSE(out.has_keys);
    EXPECT_TRUE(out.credentials.empty());
    EXPECT_NE(out.config.find(R"("s3.endpoint":"http://s3:9000")"), std::string::npos);
  }
  EXPECT_EQ(answer({}).config, storage_config_json(config().storage));
  EXPECT_NE(answer(signing).config.find(R"("signer.uri":"http://server")"), std::string::npos);
  signing.staged_token = "token";
  EXPECT_NE(answer(signing).config.find("/tables/t%2F1/sign?staged=token\""), std::string::npos);
}

TEST(StorageAnswer, MarksDifferWithKeysAndPlaces) {
  const StorageGrant one = keys();
  StorageGrant other = keys();
  auto changed = std::make_shared<catalog::VendedKeys>(*other.keys);
  changed->access_key = "AK2";
  other.keys = changed;
  EXPECT_EQ(answer(one).mark, answer(keys()).mark);
  EXPECT_NE(answer(one).mark, answer(other).mark);
  EXPECT_NE(answer({}).mark, answer(one).mark);
  EXPECT_NE(
      storage_answer(config().storage, config().catalog_id, {}, kTable, "http://server", "").mark,
      answer(one).mark);
}

TEST(StorageAnswer, RefreshesWithOneEntryForAll) {
  const std::string body = credentials_body(config().storage, keys(), "http://gateway");
  EXPECT_EQ(body.find(R"({"storage-credentials":[{"prefix":"s3://b/data","config":{)"), 0U) << body;
  EXPECT_EQ(body.find("\"prefix\""), body.rfind("\"prefix\"")) << body;
}

TEST(TableAnswers, AnswerWithKeysToWhoHoldsOtherOnes) {
  TableAnswers answers({"{}", "v", 1, 1024, 1 << 20});
  catalog::TableAnswer table;
  table.metadata_location = "s3://b/v1.metadata.json";
  table.metadata = std::make_shared<const std::string>("{}");
  table.version_tag = "t1";
  const StorageAnswer storage = answer(keys());
  const net::Response first = answers.respond_with({}, table, storage);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(header_of(first, "cache-control"), "private, no-store");
  EXPECT_NE(first.body_text().find("\"storage-credentials\":[{"), std::string::npos);
  net::Request again;
  again.headers = {{"if-none-match", header_of(first, "etag")}};
  EXPECT_EQ(answers.respond_with(again, table, storage).status, 304);
  EXPECT_EQ(answers.respond_with(again, table, answer({})).status, 200);
  EXPECT_EQ(answers.respond(again, table)->status, 200);
  again.headers = {{"if-none-match", "*"}};
  EXPECT_EQ(answers.respond_with(again, table, storage).status, 200);
  again.headers = {{"if-none-match", header_of(*answers.respond({}, table), "etag")}};
  EXPECT_EQ(answers.respond_with(again, table, storage).status, 200);
}

TEST(SignRequest, ReadsBothFormsAndRefusesOthers) {
  auto request = read_sign_request(
      R"({"region":"r","method":"PUT","uri":"http://h/b/k","headers":{"A":["1","2"],"b":[]},)"
      R"("properties":{"x":"y"},"body":null,"provider":"s3"})");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->method, "PUT");
  EXPECT_EQ(request->headers.size(), 2U);
  EXPECT_FALSE(request->body.has_value());
  for (const char* body :
       {"", "[]", "{}", R"({"region":"r","method":"GET","uri":"u"})",
        R"({"region":"r","method":"GET","uri":"u","headers":[]})",
        R"({"region":"r","method":"GET","uri":"u","headers":{"a":"b"}})",
        R"({"region":"r","method":"GET","uri":"u","headers":{"a":[1]}})",
        R"({"region":1,"method":"GET","uri":"u","headers":{}})",
        R"({"region":"r","method":"GET","uri":"u","headers":{},"provider":"gcs"})"}) {
    EXPECT_FALSE(read_sign_request(body).has_value()) << body;
  }
  EXPECT_EQ(sign_body({"u", {{"authorization", "x"}}}),
            R"({"uri":"u","headers":{"authorization":["x"]}})");
}

}  // namespace
}  // namespace duckicelake::rest
