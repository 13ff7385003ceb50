// SPDX-License-Identifier: Apache-2.0
#include "catalog/eager.h"

#include "ducklake/changes.h"
#include "store/eager.h"

namespace duckicelake::catalog {
namespace {

constexpr std::chrono::seconds kConnectTime{5};
constexpr std::chrono::seconds kStatementTime{30};
// How long the thread may be deaf to its own end.
constexpr std::chrono::milliseconds kSlice{250};
constexpr std::int64_t kBatch = 10'000;

}  // namespace

EagerProjection::EagerProjection(pg::Pool& pool, const store::Lake& lake, Publish publish)
    : pool_(pool), lake_(lake), publish_(std::move(publish)), thread_([this] { run(); }) {}

EagerProjection::~EagerProjection() {
  is_over_ = true;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

EagerProjection::Counters EagerProjection::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

bool EagerProjection::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stopping_; });
}

void EagerProjection::run() {
  do {
    Result<pg::Connection> connection =
        pg::Connection::connect(pool_.config(), pg::deadline_after(kConnectTime));
    if (!connection.has_value()) continue;
    const Result<bool> elected = store::try_lead(*connection, lake_);
    if (!elected.has_value() || !*elected) continue;
    {
      std::lock_guard lock(mutex_);
      counters_.is_leader = true;
    }
    (void)lead(*connection).has_value();
    std::lock_guard lock(mutex_);
    counters_.is_leader = false;
  } while (wait(kElection));
}

Status EagerProjection::lead(pg::Connection& connection) {
  // Listen first: what is committed from here on is heard, what was before is looked up.
  DIL_CHECK_OK(store::listen_to_snapshots(connection));
  connection.set_deadline(pg::deadline_after(kStatementTime));
  DIL_TRY(store::LakeHead head, store::load_head(connection, lake_));
  DIL_TRY(std::set<TableId> stale, store::load_stale_tables(connection, lake_));
  seen_ = head.snapshot;
  Changed behind;
  for (const TableId table : stale) behind.emplace(table, head.snapshot);
  publish(connection, behind);
  auto last_look = std::chrono::steady_clock::now();
  while (!is_over_) {
    DIL_TRY(std::optional<pg::Notification> note,
            connection.wait_notify(pg::deadline_after(kSlice)));
    const auto now = std::chrono::steady_clock::now();
    if (note) {
      std::lock_guard lock(mutex_);
      ++counters_.notifications;
    } else if (now - last_look < kCatchUp) {
      continue;
    }
    last_look = now;
    // Those that came meanwhile are of the same burst.
    while (note) {
      DIL_TRY(note, connection.wait_notify(pg::deadline_after(std::chrono::milliseconds(0))));
    }
    connection.set_deadline(pg::deadline_after(kStatementTime));
    DIL_TRY(Changed tables, changed_tables(connection, lake_, seen_));
    publish(connection, tables);
  }
  return {};
}

Result<EagerProjection::Changed> EagerProjection::changed_tables(pg::Connection& connection,
                                                                 const store::Lake& lake,
                                                                 SnapshotId& seen) {
  Changed out;
  DIL_TRY(std::vector<store::ChangesRow> rows, store::load_changes(connection, lake, seen, kBatch));
  for (const store::ChangesRow& row : rows) {
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      if (change.kind == ducklake::ChangeKind::kAlteredTable || change.touches_data()) {
        out[TableId(change.id)] = row.snapshot;
      }
    }
    seen = row.snapshot;
  }
  return out;
}

void EagerProjection::publish(pg::Connection& connection, const Changed& tables) {
  for (const auto& [table, snapshot] : tables) {
    if (is_over_) return;
    const Status done = publish_(table, snapshot);
    std::lock_guard lock(mutex_);
    ++(done.has_value() ? counters_.published : counters_.failures);
  }
  if (tables.empty()) return;
  connection.set_deadline(pg::deadline_after(kStatementTime));
  const Result<double> age = store::load_snapshot_age(connection, lake_, seen_);
  std::lock_guard lock(mutex_);
  if (age.has_value()) counters_.lag_seconds = *age;
}

}  // namespace duckicelake::catalog
