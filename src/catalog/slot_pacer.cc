// SPDX-License-Identifier: Apache-2.0
#include "catalog/slot_pacer.h"

namespace duckicelake::catalog {

SlotPacer::Clock::time_point SlotPacer::admit(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (foreign_at_ == Clock::time_point::min() || now - foreign_at_ > kMemory) return now;
  const bool is_fresh =
      window_start_ == Clock::time_point::min() || now >= window_start_ + kWindow + kPause;
  if (is_fresh) window_start_ = now;
  if (now < window_start_) return window_start_;  // the next window is set already
  if (now < window_start_ + kWindow) return now;
  window_start_ += kWindow + kPause;
  return window_start_;
}

void SlotPacer::released(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (window_start_ == Clock::time_point::min() || now <= window_start_ + kWindow) return;
  window_start_ = now - kWindow;
}

void SlotPacer::note(SnapshotId newest_foreign, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  // The first one seen may be old.
  if (has_noted_ && newest_foreign > known_foreign_) foreign_at_ = now;
  has_noted_ = true;
  if (newest_foreign > known_foreign_) known_foreign_ = newest_foreign;
}

}  // namespace duckicelake::catalog
