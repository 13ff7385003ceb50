// SPDX-License-Identifier: Apache-2.0
#include "auth/issuers.h"

#include <gtest/gtest.h>

#include "auth/crypto.h"
#include "base/bytes.h"

namespace duckicelake::auth {
namespace {

ParsedToken token_of(std::string_view payload) {
  return parse_token(to_base64url(R"({"alg":"RS256"})") + "." + to_base64url(payload) + ".AA")
      .value();
}

TEST(Issuers, AreReadFromJson) {
  const auto all = issuers_from_json(R"([
    {"issuer":"https://idp.example/realm","audience":"lake"},
    {"issuer":"http://127.0.0.1:99/x","audience":["a","b"],"jwks-url":"https://keys.example/jwks",
     "principal-claim":"email","principal-prefix":"idp/","roles-claim":"realm.roles","scope":"*:r",
     "role-scopes":{"writer":"ns:a:w"},"scope-claim":"scp","account-claim":"tenant"}])")
                       .value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].principal_claim, "sub");
  EXPECT_TRUE(all[0].scopes.empty()) << "nothing is allowed that is not written down";
  EXPECT_EQ(all[1].audiences.size(), 2U);

  const MappedPrincipal who =
      map_claims(all[1],
                 token_of(R"({"email":"a@b","realm":{"roles":["writer","x y","actor:agent"]},
                                      "scp":"openid ns:c:r","tenant":"acme"})"))
          .value();
  EXPECT_EQ(who.id, "idp/a@b");
  EXPECT_EQ(who.roles, (std::vector<std::string>{"writer"}));
  EXPECT_EQ(who.account, "acme");
  EXPECT_EQ(who.scopes.to_text(), "*:r ns:a:w");
}

TEST(Issuers, SettingsThatAreUnsafeOrUnknownAreRefused) {
  for (const std::string_view text :
       {"{}", "[{}]", R"([{"issuer":"https://a"}])", R"([{"issuer":"https://a","audience":[]}])",
        R"([{"issuer":"http://a.example","audience":"x"}])",
        R"([{"issuer":"http://127.0.0.1.evil.example","audience":"x"}])",
        R"([{"issuer":"file:///etc/passwd","audience":"x"}])",
        R"([{"issuer":"https://a","audience":"x","audiences":"y"}])",
        R"([{"issuer":"https://a","audience":"x","scope":"all of it"}])",
        R"([{"issuer":"https://a","audience":"x"},{"issuer":"https://a","audience":"y"}])"}) {
    EXPECT_FALSE(issuers_from_json(text).has_value()) << text;
  }
}

TEST(Issuers, TokensWithoutAPrincipalAreRefused) {
  ExternalIssuer issuer;
  for (const std::string_view payload :
       {"{}", R"({"sub":""})", R"({"sub":7})", R"({"sub":"a\nb"})", R"({"sub":null})"}) {
    EXPECT_FALSE(map_claims(issuer, token_of(payload)).has_value()) << payload;
  }
}

TEST(Issuers, KeysAreThoseOfTheIssuersOwnDocument) {
  EXPECT_EQ(discovery_url("https://a/x/"), "https://a/x/.well-known/openid-configuration");
  EXPECT_EQ(jwks_url_of(R"({"issuer":"https://a","jwks_uri":"https://a/k"})", "https://a").value(),
            "https://a/k");
  EXPECT_FALSE(
      jwks_url_of(R"({"issuer":"https://b","jwks_uri":"https://a/k"})", "https://a").has_value());
  EXPECT_FALSE(
      jwks_url_of(R"({"issuer":"https://a","jwks_uri":"http://a/k"})", "https://a").has_value());
  EXPECT_FALSE(jwks_url_of(R"({"issuer":"https://a"})", "https://a").has_value());
}

}  // namespace
}  // namespace duckicelake::auth
