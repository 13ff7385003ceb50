// SPDX-License-Identifier: Apache-2.0
#include "sign/bucket_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duckicelake::sign {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSid = "Duckicelake0a1b";

BucketPolicyOptions options(DenyForm deny = DenyForm::kOthers) {
  BucketPolicyOptions out;
  out.bucket = "lake";
  out.sid = kSid;
  out.deny = deny;
  return out;
}

KeyGrant reader(std::string principal = "arn:aws:iam::1:user/ann") {
  KeyGrant out;
  out.principal = std::move(principal);
  out.scope.read_prefixes = {"data/s/orders/"};
  return out;
}

KeyGrant writer() {
  KeyGrant out = reader("arn:aws:iam::1:user/wim");
  out.scope.read_prefixes.push_back("data-iceberg/lake/u/");
  out.scope.write_prefixes = {"data/s/orders/"};
  return out;
}

std::vector<std::string> statements(const std::vector<KeyGrant>& grants,
                                    const BucketPolicyOptions& how = options()) {
  auto out = key_statements(grants, how);
  EXPECT_TRUE(out.has_value()) << out.error().to_string();
  return out ? *out : std::vector<std::string>();
}

Code code_of(const std::vector<KeyGrant>& grants, const BucketPolicyOptions& how = options()) {
  auto out = key_statements(grants, how);
  EXPECT_FALSE(out.has_value());
  return out ? Code::kInternal : out.error().code();
}

std::string joined(const std::vector<std::string>& all) {
  return fmt::format("{}", fmt::join(all, "\n"));
}

std::string ours_in(std::string_view policy, const std::vector<std::string>& ours) {
  auto out = merge_statements(policy, ours, kSid);
  return out ? *out : out.error().to_string();
}

