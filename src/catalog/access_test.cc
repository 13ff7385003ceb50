// SPDX-License-Identifier: Apache-2.0
#include "catalog/access.h"

#include <gtest/gtest.h>

#include "catalog/failure_limit.h"
#include "catalog/issuer_keys.h"

namespace duckicelake::catalog {
namespace {

using store::ObjectKind;
using Roles = std::vector<std::string>;
using Ids = std::vector<std::int64_t>;

ObjectRef table_in(std::int64_t schema, std::int64_t table) {
  ObjectRef out;
  out.schema = SchemaId(schema);
  out.table = TableId(table);
  out.name = "ns.t";
  out.levels = {"ns"};
  return out;
}
ObjectRef schema(std::int64_t id) {
  ObjectRef out;
  out.schema = SchemaId(id);
  out.name = "ns";
  out.levels = {"ns"};
  return out;
}

std::shared_ptr<const Access> access_of(std::vector<store::ObjectGrant> grants) {
  store::AccessRules rules;
  rules.version = 7;
  rules.role_grants = {{"b", "ann"}, {"a", "ann"}, {"a", "bob"}};
  rules.object_grants = std::move(grants);
  return std::make_shared<const Access>(std::move(rules));
}

Caller caller_of(std::string_view scope, Roles roles, std::shared_ptr<const Access> access) {
  auto subject = std::make_shared<Subject>();
  subject->id = "ann";
  subject->scopes = auth::ScopeSet::parse(scope).value();
  Caller out;
  out.principal.id = "ann";
  out.principal.is_authenticated = true;
  out.principal.subject = subject;
  out.principal.held_roles = std::make_shared<const Roles>(std::move(roles));
  out.access = std::move(access);
  return out;
}

TEST(Access, RolesAreThoseOfThePrincipal) {
  const auto access = access_of({});
  EXPECT_EQ(access->roles_of("ann"), (Roles{"a", "b"}));
  EXPECT_EQ(access->roles_of("bob"), (Roles{"a"}));
  EXPECT_TRUE(access->roles_of("eve").empty());
  EXPECT_FALSE(access->has_object_grants());
}

TEST(Access, AnObjectIsHiddenOnceSelectIsGrantedToOthers) {
  const auto access = access_of({{ObjectKind::kTable, 1, "select", "r"},
                                 {ObjectKind::kTable, 2, "modify", "m"},
                                 {ObjectKind::kTable, 3, "select", "r"},
                                 {ObjectKind::kTable, 3, "modify", "m"},
                                 {ObjectKind::kSchema, 20, "select", "s"},
                                 {ObjectKind::kTable, 4, "select", "r"},
                                 {ObjectKind::kView, 1, "select", "v"}});
  struct Case {
    Roles roles;
    std::int64_t schema, table;
    bool sees, modifies;
  };
  const Case cases[] = {
      {{}, 10, 9, true, true},     {{}, 10, 1, false, true},
      {{"r"}, 10, 1, true, true},  {{"x"}, 10, 1, false, true},
      {{}, 10, 2, true, false},    {{"m"}, 10, 2, true, true},
      {{"r"}, 10, 3, true, false}, {{"m"}, 10, 3, true, true},
      {{}, 20, 9, false, true},    {{"s"}, 20, 9, true, true},
      {{"s"}, 20, 4, true, true},  {{"r"}, 20, 4, true, true},
      {{"r"}, 20, 9, false, true}, {{"a", "r", "z"}, 10, 1, true, true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(access->sees(c.roles, table_in(c.schema, c.table)), c.sees) << c.schema << c.table;
    EXPECT_EQ(access->may_modify(c.roles, table_in(c.schema, c.table)), c.modifies)
        << c.schema << " " << c.table;
  }
  EXPECT_TRUE(access->sees({}, ObjectRef{}));
  EXPECT_EQ(access->hidden({}, ObjectKind::kTable), (Ids{1, 3, 4}));
  EXPECT_EQ(access->hidden({"r"}, ObjectKind::kTable), Ids{});
  EXPECT_EQ(access->hidden({"r"}, ObjectKind::kView), Ids{1});
  EXPECT_EQ(access->hidden_in({"s"}, SchemaId(20), ObjectKind::kTable), Ids{});
  EXPECT_TRUE(access->hides_schema({}, SchemaId(20)));
  EXPECT_FALSE(access->hides_schema({"s"}, SchemaId(20)));
}

TEST(Authorize, DecidesByScopeThenByGrants) {
  using enum Decision::Verdict;
  const auto open = access_of({});
  const auto hiding =
      access_of({{ObjectKind::kTable, 1, "select", "r"}, {ObjectKind::kTable, 2, "modify", "m"}});
  struct Case {
    std::string_view scope;
    Roles roles;
    Action action;
    ObjectRef object;
    Decision::Verdict verdict;
  };
  const Case cases[] = {
      {"ns:ns:r", {}, Action::kLoadTable, table_in(10, 9), kAllow},
      {"ns:ns:w", {}, Action::kLoadTable, table_in(10, 9), kDeny},
      {"ns:other:rw", {}, Action::kLoadTable, table_in(10, 9), kDeny},
      {"ns:ns:r", {}, Action::kCommitTable, table_in(10, 9), kDeny},
      {"ns:ns:r", {}, Action::kReadTableData, table_in(10, 9), kAllow},
      {"ns:ns:r", {}, Action::kWriteTableData, table_in(10, 9), kDeny},
      {"ns:ns:w", {}, Action::kWriteTableData, table_in(10, 9), kAllow},
      {"ns:ns:rw", {}, Action::kMaintainTable, ObjectRef{}, kDeny},
      {"*:rw", {}, Action::kMaintainTable, ObjectRef{}, kAllow},
      {"ns:ns:r", {}, Action::kListNamespaces, ObjectRef{}, kAllow},
      {"", {}, Action::kListNamespaces, ObjectRef{}, kDeny},
      {"*:rw", {}, Action::kChangeAccess, ObjectRef{}, kDeny},
      {"*", {}, Action::kChangeAccess, ObjectRef{}, kAllow},
      {"*:rw", {}, Action::kLoadTable, table_in(10, 1), kHide},
      {"*:rw", {"r"}, Action::kLoadTable, table_in(10, 1), kAllow},
      {"ns:other:r", {"r"}, Action::kLoadTable, table_in(10, 1), kDeny},
      {"*:rw", {}, Action::kCommitTable, table_in(10, 2), kDeny},
      {"*:rw", {}, Action::kWriteTableData, table_in(10, 2), kDeny},
      {"*:rw", {}, Action::kReadTableData, table_in(10, 2), kAllow},
      {"*", {}, Action::kLoadTable, table_in(10, 1), kAllow},
      {"*:r", {}, Action::kReadNamespace, schema(10), kAllow},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(
        authorize(AuthMode::kOn, caller_of(c.scope, c.roles, hiding), c.action, c.object).verdict,
        c.verdict)
        << c.scope << " " << rule_of(c.action).operation << " " << c.object.name;
  }
  EXPECT_EQ(
      authorize(AuthMode::kOn, caller_of("*:rw", {}, open), Action::kLoadTable, table_in(10, 1))
          .verdict,
      kAllow);
}

TEST(Authorize, FailsClosed) {
  using enum Decision::Verdict;
  const ObjectRef object = table_in(10, 9);
  EXPECT_EQ(authorize(AuthMode::kOn, Caller{}, Action::kLoadTable, object).verdict, kDeny);
  Caller without_rules = caller_of("*:rw", {}, nullptr);
  EXPECT_EQ(authorize(AuthMode::kOn, without_rules, Action::kLoadTable, object).verdict, kDeny);
  Caller without_subject;
  without_subject.principal.is_authenticated = true;
  EXPECT_EQ(authorize(AuthMode::kOn, without_subject, Action::kLoadTable, object).verdict, kDeny);
  EXPECT_EQ(Decision{}.verdict, kDeny);
  EXPECT_EQ(authorize(AuthMode::kOff, Caller{}, Action::kChangeAccess, object).verdict, kAllow);
  Caller named;
  named.principal.is_named = true;
  EXPECT_EQ(authorize(AuthMode::kOff, named, Action::kLoadTable, object).verdict, kDeny);
}

TEST(Authorize, ASuperuserWhoNamesSomebodyIsBoundLikeHim) {
  const auto hiding = access_of({{ObjectKind::kTable, 1, "select", "r"}});
  Caller caller = caller_of("*", {}, hiding);
  caller.principal.is_named = true;
  EXPECT_EQ(authorize(AuthMode::kOn, caller, Action::kLoadTable, table_in(10, 1)).verdict,
            Decision::Verdict::kHide);
}

TEST(Authorize, WhatIsHiddenDoesNotExist) {
  const Decision hidden{Decision::Verdict::kHide, "x"};
  EXPECT_EQ(denied(hidden, table_in(1, 2)).code(), Code::kNoSuchTable);
  EXPECT_EQ(denied(hidden, table_in(1, 2)).message(), "Table does not exist: ns.t");
  EXPECT_EQ(denied(hidden, schema(1)).message(), "Namespace does not exist: ns");
  const Error error = denied({Decision::Verdict::kDeny, "the reason"}, table_in(1, 2));
  EXPECT_EQ(error.code(), Code::kPermissionDenied);
  EXPECT_EQ(error.message().find("the reason"), std::string::npos) << "reasons are for the record";
}

TEST(FailureLimit, LetsABurstThroughAndThenSlowsDown) {
  FailureLimit limit(3, 10);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(limit.wait_seconds("k", 100), 0) << i;
    limit.note_failure("k", 100);
  }
  EXPECT_NEAR(limit.wait_seconds("k", 100), 10, 0.01);
  EXPECT_EQ(limit.wait_seconds("other", 100), 0);
  EXPECT_EQ(limit.wait_seconds("k", 110), 0);
  for (int i = 0; i < 100; ++i) limit.note_failure("k", 110);
  EXPECT_LE(limit.wait_seconds("k", 110), 40) << "nobody is locked out for ever";
}

TEST(FailureLimit, IsBounded) {
  FailureLimit limit(3, 10);
  for (std::size_t i = 0; i < 2 * FailureLimit::kMaxKeys; ++i) {
    limit.note_failure("k" + std::to_string(i), 1);
  }
  EXPECT_EQ(limit.wait_seconds("k0", 1), 0);
}

TEST(IssuerKeys, AreFetchedOnceAndAgainForNewOnes) {
  int fetches = 0;
  bool is_away = false;
  auth::ExternalIssuer issuer;
  issuer.issuer = "https://idp.example";
  IssuerKeys keys(issuer, [&](const std::string& url) -> Result<std::string> {
    ++fetches;
    if (is_away) return Error(Code::kUnavailable, "away");
    if (url == "https://idp.example/.well-known/openid-configuration") {
      return std::string(R"({"issuer":"https://idp.example","jwks_uri":"https://idp.example/k"})");
    }
    return std::string(R"({"keys":[]})");
  });
  EXPECT_TRUE(keys.known(std::nullopt, 1000).wants_fetch);
  ASSERT_TRUE(keys.fetch("k", 1000).has_value());
  EXPECT_EQ(fetches, 2);
  ASSERT_TRUE(keys.fetch(std::nullopt, 1000 + IssuerKeys::kRefreshSeconds - 1).has_value());
  EXPECT_EQ(fetches, 2);
  EXPECT_FALSE(keys.known("new", 1000 + IssuerKeys::kRetrySeconds - 1).wants_fetch)
      << "not at once";
  EXPECT_TRUE(keys.known("new", 1000 + IssuerKeys::kRetrySeconds).wants_fetch);
  is_away = true;
  EXPECT_TRUE(keys.fetch(std::nullopt, 1000 + IssuerKeys::kRefreshSeconds).has_value())
      << "the known keys serve while the issuer is away";
  EXPECT_EQ(keys.fetch(std::nullopt, 1000 + IssuerKeys::kUsableSeconds).error().code(),
            Code::kUnavailable);
  EXPECT_EQ(keys.known(std::nullopt, 1000 + IssuerKeys::kUsableSeconds).keys, nullptr);
}

}  // namespace
}  // namespace duckicelake::catalog
