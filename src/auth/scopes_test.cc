// SPDX-License-Identifier: Apache-2.0
#include "auth/scopes.h"

#include <gtest/gtest.h>

namespace duckicelake::auth {
namespace {

ScopeSet scope(std::string_view text) { return ScopeSet::parse(text).value(); }

std::string rights(const ScopeSet& scopes, const Levels& levels) {
  switch (scopes.rights_in(levels)) {
    case Right::kNone: return "-";
    case Right::kRead: return "r";
    case Right::kWrite: return "w";
    case Right::kReadWrite: break;
  }
  return "rw";
}

TEST(Scopes, GiveTheRightsOfTheirWords) {
  struct Case {
    std::string_view scope;
    Levels levels;
    std::string_view rights;
  };
  const Case cases[] = {
      {"", {"a"}, "-"},
      {"*", {"a"}, "rw"},
      {"*:*:*", {"a"}, "rw"},
      {"*:r", {"a"}, "r"},
      {"*:w", {"a"}, "w"},
      {"ns:*:r", {"a"}, "r"},
      {"*:*", {"a"}, "rw"},
      {"ns:a:r", {"a"}, "r"},
      {"a:rw", {"a"}, "rw"},
      {"ns:a:*", {"a"}, "rw"},
      {"ns:a:r ns:a:w", {"a"}, "rw"},
      {"*:r ns:a:w", {"a"}, "rw"},
      {"*:r ns:a:w", {"b"}, "r"},
      {"ns:a:r", {"A"}, "-"},
      {"ns:a:r", {"ab"}, "-"},
      {"ns:a:r", {"a", "b"}, "-"},
      {"ns:a%1Fb:r", {"a", "b"}, "r"},
      {"ns:a%1fb:r", {"a.b"}, "-"},
      {"ns:a.b:r", {"a.b"}, "r"},
      {"ns:a%3Ab:r", {"a:b"}, "r"},
      {"ns:a:b:r", {"a:b"}, "-"},
      {"ns:a%20b:r", {"a b"}, "r"},
      {"ns:100%25:r", {"100%"}, "r"},
      {"ns:100%:r", {"100%"}, "-"},
      {"ns:a%2:r", {"a%2"}, "-"},
      {"ns:%C3%A4:r", {"\xC3\xA4"}, "r"},
      {"ns:%2A:r", {"*"}, "r"},
      {"ns:%2A:r", {"a"}, "-"},
      {"ns::r", {""}, "-"},
      {"ns:a%1F:r", {"a", ""}, "-"},
      {"ns:a:x", {"a"}, "-"},
      {"ns:a", {"a"}, "-"},
      {"catalog openid", {"catalog"}, "-"},
      {"PRINCIPAL_ROLE:ALL", {"PRINCIPAL_ROLE"}, "-"},
      {"broker", {"broker"}, "-"},
      {"  ns:a:r   ", {"a"}, "r"},
      {"ns:ns:r", {"ns"}, "r"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(rights(scope(c.scope), c.levels), c.rights) << c.scope;
  }
}

TEST(Scopes, TellAdministratorsAndBrokers) {
  EXPECT_TRUE(scope("*").is_superuser());
  EXPECT_TRUE(scope("ns:a:r *:*:*").is_superuser());
  EXPECT_FALSE(scope("*:*").is_superuser());
  EXPECT_FALSE(scope("*:rw").is_superuser());
  EXPECT_TRUE(scope("*").is_broker());
  EXPECT_TRUE(scope("broker *:r").is_broker());
  EXPECT_FALSE(scope("*:rw").is_broker());
  EXPECT_TRUE(scope("").empty());
  EXPECT_TRUE(scope("catalog").empty());
  EXPECT_TRUE(ScopeSet().empty());
}

TEST(Scopes, KnowWhatLiesBelow) {
  const ScopeSet some = scope("ns:a%1Fb:r ns:c:w");
  EXPECT_EQ(some.rights_at_or_below({}), Right::kReadWrite);
  EXPECT_EQ(some.rights_at_or_below({"a"}), Right::kRead);
  EXPECT_EQ(some.rights_at_or_below({"a", "b"}), Right::kRead);
  EXPECT_EQ(some.rights_at_or_below({"a", "b", "c"}), Right::kNone);
  EXPECT_EQ(some.rights_at_or_below({"c"}), Right::kWrite);
  EXPECT_EQ(some.rights_everywhere(), Right::kNone);
}

TEST(Scopes, NarrowToWhatBothAllow) {
  struct Case {
    std::string_view a, b, both;
  };
  const Case cases[] = {
      {"*", "*", "*:*:*"},
      {"*", "ns:a:r broker", "broker ns:a:r"},
      {"*:rw", "*", "*:rw"},
      {"*:r", "*:w", ""},
      {"*:r", "ns:a:rw", "ns:a:r"},
      {"*:r ns:a:w", "ns:a:rw ns:b:rw", "ns:a:rw ns:b:r"},
      {"ns:a:r", "ns:b:r", ""},
      {"broker", "broker", "broker"},
      {"*:r", "*:r ns:a:w", "*:r"},
      {"*:r ns:a:w", "*:r ns:a:w", "*:r ns:a:w"},
      {"", "*", ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(scope(c.a).narrowed_by(scope(c.b)), scope(c.both)) << c.a << " / " << c.b;
    EXPECT_EQ(scope(c.b).narrowed_by(scope(c.a)), scope(c.both)) << c.b << " / " << c.a;
  }
}

TEST(Scopes, SurviveTheirText) {
  for (const std::string_view text :
       {"*", "*:r", "broker ns:a:r", "ns:%2A:w", "ns:a%20%3A%25%22%5C%1F%C3%A4:rw", ""}) {
    EXPECT_EQ(scope(scope(text).to_text()), scope(text)) << text;
  }
  const Levels odd = {"a b", "%:\"\\", "\xC3\xA4\x01"};
  EXPECT_EQ(rights(scope("ns:" + escape_scope_name(odd) + ":r"), odd), "r");
  EXPECT_EQ(rights(scope("ns:" + escape_scope_name({"*"}) + ":r"), {"a"}), "-");
}

TEST(Scopes, AreBounded) {
  EXPECT_FALSE(ScopeSet::parse(std::string(ScopeSet::kMaxBytes + 1, 'a')).has_value());
  std::string many;
  for (std::size_t i = 0; i <= ScopeSet::kMaxWords; ++i) many += "a ";
  EXPECT_FALSE(ScopeSet::parse(many).has_value());
}

}  // namespace
}  // namespace duckicelake::auth
