// SPDX-License-Identifier: Apache-2.0
// Routes of upkeep, on a catalog in memory.
#include <gtest/gtest.h>

#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

using testing::Bench;

constexpr const char* kCompact = "/v1/lake/admin/namespaces/shop/tables/t/compact";
constexpr const char* kExpire = "/v1/lake/admin/namespaces/shop/tables/t/expire";
constexpr const char* kMaintain = "/v1/lake/admin/maintenance";

TEST(MaintenanceRoutes, WorkWithoutABody) {
  Bench bench;
  EXPECT_EQ(bench.post(kCompact, "").body_text(),
            R"({"dry-run":false,"before":{"data-files":0,"delete-files":0},)"
            R"("after":{"data-files":0,"delete-files":0},"inlined-rows":0,"files-rewritten":0,)"
            R"("files-merged":0,"removed-objects":[]})");
  EXPECT_FALSE(bench.catalog.last_compact.cleanup_older_than.has_value());
  EXPECT_EQ(bench.post(kExpire, "").body_text(),
            R"({"dry-run":false,"expire":{"tables":[],"ducklake-snapshots":[],"failures":{}}})");
  EXPECT_EQ(bench.post(kMaintain, "").status, 200);
  EXPECT_TRUE(bench.catalog.last_maintain.expires && bench.catalog.last_maintain.sweeps);
}

TEST(MaintenanceRoutes, ReadTheirOptions) {
  Bench bench;
  EXPECT_EQ(bench
                .post(kCompact, R"({"dry-run":true,"delete-threshold":1,)"
                                R"("cleanup-older-than-seconds":60,"unknown":[]})")
                .status,
            200);
  EXPECT_TRUE(bench.catalog.last_compact.is_dry_run);
  EXPECT_EQ(bench.catalog.last_compact.delete_threshold, 1);
  EXPECT_EQ(bench.catalog.last_compact.cleanup_older_than, std::chrono::seconds(60));
  EXPECT_EQ(bench
                .post(kMaintain, R"({"dry-run":true,"expire":false,"grace-seconds":7,)"
                                 R"("max-names":0})")
                .status,
            200);
  EXPECT_TRUE(bench.catalog.last_maintain.is_dry_run);
  EXPECT_FALSE(bench.catalog.last_maintain.expires);
  EXPECT_EQ(bench.catalog.last_maintain.grace, std::chrono::seconds(7));
  EXPECT_EQ(bench.catalog.last_maintain.max_names, 0U);
}

TEST(MaintenanceRoutes, RefuseWhatMakesNoSense) {
  Bench bench;
  for (const char* body : {"[]", "{", R"({"dry-run":"yes"})", R"({"delete-threshold":1.5})",
                           R"({"delete-threshold":"a"})", R"({"cleanup-older-than-seconds":-1})",
                           R"({"cleanup-older-than-seconds":9223372036854775807})"}) {
    EXPECT_EQ(bench.post(kCompact, body).status, 400) << body;
  }
  for (const char* body : {"[]", R"({"grace-seconds":-1})", R"({"max-names":10001})"}) {
    EXPECT_EQ(bench.post(kMaintain, body).status, 400) << body;
  }
  EXPECT_EQ(bench.post("/v1/lake/admin/namespaces/shop/tables/none/compact", "").status, 404);
}

}  // namespace
}  // namespace duckicelake::rest
