// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_run.h"

#include <algorithm>
#include <limits>
#include <set>
#include <thread>

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

bool is_about(const ducklake::Change& change, TableId table) {
  return change.id == table.value &&
         (change.kind == ducklake::ChangeKind::kAlteredTable ||
          change.kind == ducklake::ChangeKind::kDroppedTable || change.touches_data());
}

bool is_name_change(const ducklake::Change& change) {
  using ducklake::ChangeKind;
  switch (change.kind) {
    case ChangeKind::kCreatedTable:
    case ChangeKind::kCreatedView:
    case ChangeKind::kDroppedTable:
    case ChangeKind::kDroppedView:
    case ChangeKind::kDroppedSchema: return true;
    default: return false;
  }
}

// Whether one of the snapshots up to `last` changed the table.
Result<bool> touches(const std::vector<store::ChangesRow>& rows, TableId table, SnapshotId last) {
  for (const store::ChangesRow& row : rows) {
    if (row.snapshot > last) break;
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      if (is_about(change, table)) return true;
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
  const bool all_repeated = std::all_of(targets_.begin(), targets_.end(),
                                        [](const Target& t) { return t.work->is_repeated(); });
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
    Target target;
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
  for (const Target& target : targets_) {
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
  for (Target& target : targets_) {
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

// Tables of one commit share its snapshots, each with ids of its own.
Status CommitRun::take_slots(pg::Transaction& transaction, std::vector<store::Slot>& shared) {
  std::size_t count = 0;
  for (const Target& target : targets_) count = std::max(count, target.work->slots());
  for (std::size_t i = 0; i < count; ++i) {
    store::SlotNeeds needs;
    for (const Target& target : targets_) {
      if (i >= target.work->slots()) continue;
      const store::SlotNeeds own = target.work->needs(i);
      needs.changes_schema = needs.changes_schema || own.changes_schema;
      needs.catalog_ids += own.catalog_ids;
      needs.file_ids += own.file_ids;
    }
    DIL_TRY(store::Slot slot, store::take_slot(transaction, owner_.backends_.lake, needs));
    shared.push_back(slot);
  }
  return {};
}

Result<bool> CommitRun::is_overtaken(pg::Connection& connection, SnapshotId before) {
  SnapshotId oldest{std::numeric_limits<std::int64_t>::max()};
  bool has_new = false;
  for (const Target& target : targets_) {
    if (target.work->is_new()) {
      has_new = true;
    } else {
      oldest = std::min(oldest, target.work->view()->through());
    }
  }
  const store::Lake& lake = owner_.backends_.lake;
  if (has_new) {
    for (const Target& target : targets_) {
      if (!target.work->is_new()) continue;
      const Status free = require_free_name(connection, lake, target.space,
                                            target.commit->table.name, EntryKind::kTable);
      if (!free.has_value()) return true;
      DIL_TRY(std::optional<store::NamespaceRow> space,
              store::find_namespace(connection, lake, target.commit->table.levels));
      if (!space || space->schema_id != target.space.schema_id) return true;
    }
  }
  if (oldest >= before) return false;
  DIL_TRY(std::vector<store::ChangesRow> rows,
          store::load_changes(connection, lake, oldest, before.value - oldest.value));
  bool names_changed = false;
  for (const store::ChangesRow& row : rows) {
    if (row.snapshot > before) break;
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      // A renamed table is "created" under its new name: the id does not show.
      names_changed = names_changed || is_name_change(change);
      for (const Target& target : targets_) {
        if (!target.work->is_new() && is_about(change, target.work->table_id()) &&
            row.snapshot > target.work->view()->through()) {
          return true;
        }
      }
    }
  }
  if (!names_changed) return false;
  for (const Target& target : targets_) {
    if (target.work->is_new()) continue;
    DIL_TRY(std::optional<store::TableName> found,
            store::find_table(connection, lake, target.space.schema_id, target.commit->table.name));
    if (!found || found->table_id != *target.id) return true;
  }
  return false;
}

Result<CommitRun::Round> CommitRun::write() {
  const store::Lake& lake = owner_.backends_.lake;
  std::this_thread::sleep_until(owner_.pacer_.admit(SlotPacer::Clock::now()));
  pg::Transaction transaction(**lease_);
  if (context_.idempotency) {
    DIL_TRY(std::optional<store::Outcome> known,
            store::claim_key(transaction, lake, *context_.idempotency));
    if (known && known->error) return std::move(*known->error);
    if (known) {
      is_repeated_ = true;
      return Round::kDone;
    }
  }
  std::vector<store::Slot> shared;
  DIL_CHECK_OK(take_slots(transaction, shared));
  DIL_TRY(pg::Connection * connection, transaction.begun());
  SnapshotId before;
  if (shared.empty()) {
    DIL_TRY(store::LakeHead head, store::load_head(*connection, lake));
    before = head.snapshot;
  } else {
    before = SnapshotId(shared.front().snapshot.value - 1);
    owner_.pacer_.note(shared.front().newest_foreign, SlotPacer::Clock::now());
  }
  DIL_TRY(bool is_late, is_overtaken(*connection, before));
  if (is_late) return Round::kAgain;

  std::vector<std::vector<ducklake::Change>> words(shared.size());
  std::vector<store::Slot> next = shared;
  for (Target& target : targets_) {
    if (!target.work->changes_anything()) continue;
    std::vector<store::Slot> own(next.begin(),
                                 next.begin() + static_cast<std::ptrdiff_t>(target.work->slots()));
    std::vector<std::vector<ducklake::Change>> own_words(own.size());
    DIL_CHECK_OK(target.work->write(transaction, own, own_words));
    target.id = target.work->table_id();
    if (!own.empty() && target.work->changes_rows_only()) {
      target.own.emplace(
          OwnRows{target.work->definition(), own.front().snapshot, own.back().snapshot});
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      words[i].insert(words[i].end(), own_words[i].begin(), own_words[i].end());
      const store::SlotNeeds needs = target.work->needs(i);
      next[i].first_catalog_id += needs.catalog_ids;
      next[i].first_file_id += needs.file_ids;
    }
  }
  for (std::size_t i = 0; i < shared.size(); ++i) {
    DIL_CHECK_OK(store::record_slot(transaction, lake, shared[i].snapshot,
                                    {ducklake::changes_text(words[i]), context_.caller.principal.id,
                                     "Iceberg commit", std::nullopt}));
  }
  if (context_.idempotency) {
    DIL_CHECK_OK(store::save_outcome(transaction, lake, *context_.idempotency, {}));
  }
  if (context_.caller.trail != nullptr) context_.caller.trail->write_in(transaction);
  DIL_CHECK_OK(transaction.commit());
  return Round::kDone;
}

// The change is durable: what fails from here on leaves the client with an unknown outcome, which
// looking again settles.
Result<std::vector<std::shared_ptr<const TableView>>> CommitRun::publish() {
  // Answered before: nothing is locked, and the projection takes a connection of its own.
  if (locks_.empty()) lease_.reset();
  std::vector<std::shared_ptr<const TableView>> views;
  std::set<TableId> done;
  for (const Target& target : targets_) {
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
