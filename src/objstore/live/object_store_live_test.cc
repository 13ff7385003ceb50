// SPDX-License-Identifier: Apache-2.0
// Against a real store, which the environment names: DUCKICELAKE_TEST_S3_ENDPOINT, _KEY, _SECRET,
// _BUCKET (or the server's own DUCKICELAKE_S3_ENDPOINT, _ROOT_KEY, _ROOT_SECRET, _BUCKET), and for
// STS DUCKICELAKE_STS_ENDPOINT and _STS_ROLE_ARN. Without them every test fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "objstore/s3_object_store.h"
#include "objstore/sts.h"
#include "objstore/testing/object_store_contract.h"

namespace duckicelake::objstore {
namespace {

std::string setting(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) return value;
  }
  return {};
}

S3Config live_config() {
  S3Config config;
  config.endpoint = setting({"DUCKICELAKE_TEST_S3_ENDPOINT", "DUCKICELAKE_S3_ENDPOINT"});
  config.access_key = setting({"DUCKICELAKE_TEST_S3_KEY", "DUCKICELAKE_S3_ROOT_KEY"});
  config.secret_key = Secret(setting({"DUCKICELAKE_TEST_S3_SECRET", "DUCKICELAKE_S3_ROOT_SECRET"}));
  config.bucket = setting({"DUCKICELAKE_TEST_S3_BUCKET", "DUCKICELAKE_S3_BUCKET"});
  return config;
}

class LiveStore : public testing::Test {
 protected:
  void SetUp() override {
    auto made = S3ObjectStore::make(live_config());
    ASSERT_TRUE(made.has_value()) << "no object store in the environment: "
                                  << made.error().to_string();
    store_ = std::move(*made);
    prefix_ = fmt::format("objstore-live/{}-{:08x}/", ::getpid(), std::random_device{}());
  }

  std::unique_ptr<S3ObjectStore> store_;
  std::string prefix_;
};

TEST_F(LiveStore, RoundTripsAwkwardKeys) { contract::round_trips_awkward_keys(*store_, prefix_); }
TEST_F(LiveStore, KeepsBytesAndBounds) { contract::keeps_bytes_and_bounds(*store_, prefix_); }
TEST_F(LiveStore, TellsAbsence) { contract::tells_absence(*store_, prefix_); }
TEST_F(LiveStore, CreatesExclusively) { contract::creates_exclusively(*store_, prefix_); }
TEST_F(LiveStore, WorksInBulk) { contract::works_in_bulk(*store_, prefix_); }
TEST_F(LiveStore, MovesFiles) { contract::moves_files(*store_, prefix_); }
TEST_F(LiveStore, RefusesForeignLocations) { contract::refuses_foreign_locations(*store_); }

TEST_F(LiveStore, KnowsItsBucket) {
  auto state = store_->check_bucket();
  ASSERT_TRUE(state.has_value()) << state.error().to_string();
  EXPECT_TRUE(state->exists);
  EXPECT_FALSE(store_->create_bucket().has_value()) << "it is there already";

  S3Config config = live_config();
  config.bucket = "no-such-bucket-here";
  auto other = std::move(*S3ObjectStore::make(config));
  auto absent = other->check_bucket();
  EXPECT_TRUE(!absent.has_value() || !absent->exists);
  EXPECT_FALSE(other->get("x", 10).has_value());
  EXPECT_FALSE(other->list("", "").has_value());
}

TEST_F(LiveStore, HidesWhyAccessWasRefused) {
  S3Config config = live_config();
  config.secret_key = Secret("wrong-secret");
  auto stranger = std::move(*S3ObjectStore::make(config));
  auto got = stranger->get(prefix_ + "x", 10);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code(), Code::kInternal);
  EXPECT_EQ(got.error().to_string().find("wrong-secret"), std::string::npos);
  EXPECT_EQ(got.error().to_string().find(config.access_key), std::string::npos);
  EXPECT_EQ(got.error().message(), "the object store refused the server's access");
  EXPECT_EQ(stranger->counters().of(Operation::kGet, Outcome::kDenied), 1U);
}

TEST_F(LiveStore, StoresALargeFileInPartsAndLeavesNothingWhenRefused) {
  S3Config config = live_config();
  config.multipart_threshold = 6U << 20;
  config.part_size = 5U << 20;
  auto store = std::move(*S3ObjectStore::make(config));
  const std::string from = testing::TempDir() + "/live-large-" + std::to_string(::getpid());
  const std::string to = from + "-to";
  std::string bytes;
  for (int i = 0; bytes.size() < (12U << 20); ++i) bytes.append(100, static_cast<char>(i * 37));
  std::ofstream(from, std::ios::binary) << bytes;
  const std::string key = prefix_ + "large + %.parquet";
  PutOptions once;
  once.if_none_match_any = true;
  Status put = store->put_file(key, from, once);
  ASSERT_TRUE(put.has_value()) << put.error().to_string();
  EXPECT_EQ((*store->head(key))->size, bytes.size());
  ASSERT_TRUE(store->get_file(key, to).has_value());
  EXPECT_TRUE(contract::read_file(to) == bytes);
  EXPECT_EQ(*store->get_range(key, {(5U << 20) - 3, 7}), bytes.substr((5U << 20) - 3, 7));
  Status again = store->put_file(key, from, once);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code(), Code::kAlreadyExists) << again.error().to_string();
  EXPECT_EQ(list_all(*store, prefix_, 10)->size(), 1U);
  EXPECT_TRUE(store->remove(key).has_value());
  ::unlink(from.c_str());
  ::unlink(to.c_str());
}