TEST(BucketPolicy, ReadersMayReadAndListTheirPrefixesAndAreDeniedTheRest) {
  const std::vector<std::string> all = statements({reader()});
  ASSERT_EQ(all.size(), 7U);
  const std::string who = R"("Principal":{"AWS":["arn:aws:iam::1:user/ann"]},)";
  EXPECT_EQ(all[0], R"({"Sid":"Duckicelake0a1bRead1","Effect":"Allow",)" + who +
                        R"("Action":["s3:GetObject"],)"
                        R"("Resource":["arn:aws:s3:::lake/data/s/orders/*"]})");
  EXPECT_EQ(all[1], R"({"Sid":"Duckicelake0a1bList1","Effect":"Allow",)" + who +
                        R"("Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::lake"],)"
                        R"("Condition":{"StringLike":{"s3:prefix":["data/s/orders/*"]}}})");
  EXPECT_EQ(all[2], R"({"Sid":"Duckicelake0a1bOthers1","Effect":"Deny",)" + who +
                        R"("Action":["s3:*"],"NotResource":["arn:aws:s3:::lake/data/s/orders/*",)"
                        R"("arn:aws:s3:::lake"]})");
  EXPECT_EQ(all[3], R"({"Sid":"Duckicelake0a1bOtherLists1","Effect":"Deny",)" + who +
                        R"("Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::lake"],)"
                        R"("Condition":{"StringNotLike":{"s3:prefix":["data/s/orders/*"]}}})");
  EXPECT_EQ(all[4], R"({"Sid":"Duckicelake0a1bWrites1","Effect":"Deny",)" + who +
                        R"("Action":["s3:PutObject","s3:AbortMultipartUpload"],)"
                        R"("Resource":["arn:aws:s3:::lake/*"]})");
}

TEST(BucketPolicy, WritersPutBelowWhatIsTheirsToWriteOnly) {
  const std::string text = joined(statements({writer()}));
  EXPECT_THAT(text, HasSubstr(R"("Action":["s3:PutObject","s3:AbortMultipartUpload",)"
                              R"("s3:ListMultipartUploadParts"],)"
                              R"("Resource":["arn:aws:s3:::lake/data/s/orders/*"])"));
  EXPECT_THAT(text, HasSubstr(R"("Action":["s3:PutObject","s3:AbortMultipartUpload"],)"
                              R"("NotResource":["arn:aws:s3:::lake/data/s/orders/*"])"));
}

TEST(BucketPolicy, NobodyDeletesOrChangesThePolicyInEitherForm) {
  for (const DenyForm form : {DenyForm::kOthers, DenyForm::kActions}) {
    const std::string text = joined(statements({reader(), writer()}, options(form)));
    EXPECT_THAT(text, HasSubstr(R"("Sid":"Duckicelake0a1bNever","Effect":"Deny","Principal":)"
                                R"({"AWS":["arn:aws:iam::1:user/ann","arn:aws:iam::1:user/wim"]},)"
                                R"("Action":["s3:Delete*","s3:GetObjectVersion*")"));
    EXPECT_THAT(text, HasSubstr(R"("s3:PutBucket*")"));
  }
}

TEST(BucketPolicy, StoresWithoutNotResourceGetNone) {
  const std::string text = joined(statements({reader(), writer()}, options(DenyForm::kActions)));
  EXPECT_THAT(text, Not(HasSubstr("NotResource")));
  EXPECT_THAT(text, Not(HasSubstr("StringNotLike")));
}

TEST(BucketPolicy, AllowsNoActionByPattern) {
  for (const std::string& one : statements({reader(), writer()})) {
    if (one.find(R"("Effect":"Allow")") == std::string::npos) continue;
    EXPECT_THAT(one.substr(0, one.find(R"("Resource")")), Not(HasSubstr("*"))) << one;
    EXPECT_THAT(one, Not(HasSubstr("NotResource")));
  }
}

TEST(BucketPolicy, WhoMaySeeNothingIsDeniedEverything) {
  KeyGrant nobody;
  nobody.principal = "arn:aws:iam::1:user/nil";
  EXPECT_THAT(
      joined(statements({nobody})),
      HasSubstr(R"("Action":["s3:*"],"Resource":["arn:aws:s3:::lake","arn:aws:s3:::lake/*"])"));
  EXPECT_THAT(joined(statements({nobody}, options(DenyForm::kActions))), Not(HasSubstr("Allow")));
}

TEST(BucketPolicy, EqualRightsShareStatementsInAnyOrder) {
  const auto all = statements({reader("b"), reader("a")});
  EXPECT_EQ(all, statements({reader("a"), reader("b")}));
  EXPECT_EQ(all.size(), 7U);
  EXPECT_THAT(all[0], HasSubstr(R"("AWS":["a","b"])"));
}

TEST(BucketPolicy, NamesThatAStoreCouldTakeForAPatternAreRefused) {
  for (const char* name : {"*", "", "arn:aws:iam::1:user/*", "a?", "${aws:username}", "a b", "a\"b",
                           "a\\b", "a\nb", "\xC3\xA4"}) {
    EXPECT_EQ(code_of({reader(name)}), Code::kInvalidArgument) << name;
  }
  for (const char* prefix : {"data/*/", "data/?/", "data/${x}/", "data", "/", "a//b/", "../a/"}) {
    KeyGrant grant = reader();
    grant.scope.read_prefixes = {prefix};
    EXPECT_EQ(code_of({grant}), Code::kInvalidArgument) << prefix;
  }
  BucketPolicyOptions aws = options();
  aws.wildcards = Wildcards::kEscape;
  KeyGrant grant = reader();
  grant.scope.read_prefixes = {"data/a*b/"};
  EXPECT_THAT(joined(statements({grant}, aws)), HasSubstr("lake/data/a${*}b/*"));
}

TEST(BucketPolicy, AUserHasOneGrant) {
  EXPECT_EQ(code_of({reader("a"), reader("a")}), Code::kInvalidArgument);
}

