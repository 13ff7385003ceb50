// SPDX-License-Identifier: Apache-2.0
#include "catalog/table_names.h"

#include <limits>

#include "catalog/purge.h"
#include "catalog/service.h"
#include "catalog/write_run.h"
#include "ducklake/changes.h"
#include "store/definitions.h"
#include "store/owned_objects.h"
#include "store/slot.h"

namespace duckicelake::catalog {
namespace {

constexpr int kMaxUnregisterTries = 10;

template <Action A>
Result<FoundTable> find(const Backends& backends, const Caller& caller, pg::Connection& connection,
                        const TableRef& table) {
  DIL_TRY(FoundTable found, require_table(connection, backends.lake, table));
  ObjectRef object = object_of(found);
  object.name = display_name(table);
  DIL_CHECK_OK(backends.check<A>(caller, std::move(object)));
  return found;
}

// Where a table is to go: its namespace, in which the name is free.
Result<store::NamespaceRow> find_destination(const Backends& backends, const Caller& caller,
                                             pg::Connection& connection, const TableRef& from,
                                             const TableRef& to, TableId table) {
  DIL_TRY(store::NamespaceRow space, require_namespace(connection, backends.lake, to.levels));
  ObjectRef object = object_of(space);
  object.name = display_name(to);
  DIL_CHECK_OK(backends.check<Action::kRenameTable>(caller, std::move(object)));
  DIL_CHECK_OK(require_free_target(connection, backends.lake, space, from, to, table.value));
  return space;
}

// Drops the table inside its own slot.
Status drop_in_slot(const Backends& backends, const Caller& caller, pg::Transaction& transaction,
                    const store::Slot& slot, const TableRef& table, TableId id) {
  DIL_CHECK_OK(store::end_table(transaction, backends.lake, slot, id));
  ducklake::Change change;
  change.kind = ducklake::ChangeKind::kDroppedTable;
  change.id = id.value;
  return store::record_slot(transaction, backends.lake, slot.snapshot,
                            {ducklake::changes_text({&change, 1}),
                             caller.principal.id,
                             "drop table " + display_name(table),
                             {}});
}

// Whether the table changed in a snapshot after `after`.
Result<bool> changed_since(pg::Connection& connection, const store::Lake& lake, TableId table,
                           SnapshotId after) {
  DIL_TRY(const std::vector<store::ChangesRow> rows,
          store::load_changes(connection, lake, after, std::numeric_limits<std::int64_t>::max()));
  for (const store::ChangesRow& row : rows) {
    DIL_TRY(const std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      const bool is_of_table =
          change.kind == ducklake::ChangeKind::kAlteredTable || change.touches_data();
      if (is_of_table && change.id == table.value) return true;
    }
  }
  return false;
}

Result<SnapshotId> newest_snapshot(const Backends& backends, pg::Deadline until) {
  DIL_TRY(pg::Lease lease, backends.pool.acquire(until));
  DIL_TRY(const store::LakeHead head, store::load_head(*lease, backends.lake));
  return head.snapshot;
}

}  // namespace

Status TableNames::drop(const WriteContext& context, const TableRef& table, Purge purge) const {
  std::optional<TableId> dropped;
  std::optional<store::OwnedObjects> owned;
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    DIL_CHECK_OK(find<Action::kDropTable>(backends_, context.caller, connection, table));
    return {};
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const FoundTable found,
            find<Action::kDropTable>(backends_, context.caller, *connection, table));
    const TableId id = found.table.table_id;
    if (purge == Purge::kYes) {
      DIL_TRY(owned, store::load_owned_objects(*connection, backends_.lake, id));
    }
    DIL_CHECK_OK(drop_in_slot(backends_, context.caller, transaction, slot, table, id));
    dropped = id;
    return std::string();
  };
  const pg::Deadline until = backends_.deadline();
  DIL_CHECK_OK(run_write(backends_, context, until, write));
  if (dropped) hooks_.forget(*dropped);
  if (owned) (void)purge_objects(backends_.objects, backends_.lake, *owned, until);
  return {};
}

