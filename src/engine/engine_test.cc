// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_test_support.h"

#include <gmock/gmock.h>

#include <thread>

#include "engine/error_map.h"
#include "engine/lake.h"
#include "engine/redact.h"

namespace duckicelake::engine {
namespace {

TEST(DuckdbApi, SaysWhichLibraryItCannotOpen) {
  auto missing = DuckdbApi::load("/no/such/libduckdb.so");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), ::testing::HasSubstr("/no/such/libduckdb.so"));
  EXPECT_FALSE(DuckdbApi::load(""));
}

TEST(DuckdbApi, RefusesALibraryThatIsNotDuckDB) {
  auto other = DuckdbApi::load("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), ::testing::HasSubstr("duckdb_"));
}

TEST(DuckdbDataEngine, MapsNothingBeforeItIsNeeded) {
  EngineConfig config = test_config();
  config.library_path = "/no/such/libduckdb.so";
  DuckdbDataEngine engine(config);
  EXPECT_EQ(engine.check().error().code(), Code::kInternal);
  EXPECT_EQ(engine.read_position_deletes("/x").error().code(), Code::kInternal);
}

TEST(SqlText, DoublesQuotes) {
  EXPECT_EQ(quote_identifier("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(quote_literal("it's"), "'it''s'");
  EXPECT_EQ(escape_local_glob("/a*b?[c]"), "/a[*]b[?][[]c]");
}

TEST(Redact, HidesASecretInEverySpelling) {
  const std::vector<Secret> secrets = {Secret("pa'ss\\w"), Secret("")};
  EXPECT_EQ(redact("x pa'ss\\w y pa\\'ss\\\\w z pa''ss\\w", secrets), "x *** y *** z ***");
}

TEST(ErrorMap, TellsAwayFromGone) {
  const auto code = [](duckdb_error_type type, const char* text) {
    return classify_duckdb_error(type, text, Code::kCorruptData);
  };
  EXPECT_EQ(code(DUCKDB_ERROR_HTTP, "HTTP GET error reading 's3://b/k' (HTTP 404 Not Found)"),
            Code::kNotFound);
  EXPECT_EQ(code(DUCKDB_ERROR_HTTP, "HTTP GET error (HTTP 503 Slow Down)"), Code::kUnavailable);
  EXPECT_EQ(code(DUCKDB_ERROR_HTTP, "HTTP GET error (HTTP 403 Forbidden)"), Code::kInternal);
  EXPECT_EQ(code(DUCKDB_ERROR_HTTP, "Unable to connect to URL s3://b/k: Forbidden (HTTP code 403)"),
            Code::kInternal);
  EXPECT_EQ(code(DUCKDB_ERROR_IO,
                 "Unable to connect to Postgres at \"\": FATAL:  password "
                 "authentication failed for user \"x\""),
            Code::kInternal);
  EXPECT_EQ(code(DUCKDB_ERROR_IO, "Could not connect to server error for HTTP HEAD to 'x'"),
            Code::kUnavailable);
  EXPECT_EQ(code(DUCKDB_ERROR_IO, "No files found that match the pattern \"x\""), Code::kNotFound);
  EXPECT_EQ(code(DUCKDB_ERROR_INVALID_INPUT, "No magic bytes"), Code::kCorruptData);
  EXPECT_EQ(code(DUCKDB_ERROR_INTERRUPT, "Interrupted!"), Code::kDeadlineExceeded);
  EXPECT_EQ(code(DUCKDB_ERROR_OUT_OF_MEMORY, "could not allocate"), Code::kUnavailable);
  EXPECT_EQ(code(DUCKDB_ERROR_TRANSACTION, "conflict"), Code::kCommitFailed);
  EXPECT_EQ(code(DUCKDB_ERROR_INVALID, "ERROR:  duplicate key value violates unique constraint"),
            Code::kCommitFailed);
  EXPECT_EQ(code(DUCKDB_ERROR_INVALID, "ERROR:  permission denied for schema x"), Code::kInternal);
  EXPECT_EQ(code(DUCKDB_ERROR_CATALOG, "Table with name \"t\" already exists!"),
            Code::kAlreadyExists);
}

class DatabaseTest : public EngineTest {};

TEST_F(DatabaseTest, InterruptsAStatementAtItsDeadline) {
  const auto begin = Watchdog::Clock::now();
  {
    Session session =
        must(duck.database().session(Watchdog::Clock::now() + std::chrono::milliseconds(300)));
    const Status slow = session.execute(
        "SELECT count(*) FROM range(100000000000) a WHERE hash(range) = 1", {}, {"slow"});
    ASSERT_FALSE(slow);
    EXPECT_EQ(slow.error().code(), Code::kDeadlineExceeded) << slow.error().to_string();
    EXPECT_EQ(session.execute("SELECT 1", {}, {"late"}).error().code(), Code::kDeadlineExceeded);
  }
  EXPECT_LT(Watchdog::Clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(duck.one("SELECT 42"), "42");
}

TEST_F(DatabaseTest, InterruptsAStreamAtItsDeadline) {
  Session session =
      must(duck.database().session(Watchdog::Clock::now() + std::chrono::milliseconds(300)));
  Rows rows = must(session.query("SELECT range::BIGINT FROM range(100000000000)", {}, {"slow"}));
  while (true) {
    auto more = rows.next();
    if (!more) {
      EXPECT_EQ(more.error().code(), Code::kDeadlineExceeded);
      return;
    }
    ASSERT_TRUE(*more);
  }
}

TEST_F(DatabaseTest, BoundsTheNumberOfSessions) {
  std::vector<Session> sessions;
  for (int i = 0; i < duck.database().config().max_sessions; ++i) {
    sessions.push_back(must(duck.database().session(soon())));
  }
  auto extra = duck.database().session(Watchdog::Clock::now() + std::chrono::milliseconds(50));
  ASSERT_FALSE(extra);
  EXPECT_EQ(extra.error().code(), Code::kDeadlineExceeded);
  sessions.pop_back();
  EXPECT_TRUE(duck.database().session(soon()));
}

TEST_F(DatabaseTest, BindsEveryKindOfParameter) {
  Session session = must(duck.database().session(soon()));
  const std::string text("it's\0\"x\"", 8);
  const Parameter parameters[] = {nullptr, true, std::int64_t{-5}, text};
  Rows rows = must(session.query("SELECT $1::BIGINT, $2::BOOLEAN, $3::BIGINT, $4::VARCHAR",
                                 parameters, {"bind"}));
  ASSERT_TRUE(must(rows.next()));
  EXPECT_TRUE(rows.is_null(0));
  EXPECT_TRUE(rows.boolean(1));
  EXPECT_EQ(rows.int64(2), -5);
  EXPECT_EQ(rows.text(3), text);
  EXPECT_FALSE(must(rows.next()));
}

TEST_F(DatabaseTest, KeepsNothingOfAFailedSession) {
  {
    Session session = must(duck.database().session(soon()));
    must(session.execute("CREATE TEMP TABLE left_over (i INTEGER)", {}, {"create"}));
    EXPECT_FALSE(session.execute("SELECT nonsense", {}, {"fail"}));
  }
  EXPECT_THROW(duck.run("SELECT * FROM left_over"), std::runtime_error);
}

TEST_F(DatabaseTest, StaysWithinItsMemory) {
  Session session = must(duck.database().session(soon()));
  must(session.execute("SET max_temp_directory_size = '10MB'", {}, {"set"}));
  const Status big = session.execute(
      "SELECT list(range || '-------------------------------------') FROM range(40000000)", {},
      {"big"});
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code(), Code::kUnavailable) << big.error().to_string();
}

TEST_F(DatabaseTest, LoadsNoExtensionThatIsNotThere) {
  auto api = must(DuckdbApi::load(test_config().library_path));
  auto missing = Database::open(api, {.extension_directory = duck.path("nowhere"),
                                      .temp_directory = duck.path(""),
                                      .memory_limit_mb = 100,
                                      .threads = 1,
                                      .max_sessions = 1,
                                      .extensions = {"ducklake"},
                                      .redacted = {}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kInternal);
  EXPECT_THAT(missing.error().message(), ::testing::HasSubstr("ducklake"));
}

TEST_F(DatabaseTest, DescribesNoViewWithoutARole) {
  EXPECT_EQ(engine.describe_view("main", "v").error().code(), Code::kInternal);
}

TEST_F(DatabaseTest, SaysThatPostgresIsAway) {
  EngineConfig config = test_config();
  config.view_lake = LakeConfig{.postgres = {.host = "127.0.0.1",
                                             .port = 1,
                                             .user = "reader",
                                             .password = Secret("hunter2-secret"),
                                             .database = "lake",
                                             .options = "connect_timeout=2"},
                                .metadata_schema = "ducklake",
                                .data_path = {}};
  DuckdbDataEngine viewer(config);
  auto result = viewer.describe_view("main", "v");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kUnavailable) << result.error().to_string();
  EXPECT_THAT(result.error().to_string(), ::testing::Not(::testing::HasSubstr("hunter2")));
  LakeConfig lake = *config.view_lake;
  lake.data_path = duck.path("data");
  const Status created = create_lake(config, lake);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), Code::kUnavailable) << created.error().to_string();
}

TEST_F(DatabaseTest, ServesManyThreadsAtOnce) {
  const std::string file = duck.path("shared.parquet");
  duck.run("COPY (SELECT range AS pos FROM range(50000)) TO " + quote_literal(file) +
           " (FORMAT parquet)");
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        auto read = engine.read_position_deletes(file);
        if (!read || read->size() != 50000) ++failures;
        const std::vector<std::int64_t> positions = {t, t + 1 + round};
        auto written = engine.write_position_deletes("f" + std::to_string(t), positions);
        if (!written || written->record_count != 2 ||
            written->stats[1].max_value != std::to_string(t + 1 + round)) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace duckicelake::engine
