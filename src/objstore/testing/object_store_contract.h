// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "objstore/object_store.h"

// What every ObjectStore must do, run against the real adapter and the fake. Each check works below
// its own `prefix` ("some/dir/"), which must be empty before, and leaves nothing.
namespace duckicelake::objstore::contract {

// Keys that need care in URLs, XML or shells. All are valid on S3.
inline std::vector<std::string> awkward_keys(const std::string& prefix) {
  std::vector<std::string> out;
  for (const char* tail : {"plain",
                           "with space",
                           "plus+sign",
                           "percent%20",
                           "percent%",
                           "%2F",
                           "question?x=1",
                           "hash#frag",
                           "amp&lt;<tag>",
                           "quote\"'",
                           "semi;colon:",
                           "comma,at@",
                           "brackets[](){}",
                           "tilde~*!",
                           "equals==",
                           "dollar$^`|",
                           "umlaut-\xc3\xa4\xc3\xb6",
                           "umlaut-decomposed-a\xcc\x88",
                           "\xe6\x97\xa5\xe6\x9c\xac/\xe1\x88\xb4",
                           "emoji-\xf0\x9f\x98\x80",
                           "ns=1/year=2026/part-0.parquet",
                           ".hidden",
                           "trailing.",
                           "a b/c+d/e%2Bf",
                           " leading and trailing "}) {
    out.push_back(prefix + tail);
  }
  return out;
}

inline void round_trips_awkward_keys(ObjectStore& store, const std::string& prefix) {
  std::vector<std::string> keys = awkward_keys(prefix);
  for (const std::string& key : keys) {
    Status put = store.put(key, "bytes of " + key, {});
    ASSERT_TRUE(put.has_value()) << key << ": " << put.error().to_string();
  }
  for (const std::string& key : keys) {
    auto got = store.get(key, 1000);
    ASSERT_TRUE(got.has_value()) << key << ": " << got.error().to_string();
    EXPECT_EQ(*got, "bytes of " + key);
    auto head = store.head(key);
    ASSERT_TRUE(head.has_value() && head->has_value()) << key;
    EXPECT_EQ((*head)->size, got->size()) << key;
    EXPECT_EQ((*head)->key, key);
    EXPECT_EQ(*store.key_of(store.uri_of(key)), key);
  }
  auto listed = list_all(store, prefix, 1000);
  ASSERT_TRUE(listed.has_value()) << listed.error().to_string();
  std::vector<std::string> found;
  for (const ObjectInfo& object : *listed) found.push_back(object.key);
  std::sort(found.begin(), found.end());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(found, keys);
  for (const Status& removed : store.remove_many(keys)) {
    EXPECT_TRUE(removed.has_value()) << removed.error().to_string();
  }
  listed = list_all(store, prefix, 1000);
  ASSERT_TRUE(listed.has_value());
  EXPECT_TRUE(listed->empty());
}

inline void keeps_bytes_and_bounds(ObjectStore& store, const std::string& prefix) {
  std::string bytes;
  for (int i = 0; i < 70000; ++i) bytes.push_back(static_cast<char>(i * 31));
  const std::string key = prefix + "bytes";
  ASSERT_TRUE(store.put(key, bytes, {}).has_value());
  EXPECT_EQ(*store.get(key, bytes.size()), bytes);
  EXPECT_EQ(store.get(key, bytes.size() - 1).error().code(), Code::kPayloadTooLarge);
  EXPECT_EQ(*store.get_range(key, {10, 100}), bytes.substr(10, 100));
  EXPECT_EQ(*store.get_range(key, {69990, 100}), bytes.substr(69990));
  EXPECT_EQ(*store.get_range(key, {0, 1}), bytes.substr(0, 1));
  EXPECT_EQ(store.get_range(key, {70000, 1}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store.get_range(key, {0, 0}).error().code(), Code::kInvalidArgument);
  ASSERT_TRUE(store.put(key, "", {}).has_value());
  EXPECT_EQ(*store.get(key, 0), "");
  EXPECT_EQ((*store.head(key))->size, 0U);
  EXPECT_TRUE(store.remove(key).has_value());
}

inline void tells_absence(ObjectStore& store, const std::string& prefix) {
  const std::string key = prefix + "absent";
  EXPECT_EQ(store.get(key, 10).error().code(), Code::kNotFound);
  EXPECT_EQ(store.get_range(key, {0, 10}).error().code(), Code::kNotFound);
  EXPECT_EQ(store.get_file(key, testing::TempDir() + "/absent").error().code(), Code::kNotFound);
  auto head = store.head(key);
  ASSERT_TRUE(head.has_value()) << head.error().to_string();
  EXPECT_FALSE(head->has_value());
  EXPECT_TRUE(store.remove(key).has_value()) << "an absent object counts as removed";
  for (const Status& removed : store.remove_many({key, key + "2"})) {
    EXPECT_TRUE(removed.has_value()) << removed.error().to_string();
  }
  EXPECT_EQ(store.get("", 10).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store.put(std::string(1025, 'k'), "", {}).error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(store.remove_many({}).empty());
  EXPECT_TRUE(store.put_many({}).empty());
}

inline void creates_exclusively(ObjectStore& store, const std::string& prefix) {
  PutOptions once;
  once.if_none_match_any = true;
  for (int round = 0; round < 2; ++round) {
    const std::string key = prefix + "once-" + std::to_string(round);
    std::atomic<int> winner{-1};
    std::atomic<int> wins{0};
    std::atomic<int> others{0};
    std::vector<std::thread> writers;
    for (int w = 0; w < 8; ++w) {
      writers.emplace_back([&, w] {
        Status put = store.put(key, "writer " + std::to_string(w), once);
        if (put.has_value()) {
          winner = w;
          ++wins;
        } else if (put.error().code() != Code::kAlreadyExists) {
          ADD_FAILURE() << put.error().to_string();
          ++others;
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(wins, 1) << "round " << round;
    EXPECT_EQ(others, 0);
    EXPECT_EQ(*store.get(key, 100), "writer " + std::to_string(winner));
    EXPECT_EQ(store.put(key, "late", once).error().code(), Code::kAlreadyExists);
    EXPECT_TRUE(store.put(key, "overwritten", {}).has_value());
    EXPECT_TRUE(store.remove(key).has_value());
  }
}

inline void works_in_bulk(ObjectStore& store, const std::string& prefix) {
  std::vector<PutObject> objects;
  std::vector<GetObject> requests;
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) {
    std::string key = fmt::format("{}bulk/{:03}", prefix, i);
    objects.push_back({key, "object " + std::to_string(i), {}});
    requests.push_back({key, 100});
    keys.push_back(key);
  }
  objects.push_back({"", "no key", {}});
  std::vector<Status> put = store.put_many(objects);
  ASSERT_EQ(put.size(), objects.size());
  for (std::size_t i = 0; i < 60; ++i) EXPECT_TRUE(put[i].has_value()) << keys[i];
  EXPECT_EQ(put.back().error().code(), Code::kInvalidArgument);

  requests.push_back({prefix + "bulk/absent", 100});
  requests.push_back({keys[0], 1});
  auto got = store.get_many(requests);
  ASSERT_EQ(got.size(), requests.size());
  for (std::size_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(got[i].has_value()) << keys[i] << ": " << got[i].error().to_string();
    EXPECT_EQ(*got[i], objects[i].bytes);
  }
  EXPECT_EQ(got[60].error().code(), Code::kNotFound);
  EXPECT_EQ(got[61].error().code(), Code::kPayloadTooLarge);

  // Pages: every key exactly once, none of the sibling prefix.
  ASSERT_TRUE(store.put(prefix + "bulk-sibling", "x", {}).has_value());
  std::vector<std::string> found;
  std::string continuation;
  for (int pages = 0; pages < 20; ++pages) {
    auto page = store.list(prefix + "bulk/", continuation, 7);
    ASSERT_TRUE(page.has_value()) << page.error().to_string();
    EXPECT_LE(page->objects.size(), 7U);
    for (const ObjectInfo& object : page->objects) found.push_back(object.key);
    if (!page->continuation.has_value()) break;
    continuation = *page->continuation;
  }
  EXPECT_EQ(found, keys);
  EXPECT_EQ(list_all(store, prefix + "bulk/", 59).error().code(), Code::kPayloadTooLarge);

  keys.push_back(prefix + "bulk-sibling");
  for (const Status& removed : store.remove_many(keys)) {
    EXPECT_TRUE(removed.has_value());
  }
  EXPECT_TRUE(list_all(store, prefix, 10)->empty());
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void moves_files(ObjectStore& store, const std::string& prefix) {
  const std::string from = testing::TempDir() + "/contract-from-" + std::to_string(::getpid());
  const std::string to = from + "-to";
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 256));
  std::ofstream(from, std::ios::binary) << bytes;
  PutOptions once;
  once.if_none_match_any = true;
  const std::string key = prefix + "file +%.parquet";
  Status put = store.put_file(key, from, once);
  ASSERT_TRUE(put.has_value()) << put.error().to_string();
  EXPECT_EQ(store.put_file(key, from, once).error().code(), Code::kAlreadyExists);
  ASSERT_TRUE(store.get_file(key, to).has_value());
  EXPECT_EQ(read_file(to), bytes);
  EXPECT_EQ(store.put_file(key, from + "-absent", {}).error().code(), Code::kInternal);
  EXPECT_TRUE(store.remove(key).has_value());
  ::unlink(from.c_str());
  ::unlink(to.c_str());
}

inline void refuses_foreign_locations(ObjectStore& store) {
  const std::string& bucket = store.bucket();
  EXPECT_EQ(*store.key_of("s3://" + bucket + "/a%20b/ c+?#"), "a%20b/ c+?#");
  EXPECT_EQ(*store.key_of("s3a://" + bucket + "//x"), "/x");
  EXPECT_EQ(*store.key_of("s3n://" + bucket + "/x/../y"), "x/../y");
  for (const std::string& bad : std::vector<std::string>{
           "s3://other/x", "s3://" + bucket, "s3://" + bucket + "/", "S3://" + bucket + "/x",
           "gs://" + bucket + "/x", "s3:///x", "x/y", "", "s3://" + bucket + "2/x",
           "s3:/" + bucket + "/x", bucket + "/x", "file:///s3://" + bucket + "/x"}) {
    auto key = store.key_of(bad);
    ASSERT_FALSE(key.has_value()) << bad;
    EXPECT_EQ(key.error().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace duckicelake::objstore::contract
