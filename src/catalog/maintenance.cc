// SPDX-License-Identifier: Apache-2.0
#include "catalog/maintenance.h"

#include <algorithm>

#include "catalog/own_files.h"

namespace duckicelake::catalog {
namespace {

constexpr std::int64_t kTablePage = 500;
constexpr std::int64_t kExpirePage = 1000;
// A commit that came between looking and hiding: look again.
constexpr int kMaxTries = 3;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// The right to maintain the lake, for the life of a connection at most.
class Maintenance::Hold {
 public:
  Hold(const Backends& backends, pg::Deadline until) : backends_(backends), until_(until) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (is_held_ && !store::unlock_maintenance(**lease_, backends_.lake).has_value()) {
      lease_->discard();
    }
  }

  Status take() {
    DIL_TRY(lease_, backends_.pool.acquire(until_));
    (*lease_)->set_deadline(until_);
    DIL_TRY(is_held_, store::try_lock_maintenance(**lease_, backends_.lake));
    if (is_held_) return {};
    return Error(Code::kUnavailable, "another maintenance of this catalog is under way");
  }
  pg::Connection& connection() { return **lease_; }

 private:
  const Backends& backends_;
  const pg::Deadline until_;
  std::optional<pg::Lease> lease_;
  bool is_held_ = false;
};

Result<std::shared_ptr<const TableView>> Maintenance::publish(TableId table, pg::Deadline until) {
  DIL_TRY(auto view, projector_.project(table, cache_.find(table), until));
  cache_.insert(view);
  return view;
}

Result<CompactReport> Maintenance::compact(const Caller& caller, const TableRef& table,
                                           const CompactOptions& options) {
  const pg::Deadline until = deadline();
  if (engine_ == nullptr) return Error(Code::kUnsupported, "there is no engine to compact with");
  FoundTable found;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(until));
    DIL_TRY(found, require_table(*lease, backends_.lake, table));
  }
  DIL_CHECK_OK(backends_.check<Action::kMaintainTable>(caller, object_of(found)));
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(until));
    DIL_CHECK_OK(check_own_files(*lease, backends_.lake, found.table.table_id));
  }
  Hold hold(backends_, until);
  DIL_CHECK_OK(hold.take());
  // What is published now is kept as long as its files exist; so it is published first.
  if (!options.is_dry_run) DIL_CHECK_OK(publish(found.table.table_id, until));
  Result<CompactReport> report = engine_->compact(found.space.schema_name, table.name, options);
  if (!report.has_value() && report.error().code() == Code::kNotFound) {
    return make_error(Code::kNoSuchTable, "Table does not exist: {}", display_name(table));
  }
  // Also after a failure: its steps are commits of their own.
  if (!options.is_dry_run) DIL_CHECK_OK(publish(found.table.table_id, until));
  return report;
}

Status Maintenance::expire_table(const Caller& caller, const TableRef& ref, TableId table,
                                 bool is_dry_run, pg::Deadline until, store::ToHide& to_hide,
                                 ExpireReport& report) {
  for (int attempt = 1;; ++attempt) {
    DIL_TRY(const std::shared_ptr<const TableView> view, publish(table, until));
    DIL_TRY(const Expiry expiry, plan_expiry(view->state(), now_ms()));
    if (expiry.empty()) return {};
    TableExpiry item{ref, {}, static_cast<std::int64_t>(expiry.snapshots.size())};
    for (const Expiry::DroppedRef& dropped : expiry.refs) item.dropped_refs.push_back(dropped.name);
    if (is_dry_run) {
      for (const std::int64_t id : expiry.snapshots) {
        to_hide.tables.push_back(table.value);
        to_hide.snapshots.push_back(id);
      }
      report.tables.push_back(std::move(item));
      return {};
    }
    TableCommit commit;
    commit.table = ref;
    commit.requirements.push_back(iceberg::AssertTableUuid{view->state().document.table_uuid});
    for (const Expiry::DroppedRef& dropped : expiry.refs) {
      commit.requirements.push_back(
          iceberg::AssertRefSnapshotId{dropped.name, dropped.snapshot_id});
      commit.updates.push_back(iceberg::RemoveSnapshotRef{dropped.name});
    }
    if (!expiry.snapshots.empty()) {
      commit.updates.push_back(iceberg::RemoveSnapshots{expiry.snapshots});
    }
    const auto done = commits_.commit({caller, std::nullopt}, commit);
    if (done.has_value()) {
      report.tables.push_back(std::move(item));
      return {};
    }
    const Code code = done.error().code();
    const bool is_overtaken = code == Code::kCommitFailed || code == Code::kInvalidArgument;
    if (!is_overtaken || attempt == kMaxTries) return done.error();
  }
}

