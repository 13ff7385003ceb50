// SPDX-License-Identifier: Apache-2.0
#include "app/signals.h"

#include <csignal>
#include <ctime>

namespace duckicelake::app {
namespace {

sigset_t handled_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Signal wait_signal(std::chrono::milliseconds longest) {
  const sigset_t set = handled_signals();
  ::timespec time{};
  time.tv_sec = static_cast<std::time_t>(longest.count() / 1000);
  time.tv_nsec = static_cast<long>(longest.count() % 1000 * 1'000'000);
  const int number = ::sigtimedwait(&set, nullptr, &time);
  if (number == SIGHUP) return Signal::kReload;
  return number == SIGTERM || number == SIGINT ? Signal::kStop : Signal::kNone;
}

}  // namespace duckicelake::app
