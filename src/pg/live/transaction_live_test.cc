// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <thread>

#include "pg/live/cutting_proxy.h"
#include "pg/live/fixture.h"

namespace duckicelake::pg {
namespace {

class PgTransactionLive : public PgLive {
 protected:
  Statement insert(std::int64_t id) const {
    return {for_schema("INSERT INTO {schema}.t VALUES ($1, 'v')"), {id}};
  }

  // COMMIT of a transaction that wrote to `slow` sleeps for 20 seconds.
  void make_slow_commits() {
    Connection c = connect();
    ASSERT_OK(c.exec_script(for_schema(R"(
      CREATE TABLE {schema}.slow (id int8);
      CREATE FUNCTION {schema}.nap() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(20); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON {schema}.slow DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION {schema}.nap();)")));
  }
};

TEST_F(PgTransactionLive, CommitsInOneRoundTripWhenAllIsKnown) {
  Connection c = connect();
  const Cost before = c.cost();
  Transaction tx(c, {Isolation::kSerializable});
  const std::array<Statement, 2> statements = {insert(1), insert(2)};
  Result<std::vector<ResultSet>> results = tx.commit_with(statements);
  ASSERT_OK(results);
  EXPECT_EQ(results->size(), 2u);
  EXPECT_EQ(c.cost() - before, (Cost{2, 0, 1}));
  EXPECT_EQ(count_rows(), 2);
  EXPECT_EQ(tx.commit().error().code(), Code::kInternal);
  EXPECT_EQ(tx.exec("SELECT 1").error().code(), Code::kInternal);
}

TEST_F(PgTransactionLive, BeginTravelsWithTheFirstStatement) {
  Connection c = connect();
  const Cost before = c.cost();
  Transaction tx(c, {Isolation::kRepeatableRead, Access::kReadWrite});
  Result<ResultSet> rows = tx.exec("SELECT current_setting('transaction_isolation')");
  ASSERT_OK(rows);
  EXPECT_EQ(rows->row(0)[0], "repeatable read");
  ASSERT_OK(tx.exec(insert(1)));
  EXPECT_EQ(count_rows(), 0);
  ASSERT_OK(tx.commit());
  EXPECT_EQ((c.cost() - before).round_trips, 3u);
  EXPECT_EQ(count_rows(), 1);
}

TEST_F(PgTransactionLive, WhatWasReadAheadIsAskedForOnceWithoutARoundTrip) {
  Connection c = connect();
  const Statement one{"SELECT $1::int8", {std::int64_t{1}}};
  const Statement two{"SELECT $1::int8", {std::int64_t{2}}};
  const Statement three{"SELECT $1::int8", {std::int64_t{3}}};
  Transaction tx(c, {Isolation::kRepeatableRead});
  const std::array<Statement, 3> ahead = {one, two, one};
  ASSERT_OK(tx.read_ahead(ahead));
  const Cost before = c.cost();
  const auto number = [](const Result<ResultSet>& rows) { return rows->row(0).int64(0).value(); };
  EXPECT_EQ(number(c.exec(two)), 2);
  const std::array<Statement, 2> twice = {one, one};
  Result<std::vector<ResultSet>> both = c.batch(twice);
  ASSERT_OK(both);
  EXPECT_EQ((*both)[0].row(0).int64(0).value() + (*both)[1].row(0).int64(0).value(), 2);
  EXPECT_EQ((c.cost() - before).round_trips, 0u);
  // What is asked for a second time, or was not read ahead, goes to the server.
  EXPECT_EQ(number(tx.exec(two)), 2);
  EXPECT_EQ(number(tx.exec(three)), 3);
  EXPECT_EQ((c.cost() - before).round_trips, 2u);
  ASSERT_OK(tx.commit());
}

TEST_F(PgTransactionLive, WhatWasReadAheadEndsWithItsTransaction) {
  Connection c = connect();
  const Statement count{for_schema("SELECT count(*) FROM {schema}.t"), {}};
  for (const bool commits : {true, false}) {
    Transaction tx(c, {Isolation::kRepeatableRead});
    ASSERT_OK(tx.read_ahead({&count, 1}));
    if (commits) {
      ASSERT_OK(tx.commit());
    } else {
      tx.rollback();
    }
    Connection other = connect();
    ASSERT_OK(other.exec(insert(commits ? 1 : 2)));
    EXPECT_EQ(c.exec(count)->row(0).int64(0).value(), commits ? 1 : 2);
  }
  // A failed one leaves nothing behind either.
  Transaction tx(c, {Isolation::kRepeatableRead});
  ASSERT_OK(tx.read_ahead({&count, 1}));
  EXPECT_FALSE(tx.exec("SELECT 1 / 0"));
  tx.rollback();
  Connection other = connect();
  ASSERT_OK(other.exec(insert(3)));
  EXPECT_EQ(c.exec(count)->row(0).int64(0).value(), 3);
}

TEST_F(PgTransactionLive, AnUnusedTransactionCostsNothing) {
  Connection c = connect();
  const Cost before = c.cost();
  {
    Transaction unused(c);
  }
  Transaction committed(c);
  ASSERT_OK(committed.commit());
  EXPECT_EQ(c.cost(), before);
}

TEST_F(PgTransactionLive, RollsBackWhenDestroyed) {
  Connection c = connect();
  {
    Transaction tx(c);
    ASSERT_OK(tx.exec(insert(1)));
    c.set_deadline(deadline_after(std::chrono::milliseconds(-1)));  // also when the time is over
  }
  c.set_deadline(deadline_after(kPatience));
  EXPECT_EQ(c.transaction_state(), TransactionState::kIdle);
  EXPECT_EQ(count_rows(), 0);
}

TEST_F(PgTransactionLive, ReadOnlyRefusesWrites) {
  Connection c = connect();
  Transaction tx(c, {Isolation::kRepeatableRead, Access::kReadOnly});
  EXPECT_EQ(sqlstate(tx.exec(insert(1)).error()), "25006");
  EXPECT_EQ(c.transaction_state(), TransactionState::kIdle);
}

TEST_F(PgTransactionLive, ASecondTransactionOnAConnectionIsRefused) {
  Connection c = connect();
  Transaction outer(c);
  ASSERT_OK(outer.exec(insert(1)));
  {
    Transaction inner(c);
    EXPECT_EQ(inner.exec(insert(2)).error().code(), Code::kInternal);
  }
  ASSERT_OK(outer.commit());
  EXPECT_EQ(count_rows(), 1);
}

TEST_F(PgTransactionLive, SavepointsTakeBackAPart) {
  Connection c = connect();
  const SqlIdent name = SqlIdent::constant("one");
  Transaction tx(c);
  ASSERT_OK(tx.exec(insert(1)));
  ASSERT_OK(tx.savepoint(name));
  EXPECT_EQ(sqlstate(tx.exec(insert(1)).error()), kUniqueViolation);
  EXPECT_EQ(sqlstate(tx.exec(insert(3)).error()), "25P02");
  ASSERT_OK(tx.rollback_to(name));
  ASSERT_OK(tx.exec(insert(2)));
  ASSERT_OK(tx.release(name));
  ASSERT_OK(tx.commit());
  EXPECT_EQ(count_rows(), 2);
}

TEST_F(PgTransactionLive, CommitOfAFailedTransactionIsACleanFailure) {
  Connection c = connect();
  Transaction tx(c);
  ASSERT_OK(tx.exec(insert(1)));
  ASSERT_FALSE(tx.exec("SELECT 1/0"));
  EXPECT_EQ(tx.commit().error().code(), Code::kInternal);
  EXPECT_EQ(c.transaction_state(), TransactionState::kIdle);
  EXPECT_EQ(count_rows(), 0);
}

TEST_F(PgTransactionLive, AConstraintThatFailsAtCommitIsACleanFailure) {
  Connection c = connect();
  ASSERT_OK(
      c.exec(for_schema("ALTER TABLE {schema}.t ADD CONSTRAINT late UNIQUE (v) "
                        "DEFERRABLE INITIALLY DEFERRED")));
  Transaction tx(c);
  ASSERT_OK(tx.exec(insert(1)));
  ASSERT_OK(tx.exec(insert(2)));
  const Status status = tx.commit();
  EXPECT_TRUE(is_unique_violation(status.error(), "late")) << status.error().to_string();
  EXPECT_EQ(status.error().code(), Code::kInternal);
  EXPECT_TRUE(c.is_open());
  EXPECT_EQ(count_rows(), 0);
}

TEST_F(PgTransactionLive, SerializationConflictsAreTold) {
  Connection c = connect();
  ASSERT_OK(c.exec(insert(1)));
  const Sql update = for_schema("UPDATE {schema}.t SET v = v || 'x' WHERE id = 1");
  Transaction tx(c, {Isolation::kRepeatableRead});
  ASSERT_OK(tx.exec(for_schema("SELECT * FROM {schema}.t")));
  ASSERT_OK(connect().exec(update));
  Result<ResultSet> result = tx.exec(update);
  EXPECT_TRUE(is_serialization_conflict(result.error())) << result.error().to_string();
  EXPECT_EQ(result.error().code(), Code::kCommitFailed);
}

TEST_F(PgTransactionLive, AFailureBeforeCommitInTheSameBatchIsClean) {
  Connection c = connect();
  Transaction tx(c);
  const std::array<Statement, 3> statements = {insert(1), insert(1), insert(2)};
  Result<std::vector<ResultSet>> results = tx.commit_with(statements);
  EXPECT_EQ(sqlstate(results.error()), kUniqueViolation);
  EXPECT_EQ(c.transaction_state(), TransactionState::kIdle);
  EXPECT_EQ(count_rows(), 0);
}

TEST_F(PgTransactionLive, ASessionThatEndsDuringCommitLeavesTheOutcomeUnknown) {
  make_slow_commits();
  Connection c = connect();
  Transaction tx(c);
  ASSERT_OK(tx.exec(for_schema("INSERT INTO {schema}.slow VALUES (1)")));
  std::thread killer([&, pid = c.backend_pid()] { terminate_when(pid, "PgSleep"); });
  const Status status = tx.commit();
  killer.join();
  EXPECT_EQ(status.error().code(), Code::kCommitStateUnknown) << status.error().to_string();
  EXPECT_FALSE(c.is_open());
}

TEST_F(PgTransactionLive, ACommitThatIsNotAnsweredInTimeIsUnknown) {
  make_slow_commits();
  Connection c = connect();
  Transaction tx(c);
  ASSERT_OK(tx.exec(for_schema("INSERT INTO {schema}.slow VALUES (1)")));
  c.set_deadline(deadline_after(std::chrono::milliseconds(100)));
  EXPECT_EQ(tx.commit().error().code(), Code::kCommitStateUnknown);
}

TEST_F(PgTransactionLive, ASessionThatEndsBeforeTheCommitOfItsBatchIsACleanFailure) {
  Connection c = connect();
  Transaction tx(c);
  std::thread killer([&, pid = c.backend_pid()] { terminate_when(pid, "PgSleep"); });
  const std::array<Statement, 2> statements = {insert(1), Statement{"SELECT pg_sleep(20)"}};
  Result<std::vector<ResultSet>> results = tx.commit_with(statements);
  killer.join();
  EXPECT_EQ(results.error().code(), Code::kUnavailable) << results.error().to_string();
  EXPECT_EQ(count_rows(), 0);
}

TEST_F(PgTransactionLive, ASessionThatEndedBeforeCommitWasSentIsACleanFailure) {
  Connection c = connect();
  const int pid = c.backend_pid();
  Transaction tx(c);
  ASSERT_OK(tx.exec(insert(1)));
  terminate_when(pid, "ClientRead");
  Connection watcher = connect();
  for (;;) {
    Result<ResultSet> rows =
        watcher.exec("SELECT 1 FROM pg_stat_activity WHERE pid = $1::int8::int4", {pid});
    ASSERT_OK(rows);
    if (rows->empty()) break;
  }
  EXPECT_EQ(tx.commit().error().code(), Code::kUnavailable);
  EXPECT_EQ(count_rows(), 0);
}

// The network fails between the server's COMMIT and its answer: it happened, and nobody was told.
TEST_F(PgTransactionLive, ACommitWhoseAnswerIsLostIsUnknownAndMayHaveHappened) {
  CuttingProxy proxy(config_.endpoints.front());
  PgConfig through = config_;
  through.endpoints = {Endpoint{"127.0.0.1", proxy.port()}};
  through.sslmode = "disable";
  for (bool in_one_batch : {false, true}) {
    proxy.cut_after("");
    Result<Connection> c = Connection::connect(through, deadline_after(kPatience));
    ASSERT_OK(c);
    Transaction tx(*c);
    const std::array<Statement, 1> statements = {insert(in_one_batch ? 2 : 1)};
    if (!in_one_batch) {
      ASSERT_OK(tx.batch(statements));
    }
    proxy.cut_after("COMMIT");
    const Code code =
        in_one_batch ? tx.commit_with(statements).error().code() : tx.commit().error().code();
    EXPECT_EQ(code, Code::kCommitStateUnknown);
    EXPECT_FALSE(c->is_open());
  }
  EXPECT_EQ(count_rows(), 2);
  // A transaction that cannot have changed anything has no outcome to wonder about.
  proxy.cut_after("");
  Result<Connection> reader = Connection::connect(through, deadline_after(kPatience));
  ASSERT_OK(reader);
  Transaction reads(*reader, {Isolation::kRepeatableRead, Access::kReadOnly});
  ASSERT_OK(reads.exec("SELECT 1"));
  proxy.cut_after("COMMIT");
  EXPECT_EQ(reads.commit().error().code(), Code::kUnavailable);
  // Without a COMMIT on its way the same loss is plain unavailability.
  proxy.cut_after("");
  Result<Connection> c = Connection::connect(through, deadline_after(kPatience));
  ASSERT_OK(c);
  Transaction tx(*c);
  proxy.cut_after("INSERT");
  EXPECT_EQ(tx.exec(insert(3)).error().code(), Code::kUnavailable);
  EXPECT_EQ(count_rows(), 2);
}

}  // namespace
}  // namespace duckicelake::pg
