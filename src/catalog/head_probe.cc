// SPDX-License-Identifier: Apache-2.0
#include "catalog/head_probe.h"

#include <algorithm>
#include <utility>

namespace duckicelake::catalog {

HeadProbe::HeadProbe(pg::Pool& pool, store::Lake lake, const Post& post, Sessions sessions)
    : pool_(pool),
      lake_(std::move(lake)),
      sessions_(sessions),
      readers_{HeadReader(pool, lake_, changes_, counters_, post),
               HeadReader(pool, lake_, changes_, counters_, post)} {}

void HeadProbe::close() {
  for (HeadReader& reader : readers_) reader.close();
}

HeadProbe::Counters HeadProbe::counters() const {
  return {counters_.probes.load(std::memory_order_relaxed),
          counters_.questions.load(std::memory_order_relaxed),
          counters_.failures.load(std::memory_order_relaxed)};
}

Result<HeadProbe::Fresh> HeadProbe::await_blocking(pg::Deadline deadline) {
  counters_.questions.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(rounds_mutex_);
  if (!next_round_) next_round_ = std::make_shared<Round>();
  const std::shared_ptr<Round> round = next_round_;
  // Woken by the end of each round: that of one's own, or the one before, when the first to wake
  // begins the next.
  const bool in_time = round_ended_.wait_until(
      lock, deadline, [&] { return round->result.has_value() || !is_reading_; });
  if (!in_time) {
    return Error(Code::kDeadlineExceeded, "the catalog's database did not answer in time");
  }
  if (round->result) return *round->result;
  is_reading_ = true;
  next_round_.reset();
  lock.unlock();
  // Read after all of this round have asked: what it shows is not older than any question.
  Result<Fresh> result = read();
  counters_.probes.fetch_add(1, std::memory_order_relaxed);
  if (!result) counters_.failures.fetch_add(1, std::memory_order_relaxed);
  lock.lock();
  is_reading_ = false;
  round->result = result;
  round_ended_.notify_all();
  return result;
}

Result<HeadProbe::Fresh> HeadProbe::read() {
  const pg::Deadline deadline = pg::deadline_after(kHeadReadTime);
  // A connection that PostgreSQL's restart has cut shows it only when it is used: one more try with
  // a new one.
  for (int attempt = 0;; ++attempt) {
    if (!lease_ || !(*lease_)->is_open()) {
      lease_.reset();
      DIL_TRY(pg::Lease lease, pool_.acquire(deadline));
      lease_ = std::make_unique<pg::Lease>(std::move(lease));
    }
    (*lease_)->set_deadline(deadline);
    Result<Fresh> fresh = read_with(**lease_);
    if (fresh) {
      if (sessions_ == Sessions::kFew) lease_.reset();
      return fresh;
    }
    lease_->discard();
    lease_.reset();
    if (attempt > 0 || pg::has_passed(deadline)) return fresh;
  }
}

Result<HeadProbe::Fresh> HeadProbe::read_with(pg::Connection& connection) {
  const SnapshotId watched_before = changes_.watched();
  DIL_TRY(store::LakeHead head, store::load_head(connection, lake_));
  bool is_behind = changes_.see(head.snapshot, watched_before) == ChangeLog::Reach::kBehind;
  while (is_behind) {
    DIL_TRY(const std::vector<store::ChangesRow> rows,
            store::load_changes(connection, lake_, changes_.watched(), kChangesStep));
    DIL_CHECK_OK(changes_.take_in(rows));
    // What was committed since the head was read is known too.
    if (!rows.empty()) head.snapshot = std::max(head.snapshot, rows.back().snapshot);
    is_behind = rows.size() == static_cast<std::size_t>(kChangesStep);
  }
  return Fresh{head};
}

}  // namespace duckicelake::catalog
