// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace duckicelake::rest {

// The bounded pool of worker threads on which routes do what blocks. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // Takes the task or refuses it at once (false): never waits. Called on I/O threads. A task that
  // was taken is run, or destroyed when the pool ends (its request then gets a 503).
  virtual bool try_run(std::function<void()> task) = 0;
};

}  // namespace duckicelake::rest
