// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "rest/executor.h"

namespace duckicelake::app {

// A fixed number of threads and a bounded queue before them. Tasks begin in the order in which they
// were taken. Thread-safe.
class WorkerPool final : public rest::Executor {
 public:
  WorkerPool(std::size_t threads, std::size_t max_waiting);
  ~WorkerPool() override;  // stop()

  // False when the queue is full or the pool has ended: the task is destroyed without having run.
  bool try_run(std::function<void()> task) override;

  // Waits until no task runs or waits; false when `longest` has passed before.
  bool wait_idle(std::chrono::milliseconds longest);
  // Destroys the tasks that have not begun and waits for those that have. Not from a task.
  void stop();

  struct Counters {
    std::uint64_t threads = 0;
    std::uint64_t busy = 0;     // now
    std::uint64_t waiting = 0;  // now
    std::uint64_t finished = 0;
    std::uint64_t refused = 0;
  };
  Counters counters() const;

 private:
  void run();

  const std::size_t max_waiting_;
  mutable std::mutex tasks_mutex_;  // guards all below but the threads
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t busy_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t refused_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace duckicelake::app
