// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"

namespace duckicelake::catalog {

// Calls f(0) … f(count - 1), at most `threads` at a time, and returns the first error. After an
// error no further call begins. For waiting on the object store and the engine, not for computing.
template <class F>
Status parallel_for(std::size_t count, std::size_t threads, F f) {
  if (count == 0) return {};
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards error
  std::optional<Error> error;
  std::atomic<bool> failed{false};
  const auto work = [&] {
    while (!failed.load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count) return;
      Status status = f(i);
      if (status.has_value()) continue;
      failed.store(true);
      std::lock_guard lock(mutex);
      if (!error) error = std::move(status).error();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (error) return std::move(*error);
  return {};
}

}  // namespace duckicelake::catalog
