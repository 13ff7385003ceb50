// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_run.h"

#include <algorithm>
#include <set>

#include "catalog/audit.h"
#include "ducklake/changes.h"
#include "iceberg/reserved_names.h"
#include "pg/error.h"
#include "store/idempotency.h"

namespace duckicelake::catalog {
namespace {

constexpr int kMaxRounds = 8;

bool must_not_exist(const TableCommit& commit) {
  return std::any_of(commit.requirements.begin(), commit.requirements.end(), [](const auto& r) {
    return std::holds_alternative<iceberg::AssertCreate>(r);
  });
}

// So many snapshots of others are looked through; after more the table is projected anew.
constexpr std::int64_t kMaxBehind = 1000;

// Whether one of the snapshots up to `last` changed the table.
Result<bool> touches(const std::vector<store::ChangesRow>& rows, TableId table, SnapshotId last) {
  for (const store::ChangesRow& row : rows) {
    if (row.snapshot > last) break;
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      if (change.is_about(table)) return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<std::shared_ptr<const TableView>>> CommitRun::run() {
  for (int i = 0; i < kMaxRounds; ++i) {
    DIL_TRY(lease_, owner_.backends_.pool.acquire(until_));
    (*lease_)->set_deadline(until_);
    Result<Round> result = round();
    const bool is_lost_race = !result.has_value() && pg::is_serialization_conflict(result.error());
    if (result.has_value() && *result == Round::kDone) {
      auto views = publish();
      unlock();
      return views;
    }
    unlock();
    if (!result.has_value() && !is_lost_race) return std::move(result).error();
    if (context_.caller.trail != nullptr) context_.caller.trail->was_rolled_back();
    ++owner_.counters_.retries;
    if (pg::has_passed(until_)) break;
  }
  return Error(Code::kCommitFailed, "the table kept changing while the commit was made; try again");
}

void CommitRun::unlock() {
  for (TableLock& lock : locks_) lock.release();
  locks_.clear();
  for (const TableId table : latched_) owner_.latch_.leave(table);
  latched_.clear();
  targets_.clear();
  lease_.reset();
}

Result<CommitRun::Round> CommitRun::round() {
  DIL_TRY(is_repeated_, was_answered_before(**lease_));
  DIL_CHECK_OK(resolve());
  if (is_repeated_) return Round::kDone;
  DIL_CHECK_OK(lock_tables());
  DIL_CHECK_OK(plan());
  const bool all_repeated =
      std::all_of(targets_.begin(), targets_.end(),
                  [](const CommitTarget& t) { return t.work->is_repeated(); });
  if (all_repeated) {
    is_repeated_ = true;
    return Round::kDone;
  }
  return write();
}

Result<bool> CommitRun::was_answered_before(pg::Connection& connection) {
  if (!context_.idempotency) return false;
  DIL_TRY(std::optional<store::Outcome> known,
          store::find_outcome(connection, owner_.backends_.lake, *context_.idempotency));
  if (known && known->error) return std::move(*known->error);
  return known.has_value();
}

Status CommitRun::resolve() {
  pg::Connection& connection = **lease_;
  const store::Lake& lake = owner_.backends_.lake;
  for (const TableCommit& commit : commits_) {
    CommitTarget target;
    target.commit = &commit;
    DIL_TRY(target.space, require_namespace(connection, lake, commit.table.levels));
    DIL_TRY(std::optional<store::TableName> found,
            store::find_table(connection, lake, target.space.schema_id, commit.table.name));
    if (found && iceberg::is_reserved_name(commit.table.name)) found.reset();
    ObjectRef object = object_of(target.space);
    object.name = display_name(commit.table);
    if (found) {
      target.id = found->table_id;
      object.table = found->table_id;
      if (creates_ && !is_repeated_) {
        DIL_CHECK_OK(owner_.backends_.check<Action::kCreateTable>(context_.caller, object));
        return make_error(Code::kAlreadyExists, "Table already exists: {}",
                          display_name(commit.table));
      }
      DIL_CHECK_OK(owner_.backends_.check<Action::kCommitTable>(context_.caller, object));
    } else {
      DIL_CHECK_OK(owner_.backends_.check<Action::kCreateTable>(context_.caller, object));
      if (!must_not_exist(commit)) {
        return make_error(Code::kNoSuchTable, "Table does not exist: {}",
                          display_name(commit.table));
      }
      DIL_CHECK_OK(check_new_name("table", commit.table.name));
      DIL_CHECK_OK(
          require_free_name(connection, lake, target.space, commit.table.name, EntryKind::kTable));
    }
    targets_.push_back(std::move(target));
  }
  return {};
}

// In the order of their ids, so that two commits never wait for each other.
Status CommitRun::lock_tables() {
  std::set<TableId> ids;
  for (const CommitTarget& target : targets_) {
    if (target.id) ids.insert(*target.id);
  }
  for (const TableId id : ids) {
    if (!owner_.latch_.enter(id, until_)) {
      return Error(Code::kDeadlineExceeded, "another request is still working on this table");
    }
    latched_.push_back(id);
  }
  locks_.reserve(ids.size());
  for (const TableId id : ids) {
    locks_.emplace_back(*lease_, owner_.backends_.lake, id);
    DIL_CHECK_OK(locks_.back().take());
  }
  return {};
}

Result<std::shared_ptr<const TableView>> CommitRun::current_view(pg::Connection& connection,
                                                                 TableId table) {
  std::shared_ptr<const TableView> known = owner_.cache_.find(table);
  if (known) {
    const store::Lake& lake = owner_.backends_.lake;
    DIL_TRY(store::LakeHead head, store::load_head(connection, lake));
    const std::int64_t behind = head.snapshot.value - known->through().value;
    if (head.revision == known->revision() && behind >= 0 && behind < kMaxBehind) {
      DIL_TRY(std::vector<store::ChangesRow> rows,
              behind == 0 ? Result<std::vector<store::ChangesRow>>(std::vector<store::ChangesRow>())
                          : store::load_changes(connection, lake, known->through(), kMaxBehind));
      DIL_TRY(bool is_changed, touches(rows, table, head.snapshot));
      if (!is_changed) return known->seen_at(head.snapshot, head.revision);
    }
  }
  DIL_TRY(std::shared_ptr<const TableView> view,
          owner_.projector_.project_locked(connection, table, std::move(known)));
  owner_.cache_.insert(view);
  return view;
}

Status CommitRun::plan() {
  pg::Connection& connection = **lease_;
  const store::Lake& lake = owner_.backends_.lake;
  std::vector<objstore::PutObject> objects;
  for (CommitTarget& target : targets_) {
    std::shared_ptr<const TableView> view;
    std::optional<NewTablePlace> place;
    if (target.id) {
      auto current = current_view(connection, *target.id);
      if (!current.has_value()) {
        if (current.error().code() == Code::kNoSuchTable) {
          return make_error(Code::kNoSuchTable, "Table does not exist: {}",
                            display_name(target.commit->table));
        }
        return std::move(current).error();
      }
      view = std::move(*current);
    } else {
      NewTablePlace fresh;
      fresh.schema = target.space.schema_id;
      fresh.schema_name = target.space.schema_name;
      fresh.name = target.commit->table.name;
      DIL_TRY(fresh.schema_path,
              store::load_schema_folder(connection, lake, target.space.schema_id));
      DIL_TRY(fresh.is_name_used, store::is_folder_used(connection, lake, fresh.schema_path,
                                                        fresh.schema_path + fresh.name + "/"));
      place = std::move(fresh);
    }
    // A rename does not show in a table's changes, but here: the name was resolved just now.
    std::shared_ptr<const store::TableDefinition> definition = view ? view->definition() : nullptr;
    if (definition && (definition->table.name != target.commit->table.name ||
                       definition->table.schema_id != target.space.schema_id)) {
      definition = nullptr;
    }
    target.work = std::make_unique<TableWork>(owner_.deps_, connection, std::move(view),
                                              std::move(place), std::move(definition));
    DIL_CHECK_OK(target.work->plan(target.commit->requirements, target.commit->updates,
                                   target.commit->registered.get()));
    objects.insert(objects.end(), target.work->objects().begin(), target.work->objects().end());
  }
  for (Status& status : owner_.backends_.objects.put_many(objects)) {
    DIL_CHECK_OK(std::move(status));
  }
  return {};
}

Result<CommitRun::Round> CommitRun::write() {
  ReadyCommit ready{context_, targets_, **lease_, until_};
  DIL_TRY(Written written,
          is_alone_ ? owner_.group_.write_alone(ready) : owner_.group_.write(ready));
  switch (written) {
    case Written::kDone: return Round::kDone;
    case Written::kRepeated: is_repeated_ = true; return Round::kDone;
    case Written::kAlone: is_alone_ = true; return Round::kAgain;
    case Written::kAgain: return Round::kAgain;
  }
  return Round::kAgain;
}

// The change is durable: what fails from here on leaves the client with an unknown outcome, which
// looking again settles.
Result<std::vector<std::shared_ptr<const TableView>>> CommitRun::publish() {
  // Others wrote for this commit, whose own session has ended since, and its locks with it.
  if (!locks_.empty() && !(*lease_)->is_alive()) locks_.clear();
  // Nothing is locked (so it is too when it was answered before): the projection takes a connection
  // and a lock of its own.
  if (locks_.empty()) lease_.reset();
  std::vector<std::shared_ptr<const TableView>> views;
  std::set<TableId> done;
  for (const CommitTarget& target : targets_) {
    if (!target.id || !done.insert(*target.id).second) continue;
    const OwnRows* own = target.own ? &*target.own : nullptr;
    auto previous = own != nullptr ? target.work->view() : owner_.cache_.find(*target.id);
    auto view = locks_.empty() ? owner_.projector_.project(*target.id, std::move(previous), until_)
                               : owner_.projector_.project_locked(**lease_, *target.id,
                                                                  std::move(previous), own);
    if (!view.has_value()) {
      if (is_repeated_) return std::move(view).error();
      return Error(Code::kCommitStateUnknown,
                   "the commit was made, and the new metadata could not be written: load the table "
                   "again",
                   view.error().to_string());
    }
    owner_.cache_.insert(*view);
    views.push_back(std::move(*view));
  }
  ++(is_repeated_ ? owner_.counters_.repeated : owner_.counters_.committed);
  return views;
}

}  // namespace duckicelake::catalog
