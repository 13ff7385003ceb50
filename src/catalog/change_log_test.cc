// SPDX-License-Identifier: Apache-2.0
#include "catalog/change_log.h"

#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

using Reach = ChangeLog::Reach;

SnapshotId snapshot(std::int64_t id) { return SnapshotId(id); }

TEST(ChangeLog, BeginsAtTheFirstHead) {
  ChangeLog log;
  EXPECT_EQ(log.watched(), snapshot(-1));
  EXPECT_EQ(log.see(snapshot(7), log.watched()), Reach::kKnown);
  EXPECT_EQ(log.watched(), snapshot(7));
  // Whatever was before may have changed at the begin.
  EXPECT_EQ(log.last_change(TableId(1)), snapshot(7));
  EXPECT_EQ(log.last_name_change(), snapshot(7));
}

TEST(ChangeLog, KeepsTheNewestChangeOfEachTableAndOfNames) {
  ChangeLog log;
  log.see(snapshot(1), log.watched());
  EXPECT_EQ(log.see(snapshot(5), log.watched()), Reach::kBehind);
  ASSERT_TRUE(log.take_in({{snapshot(2), "inserted_into_table:1"},
                           {snapshot(3), R"(created_table:"main"."t")"},
                           {snapshot(4), "altered_table:2,deleted_from_table:1"},
                           {snapshot(5), ""}}));
  EXPECT_EQ(log.watched(), snapshot(5));
  EXPECT_EQ(log.last_change(TableId(1)), snapshot(4));
  EXPECT_EQ(log.last_change(TableId(2)), snapshot(4));
  EXPECT_EQ(log.last_change(TableId(3)), snapshot(1));
  EXPECT_EQ(log.last_name_change(), snapshot(3));
  EXPECT_EQ(log.see(snapshot(5), log.watched()), Reach::kKnown);
}

TEST(ChangeLog, TakesReadsInAnyOrder) {
  ChangeLog log;
  log.see(snapshot(1), log.watched());
  // Two reads begin; the one that saw more is done first.
  EXPECT_EQ(log.see(snapshot(3), snapshot(1)), Reach::kBehind);
  ASSERT_TRUE(log.take_in(
      {{snapshot(2), "inserted_into_table:1"}, {snapshot(3), "inserted_into_table:1"}}));
  EXPECT_EQ(log.see(snapshot(2), snapshot(1)), Reach::kKnown);
  ASSERT_TRUE(log.take_in({{snapshot(2), "inserted_into_table:1"}}));
  EXPECT_EQ(log.watched(), snapshot(3));
  EXPECT_EQ(log.last_change(TableId(1)), snapshot(3));
}

TEST(ChangeLog, BeginsAnewForALakeThatWasSetBack) {
  ChangeLog log;
  log.see(snapshot(1), log.watched());
  log.see(snapshot(9), snapshot(1));
  ASSERT_TRUE(log.take_in({{snapshot(9), "inserted_into_table:1"}}));
  EXPECT_EQ(log.see(snapshot(4), snapshot(9)), Reach::kKnown);
  EXPECT_EQ(log.watched(), snapshot(4));
  EXPECT_EQ(log.last_change(TableId(1)), snapshot(4));
  EXPECT_EQ(log.last_name_change(), snapshot(4));
}

TEST(ChangeLog, StopsAtWordsThatItCannotRead) {
  ChangeLog log;
  log.see(snapshot(1), log.watched());
  const Status taken = log.take_in({{snapshot(2), "inserted_into_table:1"},
                                    {snapshot(3), "inserted_into_table:x"},
                                    {snapshot(4), "inserted_into_table:1"}});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), Code::kCorruptData);
  EXPECT_EQ(log.watched(), snapshot(2));
}

}  // namespace
}  // namespace duckicelake::catalog
