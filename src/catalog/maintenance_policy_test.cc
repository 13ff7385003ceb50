// SPDX-License-Identifier: Apache-2.0
#include "catalog/maintenance_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kNow = 1'000'000'000;

// Snapshots 1 to `count`, each the parent of the next, the newest made at kNow - 1 and the others
// 1000 ms earlier each.
ProjectionState chain(std::int64_t count) {
  ProjectionState state;
  for (std::int64_t id = 1; id <= count; ++id) {
    SnapshotRecord record;
    record.id = id;
    if (id > 1) record.parent_id = id - 1;
    record.timestamp_ms = kNow - 1 - (count - id) * 1000;
    state.snapshots.push_back(record);
  }
  return state;
}

iceberg::SnapshotRef ref(std::int64_t id, iceberg::RefType type) {
  return iceberg::SnapshotRef{id, type, {}, {}, {}};
}

std::vector<std::int64_t> snapshots(const ProjectionState& state) {
  const Result<Expiry> expiry = plan_expiry(state, kNow);
  EXPECT_TRUE(expiry.has_value());
  return expiry ? expiry->snapshots : std::vector<std::int64_t>{-1};
}

TEST(MaintenancePolicy, WithoutAPolicyNothingGoes) {
  ProjectionState state = chain(5);
  state.refs["old"] = ref(1, iceberg::RefType::kTag);
  EXPECT_THAT(snapshots(state), IsEmpty());
  state.document.properties["history.expire.max-ref-age-ms"] = "1";
  EXPECT_THAT(snapshots(state), IsEmpty());
}

TEST(MaintenancePolicy, AnEmptyTableHasNothingToLose) {
  ProjectionState state;
  state.document.properties["history.expire.max-snapshot-age-ms"] = "0";
  EXPECT_THAT(snapshots(state), IsEmpty());
}

TEST(MaintenancePolicy, AgeAndNumberBothKeep) {
  ProjectionState state = chain(6);
  auto& properties = state.document.properties;
  properties["history.expire.max-snapshot-age-ms"] = "2500";
  EXPECT_THAT(snapshots(state), ElementsAre(1, 2, 3));
  properties["history.expire.min-snapshots-to-keep"] = "5";
  EXPECT_THAT(snapshots(state), ElementsAre(1));
  properties["history.expire.max-snapshot-age-ms"] = "0";
  properties["history.expire.min-snapshots-to-keep"] = "1";
  EXPECT_THAT(snapshots(state), ElementsAre(1, 2, 3, 4, 5));
  // The newest stays whatever is asked.
  properties["history.expire.min-snapshots-to-keep"] = "0";
  EXPECT_THAT(snapshots(state), ElementsAre(1, 2, 3, 4, 5));
}

TEST(MaintenancePolicy, WhatATagNamesStays) {
  ProjectionState state = chain(4);
  state.document.properties["history.expire.max-snapshot-age-ms"] = "0";
  state.refs["v1"] = ref(2, iceberg::RefType::kTag);
  EXPECT_THAT(snapshots(state), ElementsAre(1, 3));
}

TEST(MaintenancePolicy, ABranchFollowsItsOwnRules) {
  ProjectionState state = chain(3);
  state.document.properties["history.expire.max-snapshot-age-ms"] = "0";
  for (std::int64_t id = 100; id < 104; ++id) {
    SnapshotRecord record;
    record.id = id;
    record.parent_id = id == 100 ? 2 : id - 1;
    record.timestamp_ms = kNow - 50'000 + id;
    state.side.push_back(record);
  }
  state.refs["work"] = ref(103, iceberg::RefType::kBranch);
  state.refs["work"].min_snapshots_to_keep = 2;
  EXPECT_THAT(snapshots(state), ElementsAre(1, 2, 100, 101));
  // A staged snapshot goes by its age alone.
  state.refs.erase("work");
  state.document.properties["history.expire.max-snapshot-age-ms"] = "60000";
  EXPECT_THAT(snapshots(state), IsEmpty());
}

TEST(MaintenancePolicy, MainMayHaveRulesOfItsOwn) {
  ProjectionState state = chain(5);
  state.refs["main"] = ref(0, iceberg::RefType::kBranch);
  state.refs["main"].min_snapshots_to_keep = 3;
  state.refs["main"].max_snapshot_age_ms = 0;
  EXPECT_THAT(snapshots(state), ElementsAre(1, 2));
}

TEST(MaintenancePolicy, RefsGoByAgeAndTheirSnapshotsWithThem) {
  ProjectionState state = chain(4);
  state.refs["old"] = ref(1, iceberg::RefType::kTag);
  state.refs["old"].max_ref_age_ms = 500;
  state.refs["kept"] = ref(2, iceberg::RefType::kTag);
  state.document.properties["history.expire.max-snapshot-age-ms"] = "0";
  const Result<Expiry> expiry = plan_expiry(state, kNow);
  ASSERT_TRUE(expiry.has_value());
  ASSERT_EQ(expiry->refs.size(), 1U);
  EXPECT_EQ(expiry->refs[0].name, "old");
  EXPECT_EQ(expiry->refs[0].snapshot_id, 1);
  EXPECT_THAT(expiry->snapshots, ElementsAre(1, 3));
}

TEST(MaintenancePolicy, ParentsThatFormACircleEnd) {
  ProjectionState state = chain(3);
  state.snapshots[0].parent_id = 3;
  state.document.properties["history.expire.max-snapshot-age-ms"] = "0";
  EXPECT_THAT(snapshots(state), ElementsAre(1, 2));
}

TEST(MaintenancePolicy, WhatIsNoNumberIsNamed) {
  for (const char* text : {"", "soon", "-1", "1.5", "99999999999999999999"}) {
    ProjectionState state = chain(2);
    state.document.properties["history.expire.min-snapshots-to-keep"] = text;
    const Result<Expiry> expiry = plan_expiry(state, kNow);
    ASSERT_FALSE(expiry.has_value());
    EXPECT_EQ(expiry.error().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace duckicelake::catalog
