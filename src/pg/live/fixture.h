// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "pg/connection.h"
#include "pg/error.h"
#include "pg/sql.h"
#include "pg/transaction.h"

namespace duckicelake::pg {

#define ASSERT_OK(expression)                                                \
  do {                                                                       \
    auto&& live_status = (expression);                                       \
    ASSERT_TRUE(live_status.has_value()) << live_status.error().to_string(); \
  } while (false)

// Each test has a schema of its own, so tests may run beside one another.
class PgLive : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kPatience{20'000};

  void SetUp() override {
    const char* conninfo = std::getenv("DUCKICELAKE_TEST_PG");
    ASSERT_NE(conninfo, nullptr) << "set DUCKICELAKE_TEST_PG=\"host=.. port=.. user=.. "
                                    "password=.. dbname=..\"";
    Result<PgConfig> config = parse_conninfo(conninfo);
    ASSERT_TRUE(config) << config.error().to_string();
    config_ = *config;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    schema_ = *SqlIdent::make(fmt::format("t{} {}", now, test->name()).substr(0, 60));
    Connection connection = connect();
    ASSERT_OK(connection.exec(for_schema("CREATE SCHEMA {schema}")));
    ASSERT_OK(connection.exec(for_schema("CREATE TABLE {schema}.t (id int8 PRIMARY KEY, v text)")));
  }

  void TearDown() override {
    if (config_.user.empty()) return;
    Connection connection = connect();
    ASSERT_OK(connection.exec(for_schema("DROP SCHEMA {schema} CASCADE")));
  }

  Connection connect() {
    Result<Connection> connection = Connection::connect(config_, deadline_after(kPatience));
    EXPECT_TRUE(connection) << connection.error().to_string();
    return *std::move(connection);
  }

  Sql for_schema(const Sql& sql) const { return sql_for_schema(schema_, sql); }

  // In a session of its own.
  std::int64_t count_rows() {
    Connection connection = connect();
    Result<ResultSet> rows = connection.exec(for_schema("SELECT count(*) FROM {schema}.t"));
    EXPECT_TRUE(rows) << rows.error().to_string();
    return *rows->row(0).int64(0);
  }

  // Ends the session `pid` as soon as it waits in `event` (pg_stat_activity.wait_event), from a
  // session of its own.
  void terminate_when(int pid, std::string_view event) {
    Connection killer = connect();
    const Deadline until = deadline_after(kPatience);
    while (!has_passed(until)) {
      Result<ResultSet> done = killer.exec(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
          "WHERE pid = $1::int8::int4 AND wait_event = $2",
          {pid, event});
      ASSERT_OK(done);
      if (!done->empty()) return;
    }
    FAIL() << "the session never waited in " << event;
  }

  PgConfig config_;
  SqlIdent schema_ = SqlIdent::constant("unset");
};

}  // namespace duckicelake::pg
