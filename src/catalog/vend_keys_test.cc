// SPDX-License-Identifier: Apache-2.0
#include "catalog/vend_keys.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace duckicelake::catalog {
namespace {

using std::chrono::seconds;
const std::chrono::sys_seconds kNow{seconds(1'700'000'000)};

VendedKeyCache::Made keys(std::string access_key, seconds life = seconds(3600)) {
  auto out = std::make_shared<VendedKeys>();
  out->access_key = std::move(access_key);
  out->made = kNow;
  out->expiration = kNow + life;
  return std::shared_ptr<const VendedKeys>(std::move(out));
}

TEST(VendedKeyCache, HandsKeysOutAgainUntilHalfOfTheirLife) {
  VendedKeyCache cache(10);
  EXPECT_EQ(cache.find("p", kNow), nullptr);
  ASSERT_TRUE(cache.find_or_make("p", kNow, [] { return keys("A"); }));
  ASSERT_NE(cache.find("p", kNow + seconds(1799)), nullptr);
  EXPECT_EQ(cache.find("p", kNow + seconds(1799))->access_key, "A");
  EXPECT_EQ(cache.find("p", kNow + seconds(1800)), nullptr);
  EXPECT_EQ((*cache.find_or_make("p", kNow + seconds(1800), [] { return keys("B"); }))->access_key,
            "B");
}

TEST(VendedKeyCache, TellsPurposesApart) {
  VendedKeyCache cache(10);
  ASSERT_TRUE(cache.find_or_make("alice", kNow, [] { return keys("A"); }));
  EXPECT_EQ(cache.find("bob", kNow), nullptr);
  EXPECT_EQ(cache.find("alic", kNow), nullptr);
}

TEST(VendedKeyCache, KeepsNoFailures) {
  VendedKeyCache cache(10);
  const auto failed = cache.find_or_make(
      "p", kNow, []() -> VendedKeyCache::Made { return Error(Code::kUnavailable, "away"); });
  EXPECT_FALSE(failed.has_value());
  EXPECT_TRUE(cache.find_or_make("p", kNow, [] { return keys("A"); }).has_value());
}

TEST(VendedKeyCache, IsBoundedAndForgetsTheLeastRecentlyUsed) {
  VendedKeyCache cache(2);
  for (const char* purpose : {"a", "b"}) {
    ASSERT_TRUE(cache.find_or_make(purpose, kNow, [&] { return keys(purpose); }));
  }
  ASSERT_NE(cache.find("a", kNow), nullptr);
  ASSERT_TRUE(cache.find_or_make("c", kNow, [] { return keys("c"); }));
  EXPECT_NE(cache.find("a", kNow), nullptr);
  EXPECT_EQ(cache.find("b", kNow), nullptr);
  EXPECT_EQ(cache.counters().entries, 2U);
}

TEST(VendedKeyCache, MakesKeysOnceForAllThatWait) {
  VendedKeyCache cache(10);
  std::atomic<int> made{0};
  std::latch begun(1), released(1);
  const auto make = [&] {
    ++made;
    begun.count_down();
    released.wait();
    return keys("A");
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(cache.find_or_make("p", kNow, make)); });
  begun.wait();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto got = cache.find_or_make("p", kNow, make);
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ((*got)->access_key, "A");
    });
  }
  while (cache.counters().misses < 5) std::this_thread::yield();
  released.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace duckicelake::catalog
