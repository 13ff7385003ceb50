// SPDX-License-Identifier: Apache-2.0
#include "catalog/failure_limit.h"

#include <algorithm>

namespace duckicelake::catalog {

double FailureLimit::failures_now(const Level& level, double now) const {
  return std::max(0.0, level.failures - (now - level.at) / seconds_per_failure_);
}

double FailureLimit::wait_seconds(const std::string& key, double now) const {
  const std::lock_guard lock(mutex_);
  const auto found = levels_.find(key);
  if (found == levels_.end()) return 0;
  const double over = failures_now(found->second, now) - (burst_ - 1);
  return over <= 0 ? 0 : over * seconds_per_failure_;
}

void FailureLimit::note_failure(const std::string& key, double now) {
  const std::lock_guard lock(mutex_);
  if (levels_.size() >= kMaxKeys && !levels_.contains(key)) forget_some(now);
  Level& level = levels_[key];
  // No more than twice the burst: whoever goes on failing waits for so long, and not for ever.
  level.failures = std::min(failures_now(level, now) + 1, 2 * burst_);
  level.at = now;
}

void FailureLimit::forget_some(double now) {
  std::erase_if(levels_, [&](const auto& one) { return failures_now(one.second, now) <= 0; });
  double least = 1;
  while (levels_.size() >= kMaxKeys) {
    std::erase_if(levels_, [&](const auto& one) { return failures_now(one.second, now) <= least; });
    least += 1;
  }
}

}  // namespace duckicelake::catalog
