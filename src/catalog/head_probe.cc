// SPDX-License-Identifier: Apache-2.0
#include "catalog/head_probe.h"

#include <algorithm>
#include <future>

#include "ducklake/changes.h"

namespace duckicelake::catalog {
namespace {

constexpr std::chrono::milliseconds kProbeTimeout{5'000};
constexpr std::int64_t kChangesLimit = 10'000;

bool changes_names(ducklake::ChangeKind kind) {
  switch (kind) {
    case ducklake::ChangeKind::kCreatedSchema:
    case ducklake::ChangeKind::kDroppedSchema:
    case ducklake::ChangeKind::kCreatedTable:
    case ducklake::ChangeKind::kDroppedTable:
    case ducklake::ChangeKind::kCreatedView:
    case ducklake::ChangeKind::kDroppedView:
    case ducklake::ChangeKind::kOther: return true;
    default: return false;
  }
}

}  // namespace

HeadProbe::HeadProbe(pg::Pool& pool, store::Lake lake, Post post)
    : pool_(pool), lake_(std::move(lake)), post_(std::move(post)), thread_([this] { run(); }) {}

HeadProbe::~HeadProbe() {
  {
    std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void HeadProbe::await(std::size_t thread_index, Callback callback) {
  bool wakes = false;
  {
    std::lock_guard lock(queue_mutex_);
    waiters_.push_back({thread_index, false, std::move(callback)});
    ++counters_.questions;
    wakes = waiters_.size() == 1 || waiters_.size() == expected_;
  }
  if (wakes) wake_.notify_one();
}

Result<HeadProbe::Fresh> HeadProbe::await_blocking(pg::Deadline deadline) {
  auto promise = std::make_shared<std::promise<Result<Fresh>>>();
  std::future<Result<Fresh>> future = promise->get_future();
  {
    std::lock_guard lock(queue_mutex_);
    waiters_.push_back(
        {0, true, [promise](const Result<Fresh>& fresh) { promise->set_value(fresh); }});
    ++counters_.questions;
  }
  wake_.notify_one();
  if (future.wait_until(deadline) != std::future_status::ready) {
    return Error(Code::kDeadlineExceeded, "the catalog's database did not answer in time");
  }
  return future.get();
}

SnapshotId HeadProbe::last_change(TableId table) const {
  std::lock_guard lock(changes_mutex_);
  auto it = last_change_.find(table);
  return it == last_change_.end() ? SnapshotId(-1) : it->second;
}

SnapshotId HeadProbe::last_name_change() const {
  std::lock_guard lock(changes_mutex_);
  return last_name_change_;
}

HeadProbe::Counters HeadProbe::counters() const {
  std::lock_guard lock(queue_mutex_);
  return counters_;
}

void HeadProbe::run() {
  while (true) {
    std::vector<Waiter> waiters;
    {
      std::unique_lock lock(queue_mutex_);
      wake_.wait(lock, [this] { return stopping_ || !waiters_.empty(); });
      if (stopping_ && waiters_.empty()) break;
      const bool came = waiters_.size() >= expected_ || wake_.wait_for(lock, kGatherWindow, [this] {
        return stopping_ || waiters_.size() >= expected_;
      });
      waiters.swap(waiters_);
      if (!came) expected_ = std::max<std::size_t>(1, waiters.size());
      expected_ = std::max(expected_, waiters.size() / 2);
    }
    // Read after the questions were taken: what it shows is not older than any of them.
    Result<Fresh> result = read();
    {
      std::lock_guard lock(queue_mutex_);
      ++counters_.probes;
      if (!result.has_value()) ++counters_.failures;
    }
    answer(std::move(waiters), result);
  }
  lease_.reset();
}

Result<HeadProbe::Fresh> HeadProbe::read() {
  const pg::Deadline deadline = pg::deadline_after(kProbeTimeout);
  // A connection that PostgreSQL's restart has cut shows it only when it is used: one more try with
  // a new one.
  for (int attempt = 0;; ++attempt) {
    if (!lease_ || !(*lease_)->is_open()) {
      lease_.reset();
      DIL_TRY(pg::Lease lease, pool_.acquire(deadline));
      lease_ = std::make_unique<pg::Lease>(std::move(lease));
    }
    (*lease_)->set_deadline(deadline);
    Result<store::LakeHead> head = store::load_head(**lease_, lake_);
    if (!head.has_value()) {
      lease_->discard();
      lease_.reset();
      if (attempt == 0 && !pg::has_passed(deadline)) continue;
      return std::move(head).error();
    }
    SnapshotId watched;
    {
      std::lock_guard lock(changes_mutex_);
      watched = watched_;
    }
    if (watched.value < 0 || head->snapshot < watched) {
      // The first read, or a lake that was set back: whatever is cached was made before this point.
      std::lock_guard lock(changes_mutex_);
      last_change_.clear();
      last_name_change_ = head->snapshot;
      watched_ = head->snapshot;
    } else if (watched < head->snapshot) {
      DIL_TRY(std::vector<store::ChangesRow> rows,
              store::load_changes(**lease_, lake_, watched, kChangesLimit));
      DIL_CHECK_OK(take_in(rows));
      if (!rows.empty()) head->snapshot = std::max(head->snapshot, rows.back().snapshot);
    }
    return Fresh{*head};
  }
}

Status HeadProbe::take_in(const std::vector<store::ChangesRow>& rows) {
  std::lock_guard lock(changes_mutex_);
  for (const store::ChangesRow& row : rows) {
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      if (changes_names(change.kind)) last_name_change_ = row.snapshot;
      if (change.kind == ducklake::ChangeKind::kAlteredTable || change.touches_data()) {
        last_change_[TableId(change.id)] = row.snapshot;
      }
    }
    watched_ = row.snapshot;
  }
  return {};
}

void HeadProbe::answer(std::vector<Waiter> waiters, const Result<Fresh>& result) {
  std::unordered_map<std::size_t, std::vector<Callback>> by_thread;
  for (Waiter& waiter : waiters) {
    if (waiter.is_blocking) {
      waiter.callback(result);
    } else {
      by_thread[waiter.thread_index].push_back(std::move(waiter.callback));
    }
  }
  for (auto& [thread_index, callbacks] : by_thread) {
    auto shared = std::make_shared<std::vector<Callback>>(std::move(callbacks));
    auto outcome = std::make_shared<Result<Fresh>>(result);
    auto task = [shared, outcome] {
      for (Callback& callback : *shared) callback(*outcome);
    };
    // A thread that is over has no connections left to answer.
    (void)post_(thread_index, std::move(task));
  }
}

}  // namespace duckicelake::catalog
