// SPDX-License-Identifier: Apache-2.0
#include "pg/async_connection.h"

#include <poll.h>

#include <utility>

#include "pg/live/fixture.h"
#include "pg/poll.h"
#include "pg/pool.h"

namespace duckicelake::pg {
namespace {

using testing::HasSubstr;

class AsyncConnectionLive : public PgLive {
 protected:
  const std::vector<Statement> statements_ = {
      // The types of the parameters are those of these values.
      {"SELECT $1::int8 + 1, repeat('x', $2::int4)", {0, "0"}, Prepare::kCached, "add"},
      {"SELECT 1 / $1::int8", {0}, Prepare::kCached, "divide"},
      {"SELECT pg_terminate_backend(pg_backend_pid())", {}, Prepare::kCached, "end"}};

  AsyncConnection open() {
    Result<AsyncConnection> session =
        AsyncConnection::connect(config_, statements_, deadline_after(kPatience), &totals_);
    EXPECT_TRUE(session) << session.error().to_string();
    return *std::move(session);
  }
  // As an event loop does it.
  static Result<ResultSet> await(AsyncConnection& session) {
    for (;;) {
      const short events = session.wants_write() ? POLLIN | POLLOUT : POLLIN;
      DIL_TRY(const bool came, poll_socket(session.socket(), events, deadline_after(kPatience)));
      EXPECT_TRUE(came);
      if (!came) return make_error(Code::kInternal, "nothing came");
      DIL_TRY(std::optional<ResultSet> rows, session.receive());
      if (rows) return *std::move(rows);
    }
  }

  CostCounters totals_;
};

TEST_F(AsyncConnectionLive, RunsPreparedStatementsOneAfterTheOther) {
  AsyncConnection session = open();
  const Cost before = totals_.snapshot();
  for (std::int64_t n = 0; n < 50; ++n) {
    ASSERT_OK(session.send(0, {n, std::to_string(n)}));
    EXPECT_TRUE(session.is_busy());
    Result<ResultSet> rows = await(session);
    ASSERT_OK(rows);
    EXPECT_FALSE(session.is_busy());
    EXPECT_EQ(*rows->row(0).int64(0), n + 1);
    EXPECT_EQ(rows->row(0)[1]->size(), static_cast<std::size_t>(n));
  }
  EXPECT_EQ(totals_.snapshot() - before, (Cost{50, 50, 50}));
}

TEST_F(AsyncConnectionLive, NeverWaitsForAResult) {
  AsyncConnection session = open();
  ASSERT_OK(session.send(0, {1, "1"}));
  for (int i = 0; i < 1000 && session.is_busy(); ++i) ASSERT_OK(session.receive());
}

TEST_F(AsyncConnectionLive, TakesResultsThatComeInManyPieces) {
  AsyncConnection session = open();
  ASSERT_OK(session.send(0, {1, std::to_string(5'000'000)}));
  Result<ResultSet> rows = await(session);
  ASSERT_OK(rows);
  EXPECT_EQ(rows->row(0)[1]->size(), 5'000'000u);
}

TEST_F(AsyncConnectionLive, SendsParametersThatTheSocketTakesInPieces) {
  AsyncConnection session = open();
  // Not a number, but a long one: the server has to take all of it to say so.
  ASSERT_OK(session.send(1, {std::string(40'000'000, '1')}));
  EXPECT_TRUE(session.wants_write());
  Result<ResultSet> rows = await(session);
  ASSERT_FALSE(rows);
  EXPECT_EQ(sqlstate(rows.error()), "22003");
  EXPECT_TRUE(session.is_open());
}

TEST_F(AsyncConnectionLive, StaysOpenAfterAStatementThatFailed) {
  AsyncConnection session = open();
  ASSERT_OK(session.send(1, {0}));
  Result<ResultSet> rows = await(session);
  ASSERT_FALSE(rows);
  EXPECT_EQ(sqlstate(rows.error()), "22012");
  EXPECT_THAT(rows.error().cause(), HasSubstr("divide"));
  ASSERT_TRUE(session.is_open());
  ASSERT_OK(session.send(0, {1, "0"}));
  ASSERT_OK(await(session));
}

TEST_F(AsyncConnectionLive, SaysThatTheSessionHasEnded) {
  AsyncConnection session = open();
  ASSERT_OK(session.send(2, {}));
  Result<ResultSet> rows = await(session);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), Code::kUnavailable);
  EXPECT_FALSE(session.is_open());
  EXPECT_FALSE(session.is_busy());
  EXPECT_FALSE(session.send(0, {1, "0"}));
  EXPECT_FALSE(session.receive());
}

TEST_F(AsyncConnectionLive, SaysThatTheSessionHasEndedWhileNothingIsDue) {
  std::string name = std::exchange(config_.application_name, schema_.name().substr(0, 30));
  AsyncConnection session = open();
  config_.application_name.swap(name);
  Connection killer = connect();
  ASSERT_OK(killer.exec(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
      {schema_.name().substr(0, 30)}));
  Result<ResultSet> rows = await(session);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), Code::kUnavailable);
  EXPECT_FALSE(session.is_open());
}

TEST_F(AsyncConnectionLive, RefusesAStatementThatCannotBePrepared) {
  const std::vector<Statement> statements = {{"SELECT nothing FROM nowhere"}};
  Result<AsyncConnection> session =
      AsyncConnection::connect(config_, statements, deadline_after(kPatience));
  ASSERT_FALSE(session);
  EXPECT_EQ(sqlstate(session.error()), "42P01");
}

TEST_F(AsyncConnectionLive, TakesNoPlaceInThePool) {
  config_.pool_max = 1;
  Result<std::unique_ptr<Pool>> pool = Pool::make(config_);
  ASSERT_OK(pool);
  Result<Lease> lease = (*pool)->acquire(deadline_after(kPatience));
  ASSERT_OK(lease);
  Result<AsyncConnection> session = (*pool)->open_async(statements_, deadline_after(kPatience));
  ASSERT_OK(session);
  ASSERT_OK(session->send(0, {1, "0"}));
  ASSERT_OK(await(*session));
  EXPECT_EQ((*pool)->counters().connects, 2);
  EXPECT_EQ((*pool)->counters().in_use, 1);
}

}  // namespace
}  // namespace duckicelake::pg
