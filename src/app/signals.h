// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace duckicelake::app {

enum class Signal { kNone, kStop, kReload };

// Takes SIGTERM, SIGINT and SIGHUP out of the usual handling and ignores SIGPIPE. Call it before
// the first thread is made: threads inherit it.
void block_signals();

// The next of them, or kNone when `longest` has passed.
Signal wait_signal(std::chrono::milliseconds longest);

}  // namespace duckicelake::app
