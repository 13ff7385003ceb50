// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <thread>

#include "pg/live/fixture.h"
#include "pg/value.h"

namespace duckicelake::pg {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(PgLive, SetsTheSessionUpTheSameWayEverywhere) {
  Connection c = connect();
  Result<ResultSet> rows = c.exec(
      "SELECT current_setting('search_path'), current_setting('TimeZone'), "
      "current_setting('client_encoding'), current_setting('statement_timeout'), "
      "current_setting('plan_cache_mode'), '2020-01-02 03:04:05+02'::timestamptz, true, "
      "1.5::float8, '\\x00ff'::bytea, NULL");
  ASSERT_OK(rows);
  const Row row = rows->row(0);
  EXPECT_EQ(row[0], "pg_catalog");
  EXPECT_EQ(row[1], "UTC");
  EXPECT_EQ(row[2], "UTF8");
  EXPECT_EQ(row[3], "30s");
  EXPECT_EQ(row[4], "force_generic_plan");
  EXPECT_EQ(row[5], "2020-01-02 01:04:05+00");
  EXPECT_TRUE(*row.boolean(6));
  EXPECT_EQ(*row.float64(7), 1.5);
  EXPECT_EQ(*row.bytea(8), std::string("\0\xff", 2));
  EXPECT_TRUE(row.is_null(9));
  EXPECT_THAT(row.int64(9).error().message(), HasSubstr("NULL"));
  EXPECT_EQ(row.int64(0).error().code(), Code::kCorruptData);
  EXPECT_GE(c.server_version(), 140000);
}

TEST_F(PgLive, BindsEveryKindOfParameter) {
  Connection c = connect();
  const std::vector<std::int64_t> numbers = {1, -5};
  const std::vector<std::optional<std::string>> texts = {"a'b\"c\\", std::nullopt, "NULL", ""};
  const std::string bytes("\0\x01\xff'", 4);
  Result<ResultSet> rows =
      c.exec("SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::uuid, $10::timestamptz",
             {std::int64_t{-7}, "it's $1; --", true, Param::bytea(bytes),
              Param::int64_array(numbers), Param::text_array(texts), std::nullopt, 0.1,
              "00000000-0000-0000-0000-000000000001", std::optional<std::string>()});
  ASSERT_OK(rows);
  const Row row = rows->row(0);
  EXPECT_EQ(*row.int64(0), -7);
  EXPECT_EQ(row[1], "it's $1; --");
  EXPECT_TRUE(*row.boolean(2));
  EXPECT_EQ(*row.bytea(3), bytes);
  EXPECT_EQ(*row.int64_array(4), numbers);
  EXPECT_EQ(*row.text_array(5), texts);
  EXPECT_TRUE(row.is_null(6));
  EXPECT_EQ(*row.float64(7), 0.1);
  EXPECT_EQ(row[8], "00000000-0000-0000-0000-000000000001");
  EXPECT_TRUE(row.is_null(9));
}

TEST_F(PgLive, RowReaderReportsTheFirstErrorAndUnreadColumns) {
  Connection c = connect();
  Result<ResultSet> rows = c.exec("SELECT 1::int8 AS a, 'x' AS b, NULL::int8 AS c");
  ASSERT_OK(rows);
  RowReader good(rows->row(0));
  EXPECT_EQ(good.int64(), 1);
  EXPECT_EQ(good.text(), "x");
  EXPECT_EQ(good.optional_int64(), std::nullopt);
  EXPECT_TRUE(good.status());
  good.skip();
  RowReader bad(rows->row(0));
  bad.int64();
  bad.int64();
  bad.int64();
  EXPECT_THAT(bad.status().error().message(), HasSubstr("column b"));
  RowReader partial(rows->row(0));
  partial.int64();
  EXPECT_FALSE(partial.status());
  RowReader beyond(rows->row(0));
  for (int i = 0; i < 4; ++i) beyond.optional_text();
  EXPECT_FALSE(beyond.status());
}

TEST_F(PgLive, QuotedNamesAndLiteralsMeanWhatTheySay) {
  Connection c = connect();
  for (std::string name : {"plain", "we\"ird; --", "größe $1 {schema}", "select", " a\\b"}) {
    const SqlIdent ident = *SqlIdent::make(name);
    const SqlLiteral literal = *SqlLiteral::make(name + "'\\");
    ASSERT_OK(c.exec(sql_with("CREATE TABLE {schema}.{t} (v text DEFAULT {v})",
                              {{"schema", schema_}, {"t", ident}, {"v", literal}})));
    ASSERT_OK(c.exec(
        sql_with("INSERT INTO {schema}.{t} DEFAULT VALUES", {{"schema", schema_}, {"t", ident}})));
    Result<ResultSet> rows =
        c.exec(sql_with("SELECT v, (SELECT count(*) FROM pg_class WHERE relname = $1) "
                        "FROM {schema}.{t}",
                        {{"schema", schema_}, {"t", ident}}),
               {name});
    ASSERT_OK(rows);
    EXPECT_EQ(rows->row(0)[0], name + "'\\");
    EXPECT_GE(*rows->row(0).int64(1), 1);
  }
}

TEST_F(PgLive, BatchIsOneRoundTrip) {
  Connection c = connect();
  const std::vector<Statement> statements = {
      {for_schema("INSERT INTO {schema}.t VALUES ($1, $2)"), {1, "a"}},
      {for_schema("INSERT INTO {schema}.t VALUES ($1, $2)"), {2, "b"}},
      {for_schema("SELECT id, v FROM {schema}.t ORDER BY id")},
      {"SELECT 1", {}, Prepare::kOnce},
  };
  for (int round = 0; round < 2; ++round) {
    const Cost before = c.cost();
    Result<std::vector<ResultSet>> results = c.batch(statements);
    if (round == 0) {
      ASSERT_OK(results);
      ASSERT_EQ(results->size(), 4u);
      EXPECT_EQ((*results)[0].affected(), 1);
      EXPECT_EQ((*results)[2].size(), 2u);
      EXPECT_EQ((*results)[2].row(1)[1], "b");
      EXPECT_EQ(c.cost() - before, (Cost{4, 3, 1}));
    } else {
      EXPECT_TRUE(is_unique_violation(results.error(), "t_pkey")) << results.error().to_string();
      EXPECT_EQ((c.cost() - before).round_trips, 1u);
    }
  }
  EXPECT_EQ(c.cached_statements(), 2u);
  EXPECT_TRUE(c.batch({})->empty());
}

TEST_F(PgLive, AFailureInTheMiddleOfABatchUndoesAllOfIt) {
  Connection c = connect();
  const std::vector<Statement> statements = {
      {for_schema("INSERT INTO {schema}.t VALUES (1, 'a')")},
      {"SELECT 1 / $1", {0}, Prepare::kCached, "divide"},
      {for_schema("INSERT INTO {schema}.t VALUES (2, 'b')")},
  };
  Result<std::vector<ResultSet>> results = c.batch(statements);
  ASSERT_FALSE(results);
  EXPECT_EQ(sqlstate(results.error()), "22012");
  EXPECT_EQ(results.error().code(), Code::kInternal);
  EXPECT_THAT(results.error().cause(), HasSubstr("statement 1 (divide)"));
  EXPECT_THAT(results.error().message(), Not(HasSubstr("zero")));
  EXPECT_THAT(results.error().message(), Not(HasSubstr("SELECT")));
  EXPECT_EQ(c.transaction_state(), TransactionState::kIdle);
  EXPECT_EQ(count_rows(), 0);
  // The connection goes on, also with what was not prepared because of the failure.
  ASSERT_OK(c.exec(statements[2]));
  EXPECT_EQ(count_rows(), 1);
}

TEST_F(PgLive, ABatchWithBeginAndCommitIsOneTransaction) {
  Connection c = connect();
  std::vector<Statement> statements = {
      begin_statement({Isolation::kRepeatableRead}),
      {for_schema("INSERT INTO {schema}.t VALUES (1, 'a')")},
      {"SELECT current_setting('transaction_isolation')"},
      commit_statement(),
  };
  Result<std::vector<ResultSet>> results = c.batch(statements);
  ASSERT_OK(results);
  EXPECT_EQ((*results)[2].row(0)[0], "repeatable read");
  EXPECT_EQ(count_rows(), 1);
  results = c.batch(statements);
  ASSERT_FALSE(results);
  EXPECT_EQ(sqlstate(results.error()), kUniqueViolation);
  EXPECT_EQ(c.transaction_state(), TransactionState::kIdle);
  ASSERT_OK(c.ping());
}

TEST_F(PgLive, ASyntaxErrorOrAMissingTableKeepsTheConnection) {
  Connection c = connect();
  Result<ResultSet> rows = c.exec("SELEC 1");
  EXPECT_EQ(sqlstate(rows.error()), "42601");
  rows = c.exec(for_schema("SELECT * FROM {schema}.missing"));
  EXPECT_EQ(sqlstate(rows.error()), "42P01");
  EXPECT_THAT(rows.error().message(), Not(HasSubstr("missing")));
  rows = c.exec("SELECT $1::int4", {"x"});
  EXPECT_EQ(rows.error().code(), Code::kInternal);
  rows = c.exec("SELECT $1", {"\xff"});
  EXPECT_EQ(rows.error().code(), Code::kInvalidArgument);
  rows = c.exec("SELECT $1", {std::string("a\0b", 3)});
  EXPECT_EQ(rows.error().code(), Code::kInvalidArgument);
  ASSERT_OK(c.ping());
  // COPY does not belong into a batch; the connection cannot go on after it.
  rows = c.exec(for_schema("COPY {schema}.t TO STDOUT"));
  EXPECT_EQ(rows.error().code(), Code::kInternal);
  EXPECT_FALSE(c.is_open());
  EXPECT_EQ(c.ping().error().code(), Code::kUnavailable);
}

TEST_F(PgLive, NullAndValueShareAPlanOfTheRightType) {
  Connection c = connect();
  Result<ResultSet> rows = c.exec("SELECT $1 + 1", {std::optional<std::int64_t>()});
  ASSERT_OK(rows);
  EXPECT_TRUE(rows->row(0).is_null(0));
  rows = c.exec("SELECT $1 + 1", {std::int64_t{5'000'000'000}});
  ASSERT_OK(rows);
  EXPECT_EQ(*rows->row(0).int64(0), 5'000'000'001);
  EXPECT_EQ(c.cached_statements(), 1u);
}

TEST_F(PgLive, TheStatementCacheIsBoundedOnTheServerToo) {
  config_.statement_cache_size = 4;
  Connection c = connect();
  for (int i = 0; i < 50; ++i) {
    const Sql sql = sql_with("SELECT {n}", {{"n", std::int64_t{i % 10}}});
    Result<ResultSet> rows = c.exec(sql);
    ASSERT_OK(rows);
    ASSERT_EQ(*rows->row(0).int64(0), i % 10);
  }
  // More statements in one batch than the cache holds, some of them twice.
  std::vector<Statement> statements;
  for (int i = 0; i < 20; ++i) {
    statements.push_back({sql_with("SELECT {n}", {{"n", std::int64_t{100 + i % 10}}})});
  }
  ASSERT_OK(c.batch(statements));
  ASSERT_OK(c.batch(statements));
  EXPECT_EQ(c.cached_statements(), 4u);
  Result<ResultSet> rows =
      c.exec({"SELECT count(*) FROM pg_prepared_statements", {}, Prepare::kOnce});
  ASSERT_OK(rows);
  EXPECT_LE(*rows->row(0).int64(0), 4 + 10);
  ASSERT_OK(c.ping());
  rows = c.exec({"SELECT count(*) FROM pg_prepared_statements", {}, Prepare::kOnce});
  EXPECT_EQ(*rows->row(0).int64(0), 4);
  EXPECT_TRUE(c.is_reusable());
}

TEST_F(PgLive, AChangedTableMakesTheConnectionStaleNotWrong) {
  Connection c = connect();
  const Statement all{for_schema("SELECT * FROM {schema}.t")};
  ASSERT_OK(c.exec(all));
  ASSERT_OK(connect().exec(for_schema("ALTER TABLE {schema}.t ADD COLUMN w int8")));
  Result<ResultSet> rows = c.exec(all);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), Code::kUnavailable) << rows.error().to_string();
  EXPECT_TRUE(c.is_open());
  EXPECT_FALSE(c.is_reusable());
  rows = c.exec(all);
  ASSERT_OK(rows);
  EXPECT_EQ(rows->columns(), 3u);
}

TEST_F(PgLive, ADeadlineEndsAWaitAndClosesTheConnection) {
  Connection c = connect();
  const auto start = std::chrono::steady_clock::now();
  c.set_deadline(deadline_after(std::chrono::milliseconds(200)));
  Result<ResultSet> rows = c.exec("SELECT pg_sleep(20)");
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), Code::kDeadlineExceeded);
  EXPECT_GE(took, std::chrono::milliseconds(200));
  EXPECT_LT(took, std::chrono::seconds(5));
  EXPECT_FALSE(c.is_open());
  EXPECT_EQ(c.exec("SELECT 1").error().code(), Code::kUnavailable);
}

TEST_F(PgLive, AnAbandonedStatementIsEndedByTheServer) {
  Connection c = connect();
  const int pid = c.backend_pid();
  c.set_deadline(deadline_after(std::chrono::milliseconds(100)));
  ASSERT_FALSE(c.exec("SELECT pg_sleep(60)"));
  Connection watcher = connect();
  for (;;) {
    Result<ResultSet> rows =
        watcher.exec("SELECT 1 FROM pg_stat_activity WHERE pid = $1::int8::int4", {pid});
    ASSERT_OK(rows);  // fails at the deadline of the connection
    if (rows->empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

TEST_F(PgLive, ADeadlineThatHasPassedSendsNothing) {
  Connection c = connect();
  c.set_deadline(deadline_after(std::chrono::milliseconds(-1)));
  EXPECT_EQ(c.exec("SELECT 1").error().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(c.exec_script("SELECT 1").error().code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(c.is_open());
  c.set_deadline(deadline_after(kPatience));
  ASSERT_OK(c.exec("SELECT 1"));
}

TEST_F(PgLive, TheServersTimeoutKeepsTheConnection) {
  config_.statement_timeout = std::chrono::milliseconds(100);
  Connection c = connect();
  Result<ResultSet> rows = c.exec("SELECT pg_sleep(20)");
  EXPECT_EQ(rows.error().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(sqlstate(rows.error()), "57014");
  ASSERT_OK(c.exec("SELECT 1"));
}

TEST_F(PgLive, ConnectFailsClearlyAndInTime) {
  PgConfig config = config_;
  config.password = Secret("wrong-password-here");
  Result<Connection> c = Connection::connect(config, deadline_after(kPatience));
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().code(), Code::kUnavailable);
  EXPECT_THAT(c.error().cause(), HasSubstr("authentication"));
  EXPECT_THAT(c.error().to_string(), Not(HasSubstr("wrong-password-here")));
  EXPECT_THAT(c.error().message(), Not(HasSubstr("127.0.0.1")));

  // Nobody listens on the first endpoint; the second one serves.
  config = config_;
  config.endpoints.insert(config.endpoints.begin(), Endpoint{"127.0.0.1", 1});
  ASSERT_OK(Connection::connect(config, deadline_after(kPatience)));

  config.database = "no such database";
  c = Connection::connect(config, deadline_after(kPatience));
  EXPECT_THAT(c.error().cause(), HasSubstr("no such database"));
}

TEST_F(PgLive, AnEndedSessionIsNoticedWithoutARoundTrip) {
  Connection c = connect();
  EXPECT_TRUE(c.is_alive());
  terminate_when(c.backend_pid(), "ClientRead");
  const Deadline until = deadline_after(kPatience);
  while (c.is_alive() && !has_passed(until)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(c.is_open());
}

TEST_F(PgLive, ASessionThatEndsInAStatementIsUnavailable) {
  Connection c = connect();
  std::thread killer([&, pid = c.backend_pid()] { terminate_when(pid, "PgSleep"); });
  Result<ResultSet> rows = c.exec("SELECT pg_sleep(20)");
  killer.join();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), Code::kUnavailable) << rows.error().to_string();
  EXPECT_EQ(sqlstate(rows.error()), "57P01");
  EXPECT_FALSE(c.is_open());
}

TEST_F(PgLive, StreamsRowsWithoutKeepingThem) {
  Connection c = connect();
  ASSERT_OK(c.exec("SELECT 1"));
  std::int64_t sum = 0;
  const Cost before = c.cost();
  ASSERT_OK(c.for_each_row({"SELECT g, repeat('x', 1000) FROM generate_series(1, $1) g", {20'000}},
                           [&](const Row& row) -> Status {
                             DIL_TRY(std::int64_t value, row.int64(0));
                             sum += value;
                             return {};
                           }));
  EXPECT_EQ(sum, 20'000LL * 20'001 / 2);
  EXPECT_EQ(c.cost() - before, (Cost{1, 20'000, 1}));
  ASSERT_OK(c.exec("SELECT 1"));
  // An error in the midst of the rows is an error of the whole.
  std::int64_t seen = 0;
  Status status = c.for_each_row({"SELECT 1 / (1000 - g) FROM generate_series(1, 2000) g"},
                                 [&](const Row&) -> Status {
                                   ++seen;
                                   return {};
                                 });
  EXPECT_EQ(sqlstate(status.error()), "22012");
  ASSERT_OK(c.exec("SELECT 1"));
  // A caller that has enough ends the connection.
  status = c.for_each_row({"SELECT g FROM generate_series(1, 1000000) g"},
                          [](const Row&) -> Status { return invalid_argument("enough"); });
  EXPECT_EQ(status.error().message(), "enough");
  EXPECT_FALSE(c.is_open());
}

TEST_F(PgLive, AScriptRunsManyStatementsOrNone) {
  Connection c = connect();
  ASSERT_OK(
      c.exec_script(for_schema("INSERT INTO {schema}.t VALUES (1, 'a'); SELECT 1; INSERT INTO "
                               "{schema}.t VALUES (2, 'b');")));
  EXPECT_EQ(count_rows(), 2);
  Status status =
      c.exec_script(for_schema("INSERT INTO {schema}.t VALUES (3, 'a'); SELECT 1/0; INSERT INTO "
                               "{schema}.t VALUES (4, 'b')"));
  EXPECT_EQ(sqlstate(status.error()), "22012");
  EXPECT_EQ(count_rows(), 2);
  ASSERT_OK(c.exec("SELECT 1"));
  EXPECT_FALSE(c.exec_script(for_schema("SELECT 1; COPY {schema}.t FROM STDIN")));
  EXPECT_FALSE(c.is_open());
}

TEST_F(PgLive, CopiesRowsInAndOut) {
  Connection c = connect();
  Result<CopyIn> copy = c.copy_in(for_schema("COPY {schema}.t (id, v) FROM STDIN"));
  ASSERT_OK(copy);
  EXPECT_FALSE(c.exec("SELECT 1"));  // busy
  const std::string wide(300, 'w');
  for (int i = 0; i < 5'000; ++i) {
    const std::string id = std::to_string(i);
    const std::string value = "tab\t nl\n \\ ünï " + wide + id;
    const std::array<std::optional<std::string_view>, 2> fields = {
        id, i % 2 == 0 ? std::optional<std::string_view>(value) : std::nullopt};
    ASSERT_OK(copy->row(fields));
  }
  Result<std::int64_t> stored = copy->finish();
  ASSERT_OK(stored);
  EXPECT_EQ(*stored, 5'000);

  std::int64_t next = 0;
  Result<std::int64_t> read =
      c.copy_out(for_schema("COPY (SELECT id, v FROM {schema}.t ORDER BY id) TO STDOUT"),
                 [&](std::string_view line) -> Status {
                   DIL_TRY(auto fields, parse_copy_row(line));
                   EXPECT_EQ(fields.at(0), std::to_string(next));
                   EXPECT_EQ(fields.at(1).has_value(), next % 2 == 0);
                   if (fields.at(1)) {
                     EXPECT_EQ(*fields.at(1), "tab\t nl\n \\ ünï " + wide + std::to_string(next));
                   }
                   ++next;
                   return {};
                 });
  ASSERT_OK(read);
  EXPECT_EQ(*read, 5'000);
  ASSERT_OK(c.exec("SELECT 1"));
}

TEST_F(PgLive, ACopyThatIsGivenUpOrFailsStoresNothing) {
  Connection c = connect();
  const std::array<std::optional<std::string_view>, 2> row = {"1", "a"};
  {
    Result<CopyIn> copy = c.copy_in(for_schema("COPY {schema}.t FROM STDIN"));
    ASSERT_OK(copy);
    ASSERT_OK(copy->row(row));
  }
  EXPECT_TRUE(c.is_open());
  EXPECT_EQ(count_rows(), 0);

  Result<CopyIn> twice = c.copy_in(for_schema("COPY {schema}.t FROM STDIN"));
  ASSERT_OK(twice);
  ASSERT_OK(twice->row(row));
  ASSERT_OK(twice->row(row));
  EXPECT_EQ(sqlstate(twice->finish().error()), kUniqueViolation);
  EXPECT_EQ(count_rows(), 0);
  ASSERT_OK(c.exec("SELECT 1"));

  EXPECT_EQ(sqlstate(c.copy_in(for_schema("COPY {schema}.nope FROM STDIN")).error()), "42P01");
  EXPECT_EQ(sqlstate(c.copy_out(for_schema("COPY {schema}.nope TO STDOUT"),
                                [](std::string_view) -> Status { return {}; })
                         .error()),
            "42P01");
  ASSERT_OK(c.exec("SELECT 1"));
}

TEST_F(PgLive, CopiesBinaryBytes) {
  Connection c = connect();
  ASSERT_OK(
      c.exec(for_schema("INSERT INTO {schema}.t SELECT g, g::text FROM generate_series(1, 9) g")));
  std::string bytes;
  ASSERT_OK(c.copy_out(for_schema("COPY {schema}.t TO STDOUT (FORMAT binary)"),
                       [&](std::string_view part) -> Status {
                         bytes += part;
                         return {};
                       }));
  ASSERT_OK(c.exec(for_schema("DELETE FROM {schema}.t")));
  Result<CopyIn> copy = c.copy_in(for_schema("COPY {schema}.t FROM STDIN (FORMAT binary)"));
  ASSERT_OK(copy);
  ASSERT_OK(copy->raw(bytes));
  ASSERT_OK(copy->finish());
  EXPECT_EQ(count_rows(), 9);
}

TEST_F(PgLive, DeliversNotifications) {
  Connection listener = connect();
  Connection sender = connect();
  const SqlIdent channel = *SqlIdent::make("Chan nel");
  ASSERT_OK(listener.listen(channel));
  Result<std::optional<Notification>> none =
      listener.wait_notify(deadline_after(std::chrono::milliseconds(50)));
  ASSERT_OK(none);
  EXPECT_FALSE(none->has_value());
  EXPECT_TRUE(listener.is_open());
  for (const char* payload : {"one", "two"}) {
    ASSERT_OK(sender.exec("SELECT pg_notify($1, $2)", {channel.name(), payload}));
  }
  for (const char* payload : {"one", "two"}) {
    Result<std::optional<Notification>> got = listener.wait_notify(deadline_after(kPatience));
    ASSERT_OK(got);
    ASSERT_TRUE(got->has_value());
    EXPECT_EQ((*got)->channel, "Chan nel");
    EXPECT_EQ((*got)->payload, payload);
    EXPECT_EQ((*got)->backend_pid, sender.backend_pid());
  }
  // One that comes with the answer of a statement waits for its turn.
  ASSERT_OK(sender.exec("SELECT pg_notify($1, 'three')", {channel.name()}));
  ASSERT_OK(listener.exec("SELECT pg_sleep(0.05)"));
  Result<std::optional<Notification>> got = listener.wait_notify(deadline_after(kPatience));
  ASSERT_OK(got);
  EXPECT_EQ((*got)->payload, "three");
  terminate_when(listener.backend_pid(), "ClientRead");
  EXPECT_EQ(listener.wait_notify(deadline_after(kPatience)).error().code(), Code::kUnavailable);
}

TEST_F(PgLive, ALargeBatchWithLargeAnswersDoesNotBlock) {
  Connection c = connect();
  std::vector<Statement> statements;
  const std::string big(200'000, 'x');
  for (int i = 0; i < 100; ++i) statements.push_back({"SELECT $1, repeat('y', 200000)", {big}});
  Result<std::vector<ResultSet>> results = c.batch(statements);
  ASSERT_OK(results);
  for (const ResultSet& rows : *results) {
    ASSERT_EQ(rows.row(0)[0]->size(), big.size());
    ASSERT_EQ(rows.row(0)[1]->size(), 200'000u);
  }
}

}  // namespace
}  // namespace duckicelake::pg
