// SPDX-License-Identifier: Apache-2.0
#include "engine/maintenance.h"

#include <gmock/gmock.h>

#include "engine/engine_test_support.h"

namespace duckicelake::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// On a lake whose metadata is a DuckDB file: DuckLake's functions are the same.
class MaintenanceTest : public EngineTest {
 protected:
  void attach(int inlined_rows) {
    std::filesystem::create_directories(duck.path("data"));
    duck.run("ATTACH 'ducklake:" + duck.path("meta.ducklake") + "' AS lake (DATA_PATH '" +
             duck.path("data") + "/', DATA_INLINING_ROW_LIMIT " + std::to_string(inlined_rows) +
             ")");
  }
  Result<CompactReport> try_compact(const TableToCompact& target, const CompactOptions& options) {
    Session session = must(duck.database().session(soon()));
    return compact_table(session, "main", target, options);
  }
  CompactReport compact(const std::string& table, const CompactOptions& options = {}) {
    return must(try_compact({"main", table}, options));
  }
  std::vector<std::int64_t> expire(std::vector<std::int64_t> ids, Upkeep mode = Upkeep::kRun) {
    Session session = must(duck.database().session(soon()));
    std::vector<SnapshotId> snapshots;
    for (std::int64_t id : ids) snapshots.emplace_back(id);
    std::vector<std::int64_t> out;
    for (SnapshotId id : must(expire_snapshots(session, snapshots, mode))) out.push_back(id.value);
    return out;
  }
  std::string newest() {
    return duck.one("SELECT max(snapshot_id) FROM __ducklake_metadata_lake.ducklake_snapshot");
  }
};

TEST_F(MaintenanceTest, AppliesDeletesAndMergesTheFilesOfOneTable) {
  attach(0);
  for (const char* table : {"t", "other"}) {
    duck.run(std::string("CREATE TABLE lake.") + table + " (i BIGINT)");
    for (int k = 0; k < 4; ++k) {
      duck.run(std::string("INSERT INTO lake.") + table + " SELECT range FROM range(100)");
    }
    duck.run(std::string("DELETE FROM lake.") + table + " WHERE i < 20");
  }
  const CompactReport report = compact("t");
  EXPECT_EQ(report.before.data_files, 4);
  EXPECT_EQ(report.before.delete_files, 4);
  EXPECT_EQ(report.after.data_files, 1);
  EXPECT_EQ(report.after.delete_files, 0);
  EXPECT_EQ(report.files_rewritten, 4);
  EXPECT_EQ(report.inlined_rows, 0);
  EXPECT_THAT(report.removed_objects, IsEmpty());
  EXPECT_EQ(duck.one("SELECT count(*) || ' ' || min(i) FROM lake.t"), "320 20");
  EXPECT_EQ(duck.one("SELECT count(*) FROM ducklake_list_files('lake', 'other') WHERE delete_file "
                     "IS NOT NULL"),
            "4");
  // Nothing is left to do.
  const std::string before = newest();
  EXPECT_EQ(compact("t").files_merged, 0);
  EXPECT_EQ(newest(), before);
}

TEST_F(MaintenanceTest, KeepsFilesWithFewerDeletesThanAsked) {
  attach(0);
  duck.run("CREATE TABLE lake.t AS SELECT range AS i FROM range(100)");
  duck.run("DELETE FROM lake.t WHERE i < 2");
  CompactOptions options;
  options.delete_threshold = 0.5;
  EXPECT_EQ(compact("t", options).files_rewritten, 0);
  options.delete_threshold = 0.01;
  EXPECT_EQ(compact("t", options).files_rewritten, 1);
}

TEST_F(MaintenanceTest, FlushesInlinedRowsAndMovesTheSchemaVersionWhenTablesVanish) {
  attach(10);
  duck.run("CREATE TABLE lake.t (i BIGINT)");
  duck.run("COMMENT ON TABLE lake.t IS 'it''s'");
  duck.run("INSERT INTO lake.t VALUES (1), (2)");
  const auto version = [&] {
    return duck.one("SELECT max(schema_version) FROM __ducklake_metadata_lake.ducklake_snapshot");
  };
  const std::string first = version();
  EXPECT_EQ(compact("t").inlined_rows, 2);
  EXPECT_EQ(version(), first);
  duck.run("ALTER TABLE lake.t ADD COLUMN w INTEGER");
  duck.run("INSERT INTO lake.t VALUES (3, 4)");
  const std::string second = version();
  const CompactReport report = compact("t");
  EXPECT_EQ(report.inlined_rows, 1);
  EXPECT_EQ(version(), std::to_string(std::stoi(second) + 1));
  EXPECT_EQ(duck.one("SELECT comment FROM duckdb_tables() WHERE table_name = 't'"), "it's");
  EXPECT_EQ(duck.one("SELECT string_agg(i || coalesce('/' || w, ''), ' ' ORDER BY i) FROM lake.t"),
            "1 2 3/4");
  EXPECT_EQ(duck.one("SELECT count(*) FROM __ducklake_metadata_lake.ducklake_inlined_data_tables"),
            "1");
}