TEST_F(LiveStore, StoresHundredsOfObjectsOverFewConnections) {
  std::vector<PutObject> objects;
  std::vector<GetObject> requests;
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) {
    keys.push_back(fmt::format("{}{:04}", prefix_, i));
    objects.push_back({keys.back(), std::string(2000, static_cast<char>('a' + i % 26)), {}});
    requests.push_back({keys.back(), 2000});
  }
  auto timed = [](const char* what, auto work) {
    auto begin = std::chrono::steady_clock::now();
    auto out = work();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%s of 500 objects: %.0f ms\n", what, took.count());
    return out;
  };
  for (auto& s : timed("put_many", [&] { return store_->put_many(objects); })) {
    ASSERT_TRUE(s.has_value()) << s.error().to_string();
  }
  for (auto& r : timed("get_many", [&] { return store_->get_many(requests); })) {
    ASSERT_TRUE(r.has_value()) << r.error().to_string();
  }
  EXPECT_EQ(list_all(*store_, prefix_, 1000)->size(), 500U);
  for (auto& s : timed("remove_many", [&] { return store_->remove_many(keys); })) {
    ASSERT_TRUE(s.has_value()) << s.error().to_string();
  }
  Counters counters = store_->counters();
  EXPECT_EQ(counters.of(Operation::kPut, Outcome::kOk), 500U);
  EXPECT_GE(counters.bytes_out, 500U * 2000);
  EXPECT_GE(counters.bytes_in, 500U * 2000);
  EXPECT_LE(counters.connections, 40U) << "connections must be kept alive";
}

TEST_F(LiveStore, AssumesARoleThatReachesOnlyItsPrefix) {
  S3Config config = live_config();
  StsConfig sts_config;
  sts_config.endpoint = setting({"DUCKICELAKE_TEST_STS_ENDPOINT", "DUCKICELAKE_STS_ENDPOINT"});
  sts_config.region = config.region;
  sts_config.access_key = config.access_key;
  sts_config.secret_key = config.secret_key;
  auto sts = StsClient::make(sts_config);
  ASSERT_TRUE(sts.has_value()) << "no STS in the environment: " << sts.error().to_string();
  AssumeRoleRequest request;
  request.role_arn = setting({"DUCKICELAKE_TEST_STS_ROLE_ARN", "DUCKICELAKE_STS_ROLE_ARN"});
  request.session_name = "live-test";
  request.duration = std::chrono::seconds(900);
  request.session_policy = fmt::format(
      R"({{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":["s3:GetObject"],)"
      R"("Resource":["arn:aws:s3:::{}/{}in/*"]}}]}})",
      config.bucket, prefix_);
  auto role = (*sts)->assume_role(request);
  ASSERT_TRUE(role.has_value()) << role.error().to_string();
  auto left = role->expiration - std::chrono::system_clock::now();
  EXPECT_GT(left, std::chrono::seconds(800));
  EXPECT_LT(left, std::chrono::seconds(1000));

  ASSERT_TRUE(store_->put(prefix_ + "in/a b", "inside", {}).has_value());
  ASSERT_TRUE(store_->put(prefix_ + "out/a", "outside", {}).has_value());
  config.access_key = role->access_key;
  config.secret_key = role->secret_key;
  config.session_token = role->session_token;
  auto session = std::move(*S3ObjectStore::make(config));
  auto inside = session->get(prefix_ + "in/a b", 100);
  ASSERT_TRUE(inside.has_value()) << inside.error().to_string();
  EXPECT_EQ(*inside, "inside");
  EXPECT_EQ(session->get(prefix_ + "out/a", 100).error().code(), Code::kInternal);
  EXPECT_EQ(session->put(prefix_ + "in/c", "x", {}).error().code(), Code::kInternal);
  store_->remove_many({prefix_ + "in/a b", prefix_ + "out/a"});

  request.session_policy.assign(R"({"Version":)");
  EXPECT_EQ((*sts)->assume_role(request).error().code(), Code::kInvalidArgument);
  request.session_policy.clear();
  request.role_arn += "-unknown";
  EXPECT_EQ((*sts)->assume_role(request).error().code(), Code::kInternal);
}

}  // namespace
}  // namespace duckicelake::objstore
