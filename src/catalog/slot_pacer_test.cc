// SPDX-License-Identifier: Apache-2.0
#include "catalog/slot_pacer.h"

#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

using std::chrono::milliseconds;
const SlotPacer::Clock::time_point kStart{std::chrono::seconds(1000)};

TEST(SlotPacer, DoesNotHoldBackWhenNobodyElseWrites) {
  SlotPacer pacer;
  for (int i = 0; i < 100; ++i) {
    const auto now = kStart + milliseconds(i);
    EXPECT_EQ(pacer.admit(now), now);
    pacer.note(SnapshotId(7), now);  // an old one: nobody is at work
  }
}

TEST(SlotPacer, LeavesPausesWhileOthersWrite) {
  SlotPacer pacer;
  pacer.note(SnapshotId(7), kStart);
  pacer.note(SnapshotId(9), kStart);
  EXPECT_EQ(pacer.admit(kStart), kStart);
  EXPECT_EQ(pacer.admit(kStart + milliseconds(29)), kStart + milliseconds(29));
  // The window is over: both wait for the next one.
  EXPECT_EQ(pacer.admit(kStart + milliseconds(31)), kStart + milliseconds(90));
  EXPECT_EQ(pacer.admit(kStart + milliseconds(40)), kStart + milliseconds(90));
  EXPECT_EQ(pacer.admit(kStart + milliseconds(95)), kStart + milliseconds(95));
}

TEST(SlotPacer, LeavesAWholePauseAfterACommitThatOutlastsItsWindow) {
  SlotPacer pacer;
  pacer.note(SnapshotId(7), kStart);
  pacer.note(SnapshotId(9), kStart);
  EXPECT_EQ(pacer.admit(kStart), kStart);
  pacer.released(kStart + milliseconds(20));  // within the window, which stays open
  EXPECT_EQ(pacer.admit(kStart + milliseconds(25)), kStart + milliseconds(25));
  pacer.released(kStart + milliseconds(200));
  EXPECT_EQ(pacer.admit(kStart + milliseconds(201)), kStart + milliseconds(260));
  // One that began before the next window was given away does not move it.
  pacer.released(kStart + milliseconds(220));
  EXPECT_EQ(pacer.admit(kStart + milliseconds(230)), kStart + milliseconds(260));
}

TEST(SlotPacer, ForgetsOthersAfterAWhile) {
  SlotPacer pacer;
  pacer.note(SnapshotId(7), kStart);
  pacer.note(SnapshotId(9), kStart);
  EXPECT_EQ(pacer.admit(kStart), kStart);
  const auto later = kStart + SlotPacer::kMemory + milliseconds(1);
  EXPECT_EQ(pacer.admit(later), later);
  EXPECT_EQ(pacer.admit(later + milliseconds(50)), later + milliseconds(50));
}

}  // namespace
}  // namespace duckicelake::catalog
