// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace duckicelake::pg {

// A point of the monotonic clock at which a wait gives up.
using Deadline = std::chrono::steady_clock::time_point;

inline Deadline deadline_after(std::chrono::milliseconds wait) {
  return std::chrono::steady_clock::now() + wait;
}

inline bool has_passed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

inline Deadline earlier(Deadline a, Deadline b) { return std::min(a, b); }

}  // namespace duckicelake::pg
