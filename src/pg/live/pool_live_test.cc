// SPDX-License-Identifier: Apache-2.0
#include "pg/pool.h"

#include <thread>

#include "pg/live/fixture.h"

namespace duckicelake::pg {
namespace {

class PgPoolLive : public PgLive {
 protected:
  std::unique_ptr<Pool> make_pool(std::size_t max) {
    PgConfig config = config_;
    config.pool_max = max;
    config.acquire_timeout = std::chrono::milliseconds(100);
    Result<std::unique_ptr<Pool>> pool = Pool::make(config);
    EXPECT_TRUE(pool);
    return *std::move(pool);
  }
  static Deadline soon() { return deadline_after(kPatience); }
};

TEST_F(PgPoolLive, ReusesConnectionsAndCounts) {
  std::unique_ptr<Pool> pool = make_pool(4);
  int pid = 0;
  for (int i = 0; i < 3; ++i) {
    Result<Lease> lease = pool->acquire(soon());
    ASSERT_OK(lease);
    if (pid == 0) pid = (*lease)->backend_pid();
    EXPECT_EQ((*lease)->backend_pid(), pid);
    ASSERT_OK((*lease)->exec("SELECT g FROM generate_series(1, 5) g"));
    EXPECT_EQ(pool->counters().in_use, 1u);
  }
  const PoolCounters counters = pool->counters();
  EXPECT_EQ(counters.in_use, 0u);
  EXPECT_EQ(counters.idle, 1u);
  EXPECT_EQ(counters.connects, 1u);
  EXPECT_EQ(counters.acquired, 3u);
  EXPECT_EQ(counters.cost.statements, 3u);
  EXPECT_EQ(counters.cost.rows_read, 15u);
  EXPECT_EQ(counters.cost.round_trips, 4u);  // one sets the session up
}

TEST_F(PgPoolLive, AnExhaustedPoolIsUnavailableAfterItsTimeout) {
  std::unique_ptr<Pool> pool = make_pool(2);
  Result<Lease> first = pool->acquire(soon());
  Result<Lease> second = pool->acquire(soon());
  ASSERT_OK(second);
  Result<Lease> third = pool->acquire(soon());
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), Code::kUnavailable);
  EXPECT_EQ(pool->counters().acquire_timeouts, 1u);
  EXPECT_EQ(pool->counters().waiting, 0u);
  {
    Lease gone = *std::move(first);
  }
  ASSERT_OK(pool->acquire(soon()));
}

TEST_F(PgPoolLive, AWaiterGetsWhatIsGivenBackAlsoWhenItIsBroken) {
  for (bool is_broken : {false, true}) {
    std::unique_ptr<Pool> pool = make_pool(1);
    std::optional<Lease> lease = *pool->acquire(soon());
    if (is_broken) lease->discard();
    std::thread waiter([&] {
      Result<Lease> mine = pool->acquire(soon());
      ASSERT_OK(mine);
      ASSERT_OK((*mine)->ping());
    });
    while (pool->counters().waiting == 0) std::this_thread::yield();
    lease.reset();
    waiter.join();
    EXPECT_EQ(pool->counters().dropped, is_broken ? 1u : 0u);
    EXPECT_EQ(pool->counters().waits, 1u);
  }
}

TEST_F(PgPoolLive, AConnectionLeftInATransactionIsNotReused) {
  std::unique_ptr<Pool> pool = make_pool(1);
  {
    Result<Lease> lease = pool->acquire(soon());
    ASSERT_OK((*lease)->exec(Statement{"BEGIN", {}, Prepare::kOnce}));
    ASSERT_OK((*lease)->exec(for_schema("INSERT INTO {schema}.t VALUES (1, 'a')")));
  }
  EXPECT_EQ(pool->counters().dropped, 1u);
  EXPECT_EQ(pool->counters().idle, 0u);
  EXPECT_EQ(count_rows(), 0);
  ASSERT_OK(pool->acquire(soon()));
}

TEST_F(PgPoolLive, SessionsThatTheServerEndedAreReplacedUnseen) {
  std::unique_ptr<Pool> pool = make_pool(4);
  std::vector<int> pids;
  {
    std::vector<Lease> leases;
    for (int i = 0; i < 4; ++i) {
      Result<Lease> lease = pool->acquire(soon());
      ASSERT_OK(lease);
      pids.push_back((*lease)->backend_pid());
      leases.push_back(*std::move(lease));
    }
  }
  for (int pid : pids) terminate_when(pid, "ClientRead");
  Connection watcher = connect();
  for (int pid : pids) {
    for (;;) {
      Result<ResultSet> rows =
          watcher.exec("SELECT 1 FROM pg_stat_activity WHERE pid = $1::int8::int4", {pid});
      ASSERT_OK(rows);
      if (rows->empty()) break;
    }
  }
  Result<Lease> lease = pool->acquire(soon());
  ASSERT_OK(lease);
  ASSERT_OK((*lease)->ping());
  EXPECT_EQ(pool->counters().dropped, 4u);
  EXPECT_EQ(pool->counters().connects, 5u);
}

TEST_F(PgPoolLive, AServerThatIsAwayIsUnavailableAndLeavesNoSlotTaken) {
  config_.endpoints = {Endpoint{"127.0.0.1", 1}};
  std::unique_ptr<Pool> pool = make_pool(2);
  for (int i = 0; i < 5; ++i) {
    Result<Lease> lease = pool->acquire(soon());
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code(), Code::kUnavailable);
  }
  EXPECT_EQ(pool->counters().connect_failures, 5u);
  EXPECT_EQ(pool->counters().in_use, 0u);
  config_.user.clear();  // nothing to take down
  SUCCEED();
}

TEST_F(PgPoolLive, IdleConnectionsAreCheckedAndClosedByAge) {
  config_.idle_check_after = std::chrono::milliseconds(0);
  config_.idle_close_after = std::chrono::milliseconds(0);
  config_.pool_min = 1;
  std::unique_ptr<Pool> pool = make_pool(4);
  {
    Result<Lease> a = pool->acquire(soon());
    Result<Lease> b = pool->acquire(soon());
    ASSERT_OK(b);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const std::uint64_t before = pool->counters().cost.round_trips;
  ASSERT_OK(pool->acquire(soon()));
  EXPECT_EQ(pool->counters().cost.round_trips, before + 1);  // the ping
  EXPECT_EQ(pool->counters().idle, 1u);
  ASSERT_OK(pool->warm_up(soon()));
  pool->close_idle();
  EXPECT_EQ(pool->counters().idle, 0u);
}

TEST_F(PgPoolLive, ManyThreadsShareFewConnections) {
  config_.acquire_timeout = kPatience;
  PgConfig config = config_;
  config.pool_max = 3;
  std::unique_ptr<Pool> pool = *Pool::make(config);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) {
        Result<Lease> lease = pool->acquire(soon());
        ASSERT_OK(lease);
        if (n % 10 == i % 10) {
          lease->discard();
          continue;
        }
        Result<ResultSet> rows = (*lease)->exec("SELECT $1", {i * 100 + n});
        ASSERT_OK(rows);
        ASSERT_EQ(*rows->row(0).int64(0), i * 100 + n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const PoolCounters counters = pool->counters();
  EXPECT_EQ(counters.in_use, 0u);
  EXPECT_LE(counters.idle, 3u);
  EXPECT_EQ(counters.acquired, 400u);
  EXPECT_EQ(counters.cost.statements, 360u);
  EXPECT_EQ(counters.dropped, 40u);
}

}  // namespace
}  // namespace duckicelake::pg
