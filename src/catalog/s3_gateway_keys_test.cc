// SPDX-License-Identifier: Apache-2.0
#include "catalog/s3_gateway_keys.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace duckicelake::catalog {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

GatewayKeys keys(std::string secret = "a secret of the gateway") {
  return GatewayKeys(Secret(std::move(secret)), "http://gateway", seconds(900));
}

GatewayClaims claims() {
  GatewayClaims out;
  out.catalog_id = "lake";
  out.table = TableId(7);
  out.uuid = "u-u";
  out.right = StorageRight::kWrite;
  out.expiration = sys_seconds(seconds(1'700'000'000));
  auto subject = std::make_shared<Subject>();
  subject->id = "some|one \"x\"";
  subject->client_id = "client";
  subject->issuer = "issuer";
  subject->account = "account";
  subject->scopes = *auth::ScopeSet::parse("ns:a%3Ab:rw *:r");
  subject->token_roles = {"a", "b"};
  subject->issued_at = 1'600'000'000;
  out.principal.id = subject->id;
  out.principal.is_authenticated = true;
  out.principal.subject = subject;
  return out;
}

TEST(GatewayKeys, SayWhatTheyWereMadeFor) {
  const auto minted = keys().mint(claims());
  auto read = GatewayKeys::parse(minted.access_key);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->catalog_id, "lake");
  EXPECT_EQ(read->table, TableId(7));
  EXPECT_EQ(read->uuid, "u-u");
  EXPECT_EQ(read->right, StorageRight::kWrite);
  EXPECT_EQ(read->expiration, claims().expiration);
  EXPECT_EQ(read->principal.id, claims().principal.id);
  ASSERT_NE(read->principal.subject, nullptr);
  const Subject& subject = *read->principal.subject;
  EXPECT_EQ(subject.client_id, "client");
  EXPECT_EQ(subject.issuer, "issuer");
  EXPECT_EQ(subject.account, "account");
  EXPECT_EQ(subject.scopes, claims().principal.subject->scopes);
  EXPECT_EQ(subject.token_roles, claims().principal.subject->token_roles);
  EXPECT_EQ(subject.issued_at, 1'600'000'000);
}

TEST(GatewayKeys, KeepStagedPlacesAndNamedPrincipals) {
  GatewayClaims one = claims();
  one.table = TableId(-1);
  one.location = "data/a/b/";
  one.staged = {{"a", "b"}, "t"};
  one.schema = SchemaId(3);
  one.principal.is_named = true;
  one.principal.actor = "agent";
  one.principal.channel = "mcp";
  auto read = GatewayKeys::parse(keys().mint(one).access_key);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->location, one.location);
  EXPECT_EQ(read->staged, one.staged);
  EXPECT_EQ(read->schema, one.schema);
  EXPECT_TRUE(read->principal.is_named);
  EXPECT_EQ(read->principal.actor, "agent");
  EXPECT_EQ(read->principal.channel, "mcp");
}

TEST(GatewayKeys, AreTheSameForTheSameClaimsAndSecret) {
  const auto a = keys().mint(claims()), b = keys().mint(claims());
  EXPECT_EQ(a.access_key, b.access_key);
  EXPECT_TRUE(a.secret_key.equals(b.secret_key.reveal()));
  EXPECT_TRUE(keys().secret_of(a.access_key).equals(a.secret_key.reveal()));
}

TEST(GatewayKeys, HaveAnotherSecretForEveryOtherClaimOrGateway) {
  const auto one = keys().mint(claims());
  GatewayClaims other = claims();
  other.table = TableId(8);
  EXPECT_FALSE(keys().mint(other).secret_key.equals(one.secret_key.reveal()));
  other = claims();
  other.right = StorageRight::kRead;
  EXPECT_FALSE(keys().mint(other).secret_key.equals(one.secret_key.reveal()));
  EXPECT_FALSE(keys("another").secret_of(one.access_key).equals(one.secret_key.reveal()));
  EXPECT_FALSE(keys().secret_of(one.access_key + "A").equals(one.secret_key.reveal()));
}

TEST(GatewayKeys, RefuseWhatIsNoneOfTheirs) {
  const std::string good = keys().mint(claims()).access_key;
  const auto of = [](std::string_view json) { return "DLGW1." + to_base64url(json); };
  for (const std::string& key :
       {std::string(), std::string("AKIAIOSFODNN7EXAMPLE"), std::string("DLGW1."),
        std::string("DLGW1.!!!"), good.substr(0, good.size() - 3), of("{}"), of("[]"), of("null"),
        of(R"({"tab":1})"), of(R"({"tab":"1","exp":1})"), of(R"({"tab":1,"exp":1,"sub":1})"),
        of(R"({"tab":1,"exp":1,"aut":[]})"), of(R"({"tab":1,"exp":1,"aut":{"id":"a"}})"),
        of(R"({"tab":1,"tab":2,"exp":1})"), of(std::string(20, '[')), of("\xFF\xFE"),
        "DLGW1." + std::string(40'000, 'A')}) {
    auto read = GatewayKeys::parse(key);
    ASSERT_FALSE(read.has_value()) << key.substr(0, 80);
    EXPECT_EQ(read.error().code(), Code::kPermissionDenied);
  }
}

TEST(GatewayKeys, EndBetweenHalfATtlAndAWholeOneLater) {
  for (int offset : {0, 1, 449, 450, 451, 899}) {
    const sys_seconds now(seconds(1'700'000'100 + offset));
    const sys_seconds end = keys().expiration_at(now);
    EXPECT_GT(end - now, seconds(450)) << offset;
    EXPECT_LE(end - now, seconds(900)) << offset;
  }
  const sys_seconds begin(seconds(1'700'000'100));
  EXPECT_EQ(keys().expiration_at(begin), keys().expiration_at(begin + seconds(100)));
}

}  // namespace
}  // namespace duckicelake::catalog