Status Maintenance::expire_lake(pg::Connection& connection, bool is_dry_run,
                                const store::ToHide& to_hide, ExpireReport& report) {
  while (true) {
    DIL_TRY(const std::vector<SnapshotId> page,
            store::find_expirable(connection, backends_.lake, to_hide, kExpirePage));
    if (page.empty()) return {};
    if (is_dry_run || engine_ == nullptr) {
      if (is_dry_run) report.lake_snapshots = page;
      return {};
    }
    DIL_TRY(const std::vector<SnapshotId> expired, engine_->expire(page));
    if (expired.empty()) return {};
    report.lake_snapshots.insert(report.lake_snapshots.end(), expired.begin(), expired.end());
    if (page.size() < static_cast<std::size_t>(kExpirePage)) return {};
  }
}

Result<ExpireReport> Maintenance::expire(const Caller& caller, const TableRef& table,
                                         bool is_dry_run) {
  const pg::Deadline until = deadline();
  Hold hold(backends_, until);
  DIL_CHECK_OK(hold.take());
  DIL_TRY(const FoundTable found, require_table(hold.connection(), backends_.lake, table));
  DIL_CHECK_OK(backends_.check<Action::kMaintainTable>(caller, object_of(found)));
  ExpireReport report;
  store::ToHide to_hide;
  DIL_CHECK_OK(
      expire_table(caller, table, found.table.table_id, is_dry_run, until, to_hide, report));
  DIL_CHECK_OK(expire_lake(hold.connection(), is_dry_run, to_hide, report));
  return report;
}

Result<MaintainReport> Maintenance::maintain(const Caller& caller, const MaintainOptions& options) {
  const pg::Deadline until = deadline();
  DIL_CHECK_OK(backends_.check<Action::kMaintainTable>(caller, ObjectRef{}));
  Hold hold(backends_, until);
  DIL_CHECK_OK(hold.take());
  MaintainReport report;
  if (options.expires) {
    DIL_TRY(const std::vector<store::NamespaceRow> spaces,
            store::list_namespaces(hold.connection(), backends_.lake));
    store::ToHide to_hide;
    TableId after(-1);
    while (true) {
      DIL_TRY(const std::vector<store::LiveTable> page,
              store::load_tables_with_policy(hold.connection(), backends_.lake, after, kTablePage));
      if (page.empty()) break;
      after = page.back().table;
      for (const store::LiveTable& table : page) {
        const auto space = std::find_if(
            spaces.begin(), spaces.end(),
            [&](const store::NamespaceRow& row) { return row.schema_name == table.schema_name; });
        if (space == spaces.end()) continue;
        const TableRef ref{space->levels, table.name};
        Status done = expire_table(caller, ref, table.table, options.is_dry_run, until, to_hide,
                                   report.expiry);
        if (done.has_value() || done.error().code() == Code::kNoSuchTable) continue;
        if (pg::has_passed(until)) return std::move(done).error();
        // One that cannot be served does not hold up the others.
        report.expiry.failures[display_name(ref)] = done.error().message();
      }
    }
    DIL_CHECK_OK(expire_lake(hold.connection(), options.is_dry_run, to_hide, report.expiry));
  }
  if (options.sweeps) {
    SweepOptions sweep{options.is_dry_run, std::max(options.grace, config_.sweep_grace),
                       options.max_names};
    DIL_TRY(report.sweep, sweep_orphans(backends_, sweep, until));
  }
  return report;
}

}  // namespace duckicelake::catalog
