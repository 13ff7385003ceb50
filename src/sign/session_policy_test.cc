// SPDX-License-Identifier: Apache-2.0
#include "sign/session_policy.h"

#include <gtest/gtest.h>

namespace duckicelake::sign {
namespace {

SessionScope table_scope() {
  SessionScope scope;
  scope.bucket = "lake";
  scope.read_prefixes = {"data/s/orders/"};
  return scope;
}

std::string text_of(const SessionScope& scope, const PolicyOptions& options = {}) {
  auto policy = session_policy(scope, options);
  return policy ? policy->text : policy.error().to_string();
}

Code code_of(const SessionScope& scope, const PolicyOptions& options = {}) {
  auto policy = session_policy(scope, options);
  EXPECT_FALSE(policy.has_value()) << policy->text;
  return policy ? Code::kInternal : policy.error().code();
}

TEST(SessionPolicy, ReadersMayReadAndListTheirPrefixAndNothingElse) {
  EXPECT_EQ(text_of(table_scope()),
            R"({"Version":"2012-10-17","Statement":[)"
            R"({"Effect":"Allow","Action":["s3:GetObject"],)"
            R"("Resource":["arn:aws:s3:::lake/data/s/orders/*"]},)"
            R"({"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::lake"],)"
            R"("Condition":{"StringLike":{"s3:prefix":["data/s/orders/*"]}}}]})");
}

TEST(SessionPolicy, WritersPutAndNeverDelete) {
  SessionScope scope = table_scope();
  scope.write_prefixes = {"data/s/orders/"};
  const std::string text = text_of(scope);
  EXPECT_NE(text.find(R"({"Effect":"Allow","Action":["s3:PutObject","s3:AbortMultipartUpload",)"
                      R"("s3:ListMultipartUploadParts"],)"
                      R"("Resource":["arn:aws:s3:::lake/data/s/orders/*"]})"),
            std::string::npos)
      << text;
  for (const char* action : {"Delete", "Acl", "GetObjectVersion", "s3:Get*", "Tagging", "Policy"}) {
    EXPECT_EQ(text.find(action), std::string::npos) << action;
  }
}

TEST(SessionPolicy, AllowsNoActionByPattern) {
  SessionScope scope = table_scope();
  scope.write_prefixes = {"data/s/orders/"};
  EXPECT_EQ(text_of(scope).find("s3:*"), std::string::npos);
}

TEST(SessionPolicy, DeniesAllActionsOnWhatIsDenied) {
  SessionScope scope = table_scope();
  scope.read_prefixes.push_back("data/s/other/");
  scope.denied_prefixes = {"data/s/orders/secret/"};
  const std::string text = text_of(scope);
  EXPECT_NE(text.find(R"({"Effect":"Deny","Action":["s3:*"],)"
                      R"("Resource":["arn:aws:s3:::lake/data/s/orders/secret/*"]})"),
            std::string::npos)
      << text;
  // Listing above the denied prefix would show its names; beside it, it is allowed.
  EXPECT_NE(text.find(R"("Condition":{"StringLike":{"s3:prefix":["data/s/other/*"]}}})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"Effect":"Deny","Action":["s3:ListBucket"],)"), std::string::npos);
}

TEST(SessionPolicy, PrefixesEndInASlashSoThatSiblingsStayClosed) {
  for (const char* prefix : {"data/s/orders", "data/s/order", "", "/", "//", "data//", "/data/"}) {
    SessionScope scope = table_scope();
    scope.read_prefixes = {prefix};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << prefix;
    scope = table_scope();
    scope.write_prefixes = {prefix};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << prefix;
    scope = table_scope();
    scope.denied_prefixes = {prefix};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << prefix;
  }
}

TEST(SessionPolicy, RefusesWildcardsWhereTheStoreKnowsNoEscape) {
  for (const char* name : {"*", "f*.t1", "?", "a?b", "${aws:username}", "$", "a$b", "${*}"}) {
    SessionScope scope = table_scope();
    scope.read_prefixes = {std::string("data/s/") + name + "/"};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << name;
    scope = table_scope();
    scope.read_keys = {std::string("data/x/") + name};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << name;
    // A Deny that is not what it looks like is no Deny.
    scope = table_scope();
    scope.denied_prefixes = {std::string("data/s/") + name + "/"};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << name;
  }
}

TEST(SessionPolicy, EscapesWildcardsAsAwsReadsThem) {
  SessionScope scope = table_scope();
  scope.read_prefixes = {"d/*/", "d/a?/", "d/${aws:username}/"};
  PolicyOptions options;
  options.wildcards = Wildcards::kEscape;
  const std::string text = text_of(scope, options);
  EXPECT_NE(text.find(R"("Resource":["arn:aws:s3:::lake/d/${$}{aws:username}/*",)"
                      R"("arn:aws:s3:::lake/d/${*}/*","arn:aws:s3:::lake/d/a${?}/*"])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("s3:prefix":["d/${$}{aws:username}/*","d/${*}/*","d/a${?}/*"])"),
            std::string::npos)
      << text;
}

TEST(SessionPolicy, WritesNamesSoThatTheyStayInsideTheirString) {
  SessionScope scope = table_scope();
  scope.read_prefixes = {R"(d/a"],"Action":["s3:x/)", "d/\xC3\xBC/", "d/\xF0\x9F\xA6\x86/"};
  const std::string text = text_of(scope);
  EXPECT_NE(text.find(R"(lake/d/a\"],\"Action\":[\"s3:x/*")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(lake/d/\u00fc/*")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(lake/d/\ud83e\udd86/*")"), std::string::npos) << text;
  for (char c : text) {
    EXPECT_LT(static_cast<unsigned char>(c), 0x7F);
  }
}

TEST(SessionPolicy, RefusesNamesThatStoresReadInTwoWays) {
  const std::string nul("a\0b", 3);
  for (const std::string& name :
       {std::string("a\\b"), std::string("a\nb"), std::string("a\x7F"), nul, std::string(".."),
        std::string("."), std::string("a/../b"), std::string("a//b"), std::string("\xFF"),
        std::string("\xED\xA0\x80"), std::string(1024, 'x')}) {
    SessionScope scope = table_scope();
    scope.read_prefixes = {"d/" + name + "/"};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << name;
    scope = table_scope();
    scope.read_keys = {"d/" + name + "/k"};
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << name;
  }
}

TEST(SessionPolicy, RefusesABucketOrPartitionThatIsNone) {
  for (const char* bucket : {"", "ab", "*", "a/b", "lake/*", "a\"b", "${x}"}) {
    SessionScope scope = table_scope();
    scope.bucket = bucket;
    EXPECT_EQ(code_of(scope), Code::kInvalidArgument) << bucket;
  }
  PolicyOptions options;
  options.partition = "aws:s3";
  EXPECT_EQ(code_of(table_scope(), options), Code::kInvalidArgument);
}

TEST(SessionPolicy, AllowingNothingIsNoPolicy) {
  SessionScope scope;
  scope.bucket = "lake";
  EXPECT_EQ(code_of(scope), Code::kInvalidArgument);
  scope.denied_prefixes = {"data/"};
  EXPECT_EQ(code_of(scope), Code::kInvalidArgument);
}

TEST(SessionPolicy, IsTheSameForTheSameScopeInAnyOrder) {
  SessionScope a = table_scope(), b = table_scope();
  a.read_prefixes = {"x/a/", "x/b/", "x/a/", "x/a/c/"};
  b.read_prefixes = {"x/b/", "x/a/"};
  a.read_keys = {"k/2", "k/1", "x/a/3"};
  b.read_keys = {"k/1", "k/2", "k/1"};
  EXPECT_EQ(text_of(a), text_of(b));
}

TEST(SessionPolicy, NamesExactKeysWhereAFolderIsShared) {
  SessionScope scope = table_scope();
  scope.read_keys = {"shared/f1.parquet"};
  const std::string text = text_of(scope);
  EXPECT_NE(text.find(R"("arn:aws:s3:::lake/shared/f1.parquet"])"), std::string::npos) << text;
  EXPECT_EQ(text.find("shared/*"), std::string::npos);
}

TEST(SessionPolicy, WidensToPrefixesWhenKeysDoNotFitAndMayBeWidened) {
  SessionScope scope = table_scope();
  scope.denied_prefixes = {"landing/secret/"};
  for (int i = 0; i < 200; ++i) {
    scope.read_keys.push_back(fmt::format("landing/day/{:04}.parquet", i));
  }
  EXPECT_EQ(code_of(scope), Code::kPayloadTooLarge);  // nothing may stand for them
  scope.wider_prefixes = {"landing/day/"};
  auto policy = session_policy(scope, {});
  ASSERT_TRUE(policy.has_value()) << policy.error().to_string();
  EXPECT_TRUE(policy->is_widened);
  EXPECT_LE(policy->text.size(), 2048U);
  EXPECT_NE(policy->text.find("landing/day/*"), std::string::npos);
  // What is denied stays so, whatever else changes.
  EXPECT_NE(policy->text.find(R"("Deny","Action":["s3:*"])"), std::string::npos);
}

TEST(SessionPolicy, KeepsKeysThatNoWiderPrefixHolds) {
  SessionScope scope = table_scope();
  scope.read_keys = {"landing/day/1", "elsewhere/2"};
  scope.wider_prefixes = {"landing/day/"};
  PolicyOptions options;
  options.prefers_wider = true;
  auto policy = session_policy(scope, options);
  ASSERT_TRUE(policy.has_value());
  EXPECT_NE(policy->text.find(R"(lake/elsewhere/2")"), std::string::npos) << policy->text;
  EXPECT_EQ(policy->text.find(R"(lake/landing/day/1")"), std::string::npos) << policy->text;
}

TEST(SessionPolicy, FailsClosedWhenEvenPrefixesOrDenialsDoNotFit) {
  SessionScope scope = table_scope();
  for (int i = 0; i < 60; ++i) {
    scope.denied_prefixes.push_back(fmt::format("data/s/orders/secret-{:04}/", i));
  }
  EXPECT_EQ(code_of(scope), Code::kPayloadTooLarge);
  scope = table_scope();
  scope.read_prefixes.clear();
  for (int i = 0; i < 100; ++i) scope.read_prefixes.push_back(fmt::format("data/{:020}/", i));
  EXPECT_EQ(code_of(scope), Code::kPayloadTooLarge);
}

TEST(SessionPolicy, CountsEscapesAsTheyAreSent) {
  SessionScope scope = table_scope();
  std::string name;
  for (int i = 0; i < 120; ++i) name.append("\xC3\xBC");  // 240 bytes, 720 as escapes, twice
  scope.read_prefixes = {"d/" + name + "/"};
  auto policy = session_policy(scope, {});
  ASSERT_TRUE(policy.has_value());
  EXPECT_GT(policy->text.size(), 1440U);
  PolicyOptions options;
  options.max_bytes = policy->text.size() - 1;
  EXPECT_EQ(code_of(scope, options), Code::kPayloadTooLarge);
  options.max_bytes = policy->text.size();
  EXPECT_TRUE(session_policy(scope, options).has_value());
}

}  // namespace
}  // namespace duckicelake::sign
