// SPDX-License-Identifier: Apache-2.0
#include "catalog/shared_eager.h"

#include "store/eager.h"
#include "store/registry.h"

namespace duckicelake::catalog {
namespace {

constexpr std::chrono::seconds kConnectTime{5};
constexpr std::chrono::seconds kStatementTime{30};
// How long the thread may be deaf to its own end.
constexpr std::chrono::milliseconds kSlice{250};
// Catalogs whose place is remembered; the others are looked at as if for the first time.
constexpr std::size_t kMaxSeen = 10'000;

}  // namespace

SharedEager::SharedEager(pg::Pool& pool, Find find)
    : pool_(pool), find_(std::move(find)), thread_([this] { run(); }) {}

SharedEager::~SharedEager() {
  is_over_ = true;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

SharedEager::Counters SharedEager::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

bool SharedEager::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stopping_; });
}

void SharedEager::run() {
  do {
    Result<pg::Connection> connection =
        pg::Connection::connect(pool_.config(), pg::deadline_after(kConnectTime));
    if (!connection.has_value()) continue;
    const Result<bool> elected = store::try_lead_shared(*connection);
    if (!elected.has_value() || !*elected) continue;
    {
      const std::lock_guard lock(mutex_);
      counters_.is_leader = true;
    }
    (void)lead(*connection).has_value();
    const std::lock_guard lock(mutex_);
    counters_.is_leader = false;
  } while (wait(EagerProjection::kElection));
}

Status SharedEager::lead(pg::Connection& connection) {
  seen_.clear();
  DIL_CHECK_OK(store::listen_to_snapshots(connection));
  while (!is_over_) {
    DIL_TRY(std::optional<pg::Notification> note,
            connection.wait_notify(pg::deadline_after(kSlice)));
    if (!note) continue;
    // Those that came meanwhile are of the same burst.
    std::set<std::string> schemas;
    while (note) {
      schemas.insert(std::move(note->payload));
      {
        const std::lock_guard lock(mutex_);
        ++counters_.notifications;
      }
      DIL_TRY(note, connection.wait_notify(pg::deadline_after(std::chrono::milliseconds(0))));
    }
    connection.set_deadline(pg::deadline_after(kStatementTime));
    DIL_TRY(const std::int64_t registry, store::load_catalogs_version(connection));
    for (const std::string& schema : schemas) {
      if (is_over_) return {};
      connection.set_deadline(pg::deadline_after(kStatementTime));
      const Status done = catch_up(connection, schema, registry);
      if (done.has_value()) continue;
      if (!connection.is_open()) return done;
      const std::lock_guard lock(mutex_);
      ++counters_.failures;
    }
  }
  return {};
}

Status SharedEager::catch_up(pg::Connection& connection, const std::string& schema,
                             std::int64_t registry) {
  DIL_TRY(const std::optional<Target> target, find_(schema, registry));
  if (!target) return {};
  const auto known = seen_.find(schema);
  EagerProjection::Changed changed;
  SnapshotId through;
  if (known == seen_.end()) {
    DIL_TRY(const store::LakeHead head, store::load_head(connection, target->lake));
    DIL_TRY(const std::set<TableId> stale, store::load_stale_tables(connection, target->lake));
    through = head.snapshot;
    for (const TableId table : stale) changed.emplace(table, through);
  } else {
    through = known->second;
    DIL_TRY(changed, EagerProjection::changed_tables(connection, target->lake, through));
  }
  if (seen_.size() >= kMaxSeen) seen_.clear();
  seen_[schema] = through;
  for (const auto& [table, snapshot] : changed) {
    if (is_over_) return {};
    const Status done = target->publish(table, snapshot);
    const std::lock_guard lock(mutex_);
    ++(done.has_value() ? counters_.published : counters_.failures);
  }
  if (changed.empty()) return {};
  connection.set_deadline(pg::deadline_after(kStatementTime));
  const Result<double> age = store::load_snapshot_age(connection, target->lake, through);
  const std::lock_guard lock(mutex_);
  if (age.has_value()) counters_.lag_seconds = *age;
  return {};
}

}  // namespace duckicelake::catalog
