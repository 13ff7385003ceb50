// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace duckicelake::engine {

// Blocks all signals of this thread while it lives. Threads that start meanwhile inherit the block,
// so the process's signals keep reaching the threads that expect them.
class SignalGuard {
 public:
  SignalGuard() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &previous_);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_;
};

}  // namespace duckicelake::engine
