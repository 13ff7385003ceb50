// SPDX-License-Identifier: Apache-2.0
#include "catalog/sign_request.h"

#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

using sign::S3Verb;

StorageScope own_scope() {
  StorageScope scope;
  scope.bucket = "lake";
  scope.location = "data/s/orders/";
  scope.prefixes = {"data/s/orders/", "data-iceberg/lake/uuid/"};
  scope.keys = {"landing/day/1.parquet"};
  return scope;
}

sign::S3Operation operation(S3Verb verb, std::string key, std::optional<std::string> source = {}) {
  return {verb, "lake", std::move(key), std::move(source)};
}

// "yes", "no" or "look".
std::string answer(const StorageScope& scope, StorageRight right, const sign::S3Operation& one) {
  const std::optional<Status> out = check_in_scope(scope, right, one);
  if (!out) return "look";
  if (!*out) {
    EXPECT_EQ(out->error().code(), Code::kPermissionDenied);
  }
  return *out ? "yes" : "no";
}

TEST(CheckInScope, ReadsWhatIsTheTables) {
  const StorageScope scope = own_scope();
  for (const S3Verb verb : {S3Verb::kGet, S3Verb::kHead}) {
    for (const auto& [key, expected] : std::initializer_list<std::pair<const char*, const char*>>{
             {"data/s/orders/f", "yes"},
             {"data/s/orders/metadata/v1.metadata.json", "yes"},
             {"data-iceberg/lake/uuid/f", "yes"},
             {"landing/day/1.parquet", "yes"},
             {"landing/day/2.parquet", "no"},
             {"landing/day/1.parquet2", "no"},
             {"data/s/orders2/f", "no"},
             {"data/s/orders", "no"},
             {"data/s/Orders/f", "no"},
             {"data/f", "no"}}) {
      EXPECT_EQ(answer(scope, StorageRight::kRead, operation(verb, key)), expected) << key;
    }
  }
}

TEST(CheckInScope, ListsFoldersOfItsOwn) {
  StorageScope scope = own_scope();
  const auto list = [&](const char* prefix) {
    return answer(scope, StorageRight::kRead, operation(S3Verb::kList, prefix));
  };
  EXPECT_EQ(list("data/s/orders/"), "yes");
  EXPECT_EQ(list("data/s/orders/da"), "yes");
  EXPECT_EQ(list("data/s/orders"), "no");
  EXPECT_EQ(list("data/s/"), "no");
  EXPECT_EQ(list("landing/day/"), "no");
  scope.prefixes = {"data-iceberg/lake/uuid/"};  // the location is shared
  EXPECT_EQ(list("data/s/orders/"), "no");
}

TEST(CheckInScope, WritesBelowTheLocationOnlyAndWithTheRight) {
  const StorageScope scope = own_scope();
  for (const S3Verb verb : {S3Verb::kPut, S3Verb::kStartUpload, S3Verb::kPutPart,
                            S3Verb::kFinishUpload, S3Verb::kAbortUpload, S3Verb::kListParts}) {
    EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(verb, "data/s/orders/f")), "yes");
    EXPECT_EQ(answer(scope, StorageRight::kRead, operation(verb, "data/s/orders/f")), "no");
    EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(verb, "data-iceberg/lake/uuid/f")),
              "no");
    EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(verb, "landing/day/1.parquet")), "no");
    EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(verb, "data/s/orders2/f")), "no");
  }
}

TEST(CheckInScope, CopiesFromItsOwnObjects) {
  const StorageScope scope = own_scope();
  for (const S3Verb verb : {S3Verb::kCopy, S3Verb::kCopyPart}) {
    const auto copy = [&](const char* source, StorageRight right = StorageRight::kWrite) {
      return answer(scope, right, operation(verb, "data/s/orders/f", source));
    };
    EXPECT_EQ(copy("data/s/orders/g"), "yes");
    EXPECT_EQ(copy("landing/day/1.parquet"), "yes");
    EXPECT_EQ(copy("data/s/orders2/g"), "no");
    EXPECT_EQ(copy("data/s/orders/g", StorageRight::kRead), "no");
  }
}

TEST(CheckInScope, LooksWhereItDoesNotKnowAllObjects) {
  StorageScope scope = own_scope();
  scope.has_all_keys = false;
  const auto get = operation(S3Verb::kGet, "landing/day/2.parquet");
  EXPECT_EQ(answer(scope, StorageRight::kRead, get), "look");
  EXPECT_EQ(answer(scope, StorageRight::kWrite,
                   operation(S3Verb::kCopy, "data/s/orders/f", "landing/day/2.parquet")),
            "look");
  scope = own_scope();
  scope.is_location_shared = true;
  EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(S3Verb::kPut, "data/s/orders/f")),
            "look");
  EXPECT_EQ(answer(scope, StorageRight::kRead, operation(S3Verb::kPut, "data/s/orders/f")), "no");
}

TEST(CheckInScope, NeverDeletesAndKeepsToItsBucket) {
  const StorageScope scope = own_scope();
  EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(S3Verb::kDelete, "data/s/orders/f")),
            "no");
  EXPECT_EQ(answer(scope, StorageRight::kWrite, operation(S3Verb::kDeleteMany, "")), "no");
  sign::S3Operation other = operation(S3Verb::kGet, "data/s/orders/f");
  other.bucket = "other";
  EXPECT_EQ(answer(scope, StorageRight::kRead, other), "no");
}

TEST(SessionScope, GivesWritersTheirLocationUnlessItIsShared) {
  StorageScope scope = own_scope();
  auto reader = session_scope(scope, StorageRight::kRead);
  ASSERT_TRUE(reader.has_value());
  EXPECT_TRUE(reader->write_prefixes.empty());
  EXPECT_EQ(reader->read_keys, std::vector<std::string>{"landing/day/1.parquet"});
  EXPECT_TRUE(reader->wider_prefixes.empty());
  auto writer = session_scope(scope, StorageRight::kWrite);
  ASSERT_TRUE(writer.has_value());
  EXPECT_EQ(writer->write_prefixes, std::vector<std::string>{"data/s/orders/"});
  scope.is_location_shared = true;
  EXPECT_FALSE(session_scope(scope, StorageRight::kWrite).has_value());
  EXPECT_TRUE(session_scope(scope, StorageRight::kRead).has_value());
}

TEST(SessionScope, WidensOnlyWhereFoldersHoldAllAndAreItsOwn) {
  StorageScope scope = own_scope();
  scope.has_all_keys = false;
  EXPECT_FALSE(session_scope(scope, StorageRight::kRead).has_value());
  scope.wider = {"data/x/"};
  EXPECT_FALSE(session_scope(scope, StorageRight::kRead).has_value());
  scope.does_wider_hold_all = true;
  auto wide = session_scope(scope, StorageRight::kRead);
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(wide->read_prefixes.back(), "data/x/");
}

TEST(StorageScope, RoutesClientsByFolders) {
  const std::vector<std::string> expected = {"s3://lake/data-iceberg/lake/uuid/",
                                             "s3://lake/data/s/orders/", "s3://lake/landing/day/"};
  EXPECT_EQ(own_scope().routes(), expected);
}

}  // namespace
}  // namespace duckicelake::catalog
