// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_group.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <thread>

#include "catalog/audit.h"
#include "catalog/table_commits.h"
#include "ducklake/changes.h"
#include "pg/error.h"
#include "store/idempotency.h"

namespace duckicelake::catalog {
namespace {

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

// Tables of one commit share its snapshots, each with ids of its own.
std::vector<store::SlotNeeds> needs_of(std::span<const CommitTarget> targets) {
  std::vector<store::SlotNeeds> out;
  for (const CommitTarget& target : targets) {
    out.resize(std::max(out.size(), target.work->slots()));
    for (std::size_t i = 0; i < target.work->slots(); ++i) {
      const store::SlotNeeds own = target.work->needs(i);
      out[i].changes_schema = out[i].changes_schema || own.changes_schema;
      out[i].catalog_ids += own.catalog_ids;
      out[i].file_ids += own.file_ids;
    }
  }
  return out;
}

// The last snapshot before which all that the commit's tables are planned on is known.
SnapshotId planned_through(std::span<const CommitTarget> targets) {
  SnapshotId oldest{std::numeric_limits<std::int64_t>::max()};
  for (const CommitTarget& target : targets) {
    if (!target.work->is_new()) oldest = std::min(oldest, target.work->view()->through());
  }
  return oldest;
}

struct ParsedChanges {
  SnapshotId snapshot;
  std::vector<ducklake::Change> changes;
};

Result<std::vector<ParsedChanges>> parse(const std::vector<store::ChangesRow>& rows) {
  std::vector<ParsedChanges> out;
  for (const store::ChangesRow& row : rows) {
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    out.push_back({row.snapshot, std::move(changes)});
  }
  return out;
}

// Whether somebody took a new table's name after it was looked at. Asked for inside the slot.
Result<bool> is_name_taken(pg::Connection& connection, const store::Lake& lake,
                           const CommitTarget& target) {
  const TableRef& table = target.commit->table;
  const Status free =
      require_free_name(connection, lake, target.space, table.name, EntryKind::kTable);
  if (!free.has_value()) return true;
  DIL_TRY(std::optional<store::NamespaceRow> space,
          store::find_namespace(connection, lake, table.levels));
  return !space || space->schema_id != target.space.schema_id;
}

// Whether somebody else changed one of the tables, or took a new one's name, after it was looked at
// and not after `before`. `changes` are those since.
Result<bool> is_overtaken(pg::Connection& connection, const store::Lake& lake,
                          std::span<const CommitTarget> targets, SnapshotId before,
                          std::span<const ParsedChanges> changes) {
  const SnapshotId planned = planned_through(targets);
  bool names_changed = false;
  for (const CommitTarget& target : targets) {
    if (!target.work->is_new()) continue;
    DIL_TRY(bool is_taken, is_name_taken(connection, lake, target));
    if (is_taken) return true;
  }
  for (const ParsedChanges& item : changes) {
    if (item.snapshot <= planned || item.snapshot > before) continue;
    for (const ducklake::Change& change : item.changes) {
      // A renamed table is "created" under its new name: the id does not show.
      names_changed = names_changed || is_name_change(change);
      for (const CommitTarget& target : targets) {
        if (!target.work->is_new() && change.is_about(target.work->table_id()) &&
            item.snapshot > target.work->view()->through()) {
          return true;
        }
      }
    }
  }
  if (!names_changed) return false;
  for (const CommitTarget& target : targets) {
    if (target.work->is_new()) continue;
    DIL_TRY(std::optional<store::TableName> found,
            store::find_table(connection, lake, target.space.schema_id, target.commit->table.name));
    if (!found || found->table_id != *target.id) return true;
  }
  return false;
}

bool is_groupable(const ReadyCommit& commit) {
  // New tables may be after the same name; and what takes no snapshot waits for no slot.
  return std::none_of(commit.targets.begin(), commit.targets.end(),
                      [](const CommitTarget& target) { return target.work->is_new(); }) &&
         std::any_of(commit.targets.begin(), commit.targets.end(),
                     [](const CommitTarget& target) { return target.work->slots() > 0; });
}

}  // namespace

Result<Written> CommitGroup::write(ReadyCommit& commit) {
  if (!is_groupable(commit)) return write_alone(commit);
  Member own{&commit, {}};
  const bool was_taken = queue_.join(
      own, commit.until, [this] { pace(); },
      [this](std::span<Member* const> members) { write_together(members); });
  if (!was_taken) {
    return Error(Code::kDeadlineExceeded, "other commits to the catalog did not end in time");
  }
  return std::move(*own.result);
}

Result<Written> CommitGroup::write_alone(ReadyCommit& commit) {
  pace();
  Member own{&commit, {}};
  Member* const one = &own;
  write_together({&one, 1});
  return std::move(*own.result);
}

void CommitGroup::pace() { std::this_thread::sleep_until(pacer_.admit(SlotPacer::Clock::now())); }

// Other threads wait for it: whatever happens, each member has a result afterwards.
void CommitGroup::write_together(std::span<Member* const> members) {
  std::vector<Member*> left(members.begin(), members.end());
  Status done;
  try {
    done = write_members(left);
  } catch (const std::exception& thrown) {
    done = Error(Code::kCommitStateUnknown, "the commit was broken off; load the table again",
                 thrown.what());
  }
  pacer_.released(SlotPacer::Clock::now());
  const bool is_shared = members.size() > 1;
  for (Member* member : left) {
    if (member->result) continue;
    if (done.has_value()) {
      member->result = Written::kDone;
    } else if (pg::is_serialization_conflict(done.error())) {
      member->result = is_shared ? Written::kAlone : Written::kAgain;
    } else if (is_shared && done.error().code() != Code::kCommitStateUnknown) {
      member->result = Written::kAlone;  // whose fault it was shows then
    } else {
      member->result.emplace(done.error());
    }
  }
}

// One transaction. Members that leave it early have their result and are taken out of `members`.
Status CommitGroup::write_members(std::vector<Member*>& members) {
  const store::Lake& lake = backends_.lake;
  // A member's connection serves for all: that of the one who can wait longest.
  const Member* host = *std::max_element(
      members.begin(), members.end(),
      [](const Member* a, const Member* b) { return a->commit->until < b->commit->until; });
  pg::Transaction transaction(host->commit->connection);
  DIL_CHECK_OK(claim_keys(transaction, members));
  if (members.empty()) return {};

  std::vector<store::SlotNeeds> needs = needs_of(members.front()->commit->targets);
  const store::SlotNeeds taken_with = needs.empty() ? store::SlotNeeds{} : needs.front();
  std::optional<store::Slot> first;
  SnapshotId before;
  if (needs.empty()) {
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(store::LakeHead head, store::load_head(*connection, lake));
    before = head.snapshot;
  } else {
    DIL_TRY(first, store::take_slot(transaction, lake, taken_with));
    before = SnapshotId(first->snapshot.value - 1);
    pacer_.note(first->newest_foreign, SlotPacer::Clock::now());
  }
  DIL_CHECK_OK(drop_overtaken(transaction, before, members));
  if (members.empty()) return {};

  needs.clear();
  std::vector<std::size_t> counts;
  for (const Member* member : members) {
    const std::vector<store::SlotNeeds> own = needs_of(member->commit->targets);
    needs.insert(needs.end(), own.begin(), own.end());
    counts.push_back(own.size());
  }
  std::vector<store::Slot> slots;
  if (first) slots = store::spread_slots(transaction, lake, *first, taken_with, needs);

  std::vector<TableWork*> works;
  std::vector<TableId> tables;
  for (const Member* member : members) {
    for (const CommitTarget& target : member->commit->targets) {
      if (target.work->is_new() || !target.work->adds_files()) continue;
      works.push_back(target.work.get());
      tables.push_back(target.work->table_id());
    }
  }
  if (!tables.empty()) {
    DIL_TRY(std::vector<store::TableStatistics> statistics,
            store::load_statistics(transaction, lake, tables));
    for (std::size_t i = 0; i < works.size(); ++i) {
      works[i]->give_statistics(std::move(statistics[i]));
    }
  }
  std::span<const store::Slot> rest = slots;
  for (std::size_t i = 0; i < members.size(); ++i) {
    DIL_CHECK_OK(write_rows(transaction, rest.first(counts[i]), *members[i]));
    rest = rest.subspan(counts[i]);
  }
  DIL_CHECK_OK(transaction.commit());
  ++counters_.transactions;
  counters_.commits += members.size();
  return {};
}

Status CommitGroup::claim_keys(pg::Transaction& transaction, std::vector<Member*>& members) {
  std::vector<Member*> keyed;
  std::vector<const store::IdempotencyRecord*> records;
  for (Member* member : members) {
    const auto& record = member->commit->context.idempotency;
    if (!record) continue;
    keyed.push_back(member);
    records.push_back(&*record);
  }
  DIL_TRY(auto outcomes, store::claim_keys(transaction, backends_.lake, records));
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    if (!outcomes[i].has_value()) {
      keyed[i]->result.emplace(std::move(outcomes[i]).error());
    } else if (*outcomes[i] && (*outcomes[i])->error) {
      keyed[i]->result.emplace(std::move(*(*outcomes[i])->error));
    } else if (*outcomes[i]) {
      keyed[i]->result = Written::kRepeated;
    }
  }
  std::erase_if(members, [](const Member* member) { return member->result.has_value(); });
  return {};
}

