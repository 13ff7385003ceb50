// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace duckicelake::catalog {

// How often something may fail for one key: `burst` times at once, then once for each
// `seconds_per_failure`. Keys that did not fail lately are forgotten; when there are more than
// kMaxKeys, so are those that failed least. Thread-safe.
class FailureLimit {
 public:
  static constexpr std::size_t kMaxKeys = 20'000;
  FailureLimit(double burst, double seconds_per_failure)
      : burst_(burst), seconds_per_failure_(seconds_per_failure) {}

  // Seconds until the key may try again; 0: now. `now` in seconds of any steady clock.
  double wait_seconds(const std::string& key, double now) const;
  void note_failure(const std::string& key, double now);

 private:
  struct Level {
    double failures = 0;  // at `at`; they wear off with time
    double at = 0;
  };
  double failures_now(const Level& level, double now) const;
  void forget_some(double now);

  const double burst_;
  const double seconds_per_failure_;
  mutable std::mutex mutex_;  // guards levels_
  std::unordered_map<std::string, Level> levels_;
};

}  // namespace duckicelake::catalog