TEST(BucketPolicy, OurStatementsTakeThePlaceOfOursAndLeaveOthers) {
  const auto ours = statements({reader()});
  const std::string fresh = ours_in("", ours);
  EXPECT_EQ(ours_in(fresh, ours), fresh);
  const std::string with_others =
      R"({"Version":"2012-10-17","Id":"x","Statement":[{"Sid":"Theirs","Effect":"Deny",)"
      R"("Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::lake/z/*",)"
      R"("Condition":{"Bool":{"aws:SecureTransport":false}}},)"
      R"({"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"r"},)"
      R"({"Sid":"Duckicelake0a1bOld","Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"r"},)"
      R"({"Sid":"Duckicelakeffff1","Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"q"}]})";
  const std::string merged = ours_in(with_others, ours);
  EXPECT_THAT(merged, HasSubstr(R"("Sid":"Theirs")"));
  EXPECT_THAT(merged, HasSubstr(R"({"Effect":"Allow","Principal":"*")"));
  EXPECT_THAT(merged, HasSubstr("Duckicelakeffff1"));
  EXPECT_THAT(merged, HasSubstr(R"("Id":"x")"));
  EXPECT_THAT(merged, Not(HasSubstr("0a1bOld")));
  EXPECT_EQ(ours_in(merged, ours), merged);
  const std::string emptied = ours_in(merged, {});
  EXPECT_THAT(emptied, HasSubstr("Theirs"));
  EXPECT_THAT(emptied, Not(HasSubstr("0a1b")));
  EXPECT_EQ(ours_in(fresh, {}), "");
}

TEST(BucketPolicy, ASingleStatementWithoutAListIsKept) {
  const std::string policy =
      R"({"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"r"}})";
  EXPECT_THAT(ours_in(policy, statements({reader()})), HasSubstr(R"("Resource":"r"})"));
}

TEST(BucketPolicy, WhatCannotBeKeptAsItIsMeantIsNotTouched) {
  const std::string body =
      R"("Statement":[{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"r"}]})";
  for (const std::string& policy :
       {R"({"Version":"2008-10-17",)" + body, "{" + body, std::string("{}"), std::string("[]"),
        std::string("no json"), std::string(R"({"Version":"2012-10-17","Statement":["x"]})"),
        std::string(R"({"Version":"2012-10-17","Statement":7})")}) {
    const auto merged = merge_statements(policy, statements({reader()}), kSid);
    ASSERT_FALSE(merged.has_value()) << policy;
    EXPECT_EQ(merged.error().code(), Code::kUnsupported) << policy;
  }
}

TEST(BucketPolicy, TooLargeIsSaidAndNothingIsLeftOut) {
  KeyGrant grant = reader();
  for (int i = 0; i < 200; ++i) grant.scope.read_prefixes.push_back(fmt::format("data/s/t{}/", i));
  const auto merged = merge_statements("", statements({grant}), kSid);
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().code(), Code::kPayloadTooLarge);
  EXPECT_THAT(merged.error().message(), HasSubstr("20480"));
}

TEST(BucketPolicy, AStoreMayWriteTheSameInItsOwnWay) {
  const auto ours = statements({reader()}, options(DenyForm::kActions));
  std::string policy = ours_in("", ours);
  const auto has = [&](const std::string& text) {
    return has_statements(text, ours, kSid).value();
  };
  EXPECT_TRUE(has(policy));
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string out = policy;
    out.replace(out.find(from), from.size(), to);
    return out;
  };
  // One element alone, other orders.
  EXPECT_TRUE(has(replaced(R"(["s3:GetObject"])", R"("s3:GetObject")")));
  EXPECT_TRUE(has(replaced(R"(["arn:aws:iam::1:user/ann"])", R"("arn:aws:iam::1:user/ann")")));
  EXPECT_FALSE(has(replaced("orders", "others")));
  EXPECT_FALSE(has(replaced("Allow", "Deny")));
  EXPECT_FALSE(has(""));
  EXPECT_TRUE(has_statements("", {}, kSid).value());
  EXPECT_FALSE(has_statements("nonsense", ours, kSid).has_value());
}

}  // namespace
}  // namespace duckicelake::sign
