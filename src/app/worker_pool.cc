// SPDX-License-Identifier: Apache-2.0
#include "app/worker_pool.h"

#include <utility>

namespace duckicelake::app {

WorkerPool::WorkerPool(std::size_t threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkerPool::~WorkerPool() { stop(); }

bool WorkerPool::try_run(std::function<void()> task) {
  {
    std::lock_guard lock(tasks_mutex_);
    if (stopping_ || waiting_.size() >= max_waiting_) {
      ++refused_;
      return false;
    }
    waiting_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

bool WorkerPool::wait_idle(std::chrono::milliseconds longest) {
  std::unique_lock lock(tasks_mutex_);
  return idle_.wait_for(lock, longest, [this] { return waiting_.empty() && busy_ == 0; });
}

void WorkerPool::stop() {
  std::deque<std::function<void()>> dropped;  // destroyed without the lock
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(tasks_mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

WorkerPool::Counters WorkerPool::counters() const {
  std::lock_guard lock(tasks_mutex_);
  return {threads_.size(), busy_, waiting_.size(), finished_, refused_};
}

void WorkerPool::run() {
  std::unique_lock lock(tasks_mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before it counts as finished
    lock.lock();
    --busy_;
    ++finished_;
    if (busy_ == 0 && waiting_.empty()) idle_.notify_all();
  }
}

}  // namespace duckicelake::app