Status CommitGroup::drop_overtaken(pg::Transaction& transaction, SnapshotId before,
                                   std::vector<Member*>& members) {
  const store::Lake& lake = backends_.lake;
  DIL_TRY(pg::Connection * connection, transaction.begun());
  SnapshotId oldest = before;
  for (const Member* member : members) {
    oldest = std::min(oldest, planned_through(member->commit->targets));
  }
  std::vector<ParsedChanges> changes;
  if (oldest < before) {
    DIL_TRY(std::vector<store::ChangesRow> rows,
            store::load_changes(*connection, lake, oldest, before.value - oldest.value));
    DIL_TRY(changes, parse(rows));
  }
  if (members.size() > 1) DIL_CHECK_OK(drop_unlocked(*connection, members));
  for (Member* member : members) {
    if (member->result) continue;
    DIL_TRY(bool is_late,
            is_overtaken(*connection, lake, member->commit->targets, before, changes));
    if (is_late) member->result = Written::kAgain;
  }
  std::erase_if(members, [](const Member* member) { return member->result.has_value(); });
  return {};
}

// The lock of a member's table belongs to the member's session, which may have ended while it
// waited: then others may have changed what takes no snapshot (properties, refs). What they
// published shows it.
Status CommitGroup::drop_unlocked(pg::Connection& connection, std::vector<Member*>& members) {
  std::vector<TableId> tables;
  for (const Member* member : members) {
    for (const CommitTarget& target : member->commit->targets) tables.push_back(*target.id);
  }
  DIL_TRY(const auto tags, store::load_state_tags(connection, backends_.lake, tables));
  for (Member* member : members) {
    for (const CommitTarget& target : member->commit->targets) {
      const auto tag = tags.find(*target.id);
      const std::int64_t planned = target.work->view()->state().stored.version;
      if (tag == tags.end() || tag->second.is_dirty || tag->second.version != planned) {
        member->result = Written::kAlone;
      }
    }
  }
  return {};
}

Status CommitGroup::write_rows(pg::Transaction& transaction, std::span<const store::Slot> slots,
                               Member& member) {
  const store::Lake& lake = backends_.lake;
  const WriteContext& context = member.commit->context;
  std::vector<std::vector<ducklake::Change>> words(slots.size());
  std::vector<store::Slot> next(slots.begin(), slots.end());
  for (CommitTarget& target : member.commit->targets) {
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
  for (std::size_t i = 0; i < slots.size(); ++i) {
    DIL_CHECK_OK(store::record_slot(transaction, lake, slots[i].snapshot,
                                    {ducklake::changes_text(words[i]), context.caller.principal.id,
                                     "Iceberg commit", std::nullopt}));
  }
  if (context.idempotency) {
    DIL_CHECK_OK(store::save_outcome(transaction, lake, *context.idempotency, {}));
  }
  if (context.caller.trail != nullptr) context.caller.trail->write_in(transaction);
  return {};
}

}  // namespace duckicelake::catalog