TEST_F(MaintenanceTest, ChangesNothingInADryRun) {
  attach(10);
  duck.run("CREATE TABLE lake.t (i BIGINT)");
  duck.run("INSERT INTO lake.t SELECT range FROM range(100)");
  duck.run("INSERT INTO lake.t SELECT range FROM range(100)");
  duck.run("INSERT INTO lake.t VALUES (5)");
  CompactOptions options;
  options.mode = Upkeep::kDryRun;
  options.cleanup_older_than = std::chrono::seconds(0);
  const std::string before = newest();
  const CompactReport planned = compact("t", options);
  EXPECT_EQ(planned.before.data_files, 2);
  EXPECT_EQ(planned.after.data_files, 2);
  EXPECT_EQ(planned.inlined_rows, 1);
  EXPECT_THAT(planned.removed_objects, IsEmpty());
  EXPECT_EQ(newest(), before);
  compact("t");
  EXPECT_EQ(compact("t", options).removed_objects.size(), 3u);  // two files and the flushed one
}

TEST_F(MaintenanceTest, RemovesOnlyObjectsThatAreDueLongEnough) {
  attach(0);
  duck.run("CREATE TABLE lake.t (i BIGINT)");
  for (int k = 0; k < 3; ++k) duck.run("INSERT INTO lake.t SELECT range FROM range(100)");
  CompactOptions options;
  options.cleanup_older_than = std::chrono::hours(24);
  EXPECT_THAT(compact("t", options).removed_objects, IsEmpty());
  const auto on_disk = [&] {
    return duck.one("SELECT count(*) FROM glob(" + quote_literal(duck.path("data/main/t/*")) + ")");
  };
  EXPECT_EQ(on_disk(), "4");
  options.cleanup_older_than = std::chrono::seconds(0);
  EXPECT_EQ(compact("t", options).removed_objects.size(), 3u);
  EXPECT_EQ(on_disk(), "1");
  EXPECT_EQ(duck.one("SELECT count(*) FROM lake.t"), "300");
}

TEST_F(MaintenanceTest, ExpiresTheSnapshotsOfAListButTheNewest) {
  attach(0);
  duck.run("CREATE TABLE lake.t (i BIGINT)");
  for (int k = 0; k < 4; ++k) duck.run("INSERT INTO lake.t VALUES (1)");
  EXPECT_THAT(expire({3, 2, 77}, Upkeep::kDryRun), ElementsAre(2, 3));
  EXPECT_THAT(expire({3, 2, 77}), ElementsAre(2, 3));
  EXPECT_THAT(expire({3, 2}), IsEmpty());
  EXPECT_THAT(expire({}), IsEmpty());
  EXPECT_THAT(expire({5, 4}), ElementsAre(4));
  EXPECT_EQ(duck.one("SELECT count(*) FROM lake.t"), "4");
  Session session = must(duck.database().session(soon()));
  const std::vector<SnapshotId> negative = {SnapshotId(-1)};
  EXPECT_EQ(expire_snapshots(session, negative, Upkeep::kDryRun).error().code(),
            Code::kInvalidArgument);
}

TEST_F(MaintenanceTest, TakesNamesAsData) {
  attach(10);
  const std::string table = "it's \"t\"; DROP TABLE x --";
  duck.run("CREATE SCHEMA lake.\"o'dd\"");
  const std::string name = "lake.\"o'dd\"." + quote_identifier(table);
  duck.run("CREATE TABLE " + name + " (i BIGINT)");
  duck.run("INSERT INTO " + name + " VALUES (1)");
  duck.run("ALTER TABLE " + name + " ADD COLUMN w INTEGER");
  EXPECT_EQ(must(try_compact({"o'dd", table}, {})).inlined_rows, 1);
  EXPECT_EQ(duck.one("SELECT count(*) FROM " + name), "1");
}

TEST_F(MaintenanceTest, RefusesWhatIsNotThereOrMakesNoSense) {
  attach(0);
  duck.run("CREATE TABLE lake.t (i BIGINT)");
  EXPECT_EQ(try_compact({"main", "gone"}, {}).error().code(), Code::kNotFound);
  EXPECT_EQ(try_compact({"gone", "t"}, {}).error().code(), Code::kNotFound);
  CompactOptions options;
  options.delete_threshold = 1.5;
  EXPECT_EQ(try_compact({"main", "t"}, options).error().code(), Code::kInvalidArgument);
  options.delete_threshold = 0.5;
  options.cleanup_older_than = std::chrono::seconds(-1);
  EXPECT_EQ(try_compact({"main", "t"}, options).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace duckicelake::engine
