// SPDX-License-Identifier: Apache-2.0
#include "objstore/memory_object_store.h"

#include <gtest/gtest.h>

#include "objstore/testing/object_store_contract.h"

namespace duckicelake::objstore {
namespace {

TEST(MemoryStore, KeepsTheContract) {
  MemoryObjectStore store("lake");
  contract::round_trips_awkward_keys(store, "t/a/");
  contract::keeps_bytes_and_bounds(store, "t/b/");
  contract::tells_absence(store, "t/c/");
  contract::creates_exclusively(store, "t/d/");
  contract::works_in_bulk(store, "t/e/");
  contract::moves_files(store, "t/f/");
  contract::refuses_foreign_locations(store);
}

TEST(MemoryStore, FailsWhereItIsTold) {
  MemoryObjectStore store("lake");
  store.fail_with = [](std::string_view operation, std::string_view key) -> Status {
    if (operation == "put" && key == "b") return Error(Code::kUnavailable, "away");
    return {};
  };
  auto put = store.put_many({{"a", "1", {}}, {"b", "2", {}}});
  EXPECT_TRUE(put[0].has_value());
  EXPECT_EQ(put[1].error().code(), Code::kUnavailable);
  EXPECT_FALSE(store.head("b")->has_value());
}

TEST(ListAll, RefusesAListingThatDoesNotAdvance) {
  struct Stuck : MemoryObjectStore {
    using MemoryObjectStore::MemoryObjectStore;
    Result<ListPage> list(std::string_view, std::string_view, std::size_t) override {
      return ListPage{{}, "same"};
    }
  } store("lake");
  EXPECT_EQ(list_all(store, "", 10).error().code(), Code::kCorruptData);
}

}  // namespace
}  // namespace duckicelake::objstore
