// SPDX-License-Identifier: Apache-2.0
#include "translate/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duckicelake::translate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TimelineFile file(FileKey key, std::int64_t begin, std::int64_t end = kNever) {
  TimelineFile out;
  out.key = key;
  out.begin = begin;
  out.end = end;
  return out;
}

TEST(Timeline, AddsAndRemovesAtTheSnapshotsThatDidIt) {
  const std::vector<std::int64_t> chain = {3, 5, 9};
  const std::vector<TimelineFile> files = {file(1, 3), file(2, 5, 9)};
  auto steps = build_timeline(chain, files);
  EXPECT_THAT(steps[0].added, ElementsAre(0));
  EXPECT_THAT(steps[1].added, ElementsAre(1));
  EXPECT_THAT(steps[2].removed, ElementsAre(1));
}

TEST(Timeline, ChangesOfExpiredSnapshotsFallToTheNextOne) {
  const std::vector<std::int64_t> chain = {9};
  const std::vector<TimelineFile> files = {file(1, 3), file(2, 5, 7)};
  auto steps = build_timeline(chain, files);
  EXPECT_THAT(steps[0].added, ElementsAre(0))
      << "a file that came and went in between is shown by nobody";
  EXPECT_THAT(steps[0].removed, IsEmpty());
}

TEST(Timeline, TakesRetiredFilesOutOfTheHeadAtTheFirstSnapshot) {
  const std::vector<std::int64_t> chain = {8, 9};
  TimelineFile retired = file(1, 2, kAlways);
  retired.is_in_head = true;
  auto steps = build_timeline(chain, std::vector<TimelineFile>{retired});
  EXPECT_THAT(steps[0].removed, ElementsAre(0));
  EXPECT_THAT(steps[1].removed, IsEmpty());
}

TEST(Timeline, LooksAtDeletesWhereTheyChange) {
  const std::vector<std::int64_t> chain = {4, 6, 8, 10};
  TimelineFile partial = file(1, 4, 10);
  partial.hidden = {{5, 3, kAlways, 6}, {0, 1, 8, kNever}};
  auto steps = build_timeline(chain, std::vector<TimelineFile>{partial});
  EXPECT_THAT(steps[0].maybe_deletes, ElementsAre(0));
  EXPECT_THAT(steps[1].maybe_deletes, ElementsAre(0));
  EXPECT_THAT(steps[2].maybe_deletes, ElementsAre(0));
  EXPECT_THAT(steps[3].maybe_deletes, IsEmpty()) << "not live any more";
  EXPECT_THAT(positions_at(partial.hidden, 4), ElementsAre(5, 6, 7));
  EXPECT_THAT(positions_at(partial.hidden, 6), IsEmpty());
  EXPECT_THAT(positions_at(partial.hidden, 9), ElementsAre(0));
}

TEST(Timeline, PositionsAreSortedAndUnique) {
  const std::vector<HiddenRun> runs = {{7, 2, 1, kNever}, {3, 1, 1, kNever}, {8, 1, 2, kNever}};
  EXPECT_THAT(positions_at(runs, 2), ElementsAre(3, 7, 8));
}

}  // namespace
}  // namespace duckicelake::translate
