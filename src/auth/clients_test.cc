// SPDX-License-Identifier: Apache-2.0
#include "auth/clients.h"

#include <gtest/gtest.h>

#include "auth/crypto.h"

namespace duckicelake::auth {
namespace {

using Roles = std::vector<std::string>;

TEST(Clients, AreReadFromTheirList) {
  const Clients all =
      parse_clients("admin:s3:cret, etl:x|ns:a:rw broker|writers readers writers|acme,,r:y|*:r")
          .value();
  ASSERT_EQ(all.size(), 3U);
  const Client& admin = all.at("admin");
  EXPECT_TRUE(admin.scopes.is_superuser()) << "without a scope: everything";
  EXPECT_TRUE(has_secret(admin, "s3:cret"));
  EXPECT_FALSE(has_secret(admin, "s3"));
  EXPECT_FALSE(has_secret(admin, ""));
  const Client& etl = all.at("etl");
  EXPECT_EQ(etl.scopes.to_text(), "broker ns:a:rw");
  EXPECT_EQ(etl.roles, (Roles{"readers", "writers"}));
  EXPECT_EQ(etl.account, "acme");
  EXPECT_EQ(all.at("r").scopes.rights_everywhere(), Right::kRead);
  EXPECT_TRUE(parse_clients("").value().empty());
}

TEST(Clients, ListsThatAreNoneAreRefused) {
  for (const std::string_view text : {"admin", "admin:", ":secret", "a b:c", "a:b|*|r|acc|more",
                                      "a:b,a:c", "a:b|*|actor:agent"}) {
    const auto result = parse_clients(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(parse_clients("id:verysecret|*|a|b|c").error().message().find("verysecret"),
            std::string::npos);
}

TEST(Clients, AreReadFromJson) {
  const std::string hash = hash_secret("hidden", "0123456789abcdef").value();
  const Clients all = clients_from_json(R"({"a":"one","b":{"secret":"two","scope":"ns:x:r",
      "roles":["p","q"],"account":"acme"},"c":{"secret":"three","roles":"q p"},
      "d":{"secret-hash":")" + hash + R"("}})")
                          .value();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(has_secret(all.at("a"), "one"));
  EXPECT_TRUE(all.at("a").scopes.is_superuser());
  EXPECT_EQ(all.at("b").scopes.to_text(), "ns:x:r");
  EXPECT_EQ(all.at("b").roles, (Roles{"p", "q"}));
  EXPECT_EQ(all.at("b").account, "acme");
  EXPECT_EQ(all.at("c").roles, (Roles{"p", "q"}));
  EXPECT_TRUE(has_secret(all.at("d"), "hidden"));
  EXPECT_FALSE(has_secret(all.at("d"), hash));
}

TEST(Clients, JsonThatIsNoneIsRefused) {
  for (const std::string_view text :
       {"[]", "{", R"({"a":1})", R"({"a":""})", R"({"a":{}})", R"({"a:b":"x"})",
        R"({"a":{"secret":"x","secret-hash":"y"}})", R"({"a":{"secret":"x","roles":[1]}})",
        R"({"a":"x","a":"y"})"}) {
    EXPECT_FALSE(clients_from_json(text).has_value()) << text;
  }
}

TEST(Secrets, AreFoundByTheirHashOnly) {
  const std::string hash = hash_secret("correct horse", "salt of sixteen.").value();
  EXPECT_TRUE(hash.starts_with("scrypt$12$8$1$"));
  EXPECT_TRUE(check_secret("correct horse", hash).has_value());
  EXPECT_EQ(check_secret("correct horsf", hash).error().code(), Code::kUnauthenticated);
  EXPECT_EQ(check_secret("", hash).error().code(), Code::kUnauthenticated);
  EXPECT_NE(hash, hash_secret("correct horse", "another salt, 16").value());
}

TEST(Secrets, HashesThatAreNoneOrCostTooMuchAreRefused) {
  for (const std::string_view hash :
       {"", "scrypt", "scrypt$12$8$1$c2FsdA$", "md5$12$8$1$c2FsdA$aGFzaA",
        "scrypt$30$8$1$c2FsdA$aGFzaA", "scrypt$12$99$1$c2FsdA$aGFzaA", "scrypt$x$8$1$c2FsdA$aGFzaA",
        "scrypt$12$8$1$c2FsdA$aGFzaA$", "scrypt$12$8$0$c2FsdA$aGFzaA", "scrypt$12$8$1$!!$aGFzaA"}) {
    EXPECT_EQ(check_secret("x", hash).error().code(), Code::kCorruptData) << hash;
  }
}

TEST(Secrets, CompareInAnyLength) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
  EXPECT_FALSE(same_secret("abc", "abd"));
}

TEST(Names, OfClientsAndRolesAreChecked) {
  for (const std::string_view id : {"a", "svc-1.x@y", "A_b"})
    EXPECT_TRUE(check_client_id(id).has_value());
  for (const std::string_view id : {"", "a b", "a:b", "a|b", "a,b", "a\n", "\xC3\xA4"}) {
    EXPECT_FALSE(check_client_id(id).has_value()) << id;
  }
  for (const std::string_view role : {"analyst", "\xC3\xA4", "a:b"})
    EXPECT_TRUE(check_role_name(role).has_value());
  for (const std::string_view role : {"", "a b", "actor:agent", "channel:rest", "a,b", "a\x01"}) {
    EXPECT_FALSE(check_role_name(role).has_value()) << role;
  }
}

}  // namespace
}  // namespace duckicelake::auth
