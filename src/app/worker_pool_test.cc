// SPDX-License-Identifier: Apache-2.0
#include "app/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

namespace duckicelake::app {
namespace {

// Occupies workers until it is opened.
struct Barrier {
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();
  std::atomic<int> entered{0};
  std::function<void()> task() {
    return [this, wait = open] {
      ++entered;
      wait.wait();
    };
  }
  void await_entered(int count) {
    while (entered.load() < count) std::this_thread::yield();
  }
};

TEST(WorkerPool, RunsTasks) {
  WorkerPool pool(3, 100);
  std::atomic<int> sum{0};
  std::promise<void> done;
  for (int i = 1; i <= 100; ++i) {
    while (!pool.try_run([&, i] {
      if (sum.fetch_add(i) + i == 5050) done.set_value();
    })) {
      std::this_thread::yield();
    }
  }
  done.get_future().wait();
  pool.stop();
  EXPECT_EQ(sum.load(), 5050);
  EXPECT_EQ(pool.counters().finished, 100U);
}

TEST(WorkerPool, RefusesAtOnceWhenTheQueueIsFull) {
  Barrier barrier;
  WorkerPool pool(2, 3);
  ASSERT_TRUE(pool.try_run(barrier.task()));
  ASSERT_TRUE(pool.try_run(barrier.task()));
  barrier.await_entered(2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.try_run([] {}));
  auto held = std::make_shared<int>(1);
  EXPECT_FALSE(pool.try_run([held] {}));
  EXPECT_EQ(held.use_count(), 1) << "a refused task is destroyed";
  const WorkerPool::Counters counters = pool.counters();
  EXPECT_EQ(counters.busy, 2U);
  EXPECT_EQ(counters.waiting, 3U);
  EXPECT_EQ(counters.refused, 1U);
  barrier.opened.set_value();
}

TEST(WorkerPool, TellsWhenItIsIdle) {
  Barrier barrier;
  WorkerPool pool(1, 10);
  EXPECT_TRUE(pool.wait_idle(std::chrono::milliseconds(0)));
  ASSERT_TRUE(pool.try_run(barrier.task()));
  ASSERT_TRUE(pool.try_run([] {}));
  EXPECT_FALSE(pool.wait_idle(std::chrono::milliseconds(1)));
  barrier.opened.set_value();
  EXPECT_TRUE(pool.wait_idle(std::chrono::seconds(10)));
  EXPECT_EQ(pool.counters().finished, 2U);
}

TEST(WorkerPool, EndsRunningTasksAndDropsWaitingOnes) {
  Barrier barrier;
  auto held = std::make_shared<int>(1);
  std::atomic<bool> ran{false};
  WorkerPool pool(1, 10);
  ASSERT_TRUE(pool.try_run(barrier.task()));
  barrier.await_entered(1);
  ASSERT_TRUE(pool.try_run([held, &ran] { ran = true; }));
  std::thread opener([&] {
    while (pool.try_run([] {})) std::this_thread::yield();  // until it stops
    barrier.opened.set_value();
  });
  pool.stop();
  opener.join();
  EXPECT_FALSE(ran.load());
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(pool.try_run([] {}));
}

}  // namespace
}  // namespace duckicelake::app
