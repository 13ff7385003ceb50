// SPDX-License-Identifier: Apache-2.0
#include "pg/migrations.h"

#include <atomic>
#include <thread>

#include "pg/live/fixture.h"

namespace duckicelake::pg {
namespace {

using testing::HasSubstr;

class PgMigrationsLive : public PgLive {
 protected:
  void SetUp() override {
    PgLive::SetUp();
    own_ = *SqlIdent::make(schema_.name().substr(0, 58) + " own");
  }
  void TearDown() override {
    Connection c = connect();
    ASSERT_OK(c.exec(sql_for_schema(own_, "DROP SCHEMA IF EXISTS {schema} CASCADE")));
    PgLive::TearDown();
  }

  Result<MigrationReport> run(std::vector<Migration> migrations) {
    Connection c = connect();
    return run_migrations(c, own_, migrations);
  }
  int version() {
    Connection c = connect();
    return *recorded_version(c, own_);
  }

  const Migration first_{1, "first", "CREATE TABLE {schema}.a (x int8); SELECT pg_sleep(0.05);"};
  const Migration second_{2, "second", "ALTER TABLE {schema}.a ADD COLUMN y int8"};
  const Migration third_{
      5, "third", "CREATE INDEX b ON {schema}.a (x); CREATE TABLE {schema}.c (LIKE {schema}.a)"};
  SqlIdent own_ = SqlIdent::constant("unset");
};

TEST_F(PgMigrationsLive, BringsTheSchemaToTheNewestVersionStepByStep) {
  EXPECT_EQ(version(), 0);
  Result<MigrationReport> report = run({first_});
  ASSERT_OK(report);
  EXPECT_EQ(report->version_before, 0);
  EXPECT_EQ(report->version_after, 1);
  report = run({first_, second_, third_});
  ASSERT_OK(report);
  EXPECT_EQ(report->version_before, 1);
  EXPECT_EQ(report->version_after, 5);
  report = run({first_, second_, third_});
  ASSERT_OK(report);
  EXPECT_EQ(report->version_before, 5);
  EXPECT_EQ(version(), 5);
}

TEST_F(PgMigrationsLive, ManyProcessesMayStartAtOnce) {
  std::atomic<int> did_it{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Result<MigrationReport> report = run({first_, second_, third_});
      ASSERT_OK(report);
      EXPECT_EQ(report->version_after, 5);
      if (report->version_before == 0) ++did_it;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(did_it, 1);
}

TEST_F(PgMigrationsLive, RefusesANewerDatabase) {
  ASSERT_OK(run({first_, second_}));
  Result<MigrationReport> report = run({first_});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), Code::kUnsupported);
  EXPECT_THAT(report.error().message(), HasSubstr("version 2"));
  EXPECT_THAT(report.error().message(), HasSubstr("up to 1"));
}

TEST_F(PgMigrationsLive, RefusesAnotherHistory) {
  ASSERT_OK(run({first_, third_}));
  EXPECT_EQ(run({first_, second_, third_}).error().code(), Code::kUnsupported);
  EXPECT_EQ(run({{1, "other", "SELECT 1"}, third_}).error().code(), Code::kUnsupported);
  EXPECT_EQ(run({third_}).error().code(), Code::kUnsupported);
}

TEST_F(PgMigrationsLive, AFailingStepLeavesNothing) {
  Result<MigrationReport> report = run({first_, {2, "bad", "CREATE TABLE {schema}.a (x int8)"}});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("migration 2 (bad)"));
  EXPECT_EQ(sqlstate(report.error()), "42P07");
  EXPECT_EQ(version(), 0);
  ASSERT_OK(run({first_}));
}

TEST_F(PgMigrationsLive, AStepMayNotEndTheTransaction) {
  EXPECT_THAT(run({{1, "sly", "COMMIT"}}).error().message(), HasSubstr("ends the transaction"));
  EXPECT_EQ(version(), 0);
}

TEST_F(PgMigrationsLive, RefusesAListThatIsOutOfOrder) {
  EXPECT_EQ(run({second_, first_}).error().code(), Code::kInternal);
  EXPECT_EQ(run({{0, "zero", "SELECT 1"}}).error().code(), Code::kInternal);
}

TEST_F(PgMigrationsLive, WaitsForTheLockUntilTheDeadline) {
  Connection holder = connect();
  Transaction tx(holder);
  ASSERT_OK(
      tx.exec("SELECT pg_advisory_xact_lock(hashtextextended('duckicelake migration ' || $1, 0))",
              {own_.name()}));
  Connection c = connect();
  c.set_deadline(deadline_after(std::chrono::milliseconds(200)));
  const std::vector<Migration> migrations = {first_};
  EXPECT_EQ(run_migrations(c, own_, migrations).error().code(), Code::kDeadlineExceeded);
}

// A role that owns nothing but the schema can run a newer program that has nothing to add.
TEST_F(PgMigrationsLive, NeedsNoRightToCreateWhenNothingIsDue) {
  ASSERT_OK(run({first_}));
  Connection c = connect();
  const SqlIdent role = *SqlIdent::make(schema_.name());
  ASSERT_OK(c.exec(sql_with("CREATE ROLE {role}", {{"role", role}})));
  // The test's role need not be a superuser: it becomes a member of what it made.
  ASSERT_OK(c.exec(sql_with("GRANT {role} TO CURRENT_USER", {{"role", role}})));
  ASSERT_OK(c.exec(
      sql_with("GRANT USAGE ON SCHEMA {schema} TO {role}", {{"schema", own_}, {"role", role}})));
  ASSERT_OK(c.exec(sql_with("GRANT SELECT ON {schema}.migration TO {role}",
                            {{"schema", own_}, {"role", role}})));
  ASSERT_OK(c.exec(sql_with("SET ROLE {role}", {{"role", role}})));
  const std::vector<Migration> migrations = {first_};
  EXPECT_TRUE(run_migrations(c, own_, migrations));
  const std::vector<Migration> more = {first_, second_};
  Result<MigrationReport> report = run_migrations(c, own_, more);
  EXPECT_EQ(sqlstate(report.error()), "42501");
  EXPECT_THAT(report.error().message(), HasSubstr("lacks a right"));
  ASSERT_OK(c.exec("RESET ROLE"));
  ASSERT_OK(c.exec(sql_with("DROP OWNED BY {role}", {{"role", role}})));
  ASSERT_OK(c.exec(sql_with("DROP ROLE {role}", {{"role", role}})));
}

}  // namespace
}  // namespace duckicelake::pg