Status TableNames::rename(const WriteContext& context, const TableRef& from,
                          const TableRef& to) const {
  DIL_CHECK_OK(check_new_name("table's new name", to.name));
  const bool is_same = from.levels == to.levels && from.name == to.name;
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    DIL_TRY(const FoundTable found,
            find<Action::kRenameTable>(backends_, context.caller, connection, from));
    DIL_CHECK_OK(
        find_destination(backends_, context.caller, connection, from, to, found.table.table_id));
    return {};
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    if (is_same) return std::string();
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const FoundTable found,
            find<Action::kRenameTable>(backends_, context.caller, *connection, from));
    const TableId id = found.table.table_id;
    DIL_TRY(const store::NamespaceRow space,
            find_destination(backends_, context.caller, *connection, from, to, id));
    store::NewName name{space.schema_id, to.name, std::nullopt};
    if (space.schema_id != found.space.schema_id) {
      // Its files stay where they are, so its folder no longer follows from its schema's.
      DIL_TRY(name.absolute_path, store::load_table_folder(*connection, backends_.lake, id));
    }
    DIL_CHECK_OK(store::rename_table(transaction, backends_.lake, slot, id, name));
    ducklake::Change change;
    change.kind = ducklake::ChangeKind::kCreatedTable;
    change.schema_name = space.schema_name;
    change.name = to.name;
    DIL_CHECK_OK(store::record_slot(
        transaction, backends_.lake, slot.snapshot,
        {ducklake::changes_text({&change, 1}),
         context.caller.principal.id,
         fmt::format("rename table {} to {}", display_name(from), display_name(to)),
         {}}));
    return std::string();
  };
  DIL_CHECK_OK(run_write(backends_, context, backends_.deadline(), write));
  return {};
}

Result<TableNames::LastMetadata> TableNames::unregister(const WriteContext& context,
                                                        const TableRef& table) const {
  const pg::Deadline until = backends_.deadline();
  for (int attempt = 1;; ++attempt) {
    // Loaded before the transaction, without a connection in hand.
    DIL_TRY(const SnapshotId before, newest_snapshot(backends_, until));
    const Result<std::shared_ptr<const TableAnswer>> last = hooks_.load(context.caller, table);
    bool has_changed = false;
    Write write;
    write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
      if (!last.has_value()) return last.error();
      const TableAnswer& answer = **last;
      DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
      DIL_TRY(pg::Connection * connection, transaction.begun());
      DIL_TRY(const FoundTable found,
              find<Action::kDropTable>(backends_, context.caller, *connection, table));
      const TableId id = found.table.table_id;
      DIL_TRY(has_changed, changed_since(*connection, backends_.lake, id, before));
      has_changed = has_changed || id != answer.table_id;
      if (has_changed) {
        return Error(Code::kCommitFailed, "the table is changed all the time; try again");
      }
      DIL_CHECK_OK(drop_in_slot(backends_, context.caller, transaction, slot, table, id));
      return answer.metadata_location + "\n" + *answer.metadata;
    };
    Result<std::string> outcome = run_write(backends_, context, until, write);
    if (!outcome.has_value() && has_changed && attempt < kMaxUnregisterTries) continue;
    if (!outcome.has_value()) return std::move(outcome).error();
    if (last.has_value()) hooks_.forget((*last)->table_id);
    const std::size_t end = outcome->find('\n');
    if (end == std::string::npos) {
      return Error(Code::kCorruptData, "the kept answer of the request does not parse");
    }
    return LastMetadata{outcome->substr(0, end), outcome->substr(end + 1)};
  }
}

Status TableNames::report_metrics(const Caller& caller, const TableRef& table,
                                  const std::string& report) const {
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_TRY(const FoundTable found, find<Action::kReportMetrics>(backends_, caller, *lease, table));
  return store::insert_metrics_report(*lease, backends_.lake, found.table.table_id,
                                      caller.principal.id, report);
}

}  // namespace duckicelake::catalog
