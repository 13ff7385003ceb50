// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "catalog/projection_run.h"
#include "catalog/random_name.h"
#include "ducklake/changes.h"
#include "pg/transaction.h"

namespace duckicelake::catalog {
namespace {

constexpr std::int64_t kTailLimit = 10'000;
// Snapshots of the whole catalog that a projection after a commit looks through, at most.
constexpr std::int64_t kMaxNews = 200;

}  // namespace

ProjectionRun::ProjectionRun(Projector& owner, pg::Connection& connection, TableId table,
                             std::shared_ptr<const TableView> previous, From from)
    : owner_(owner),
      connection_(connection),
      table_(table),
      previous_(std::move(previous)),
      from_(from),
      unique_(random_name()) {}

Result<std::shared_ptr<const TableView>> ProjectionRun::run(const OwnRows* own) {
  const pg::TransactionOptions options{pg::Isolation::kRepeatableRead, pg::Access::kReadWrite};
  if (own != nullptr && previous_) {
    pg::Transaction transaction(connection_, options);
    // Fails as a whole when a table of inlined rows is gone by now; then much more has changed.
    if (read_ahead(transaction, *own).has_value()) {
      DIL_TRY(const bool is_enough, load_after(*own));
      if (is_enough) return finish(transaction);
    }
    transaction.rollback();
  }
  // Its own transactions: the index must reach a snapshot before the view of the database below is
  // taken.
  DIL_TRY(SnapshotId indexed, store::catch_up_change_index(connection_, owner_.lake_));
  (void)indexed;
  pg::Transaction transaction(connection_, options);
  DIL_TRY(pg::Connection * begun, transaction.begun());
  (void)begun;
  DIL_CHECK_OK(load());
  return finish(transaction);
}

Result<std::shared_ptr<const TableView>> ProjectionRun::finish(pg::Transaction& transaction) {
  DIL_CHECK_OK(build_definition());
  DIL_CHECK_OK(plan_chain());
  DIL_CHECK_OK(rebuild_gone());
  DIL_CHECK_OK(publish_side_snapshots(transaction));
  DIL_CHECK_OK(publish(transaction));
  if (!is_changed_ && previous_ && previous_->state().stored.version == state_.stored.version) {
    DIL_CHECK_OK(transaction.commit());
    return previous_->seen_at(head_.snapshot, head_.revision,
                              std::make_shared<const store::TableDefinition>(definition_));
  }
  DIL_CHECK_OK(transaction.commit());
  if (is_changed_) {
    ++owner_.counters_.projections;
    write_version_hint();
  } else {
    state_.stored.through = head_.snapshot;
    state_.stored.revision = head_.revision;
  }
  return std::make_shared<const TableView>(
      table_, std::move(state_),
      std::make_shared<const store::TableDefinition>(std::move(definition_)));
}

Status ProjectionRun::load() {
  DIL_TRY(head_, store::load_head(connection_, owner_.lake_));
  DIL_TRY(std::optional<store::TableDefinition> definition,
          store::load_table_definition(connection_, owner_.lake_, table_));
  if (!definition) return make_error(Code::kNoSuchTable, "the table was dropped");
  definition_ = std::move(*definition);
  DIL_TRY(places_, places_of(owner_.lake_, definition_.table));
  DIL_TRY(stored_properties_, store::load_table_properties(connection_, owner_.lake_, table_));
  DIL_TRY(std::optional<store::StateTag> tag,
          store::load_state_tag(connection_, owner_.lake_, table_));
  DIL_CHECK_OK(load_stored(tag));
  DIL_CHECK_OK(load_chain());
  return load_maintenance();
}

// All that a commit which only added files makes a projection read, in one round trip. What the
// commit turns out to need beside that is read when it does.
Status ProjectionRun::read_ahead(pg::Transaction& transaction, const OwnRows& own) {
  const store::Lake& lake = owner_.lake_;
  const store::TableState& stored = previous_->state().stored;
  const SnapshotId after = previous_->through();
  std::vector<std::int64_t> ids;
  for (std::int64_t id = own.first.value; id <= own.last.value; ++id) ids.push_back(id);
  std::vector<pg::Statement> statements =
      store::table_news_statements(lake, table_, after, kMaxNews);
  const auto add = [&](std::vector<pg::Statement> more) {
    std::move(more.begin(), more.end(), std::back_inserter(statements));
  };
  statements.push_back(store::retired_statement(lake, table_, stored.retired_serial));
  statements.push_back(store::snapshots_statement(lake, ids));
  DIL_TRY(std::vector<pg::Statement> files,
          store::changed_files_statements(lake, table_, own.definition->inlined_tables,
                                          stored.through, stored.next_file_id));
  add(std::move(files));
  add(store::committed_statements(lake, table_, ids, stored.next_file_id));
  return transaction.read_ahead(statements);
}

Result<bool> ProjectionRun::load_after(const OwnRows& own) {
  const SnapshotId after = previous_->through();
  DIL_TRY(store::TableNews news,
          store::load_table_news(connection_, owner_.lake_, table_, after, kMaxNews));
  const bool is_same_state =
      news.tag && !news.tag->is_dirty && news.tag->version == previous_->state().stored.version;
  if (!is_same_state || news.head.revision != previous_->revision()) return false;
  if (static_cast<std::int64_t>(news.changes.size()) >= kMaxNews) return false;
  std::vector<ChainItem> chain;
  for (const store::ChangesRow& row : news.changes) {
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    const bool is_own = row.snapshot >= own.first && row.snapshot <= own.last;
    bool touches = false;
    bool is_compaction = false;
    for (const ducklake::Change& change : changes) {
      // What was renamed is "created", without an id, and so are the tables of a new schema.
      if (change.id < 0 || change.kind == ducklake::ChangeKind::kDroppedSchema) return false;
      if (change.id != table_.value) continue;
      if (!is_own || !change.touches_data()) return false;
      touches = true;
      is_compaction = is_compaction || change.is_compaction();
    }
    if (touches) chain.push_back({row.snapshot.value, is_compaction});
  }
  head_ = news.head;
  definition_ = *own.definition;
  definition_.stats = std::move(news.stats);
  stored_properties_ = std::move(news.properties);
  DIL_TRY(places_, places_of(owner_.lake_, definition_.table));
  DIL_CHECK_OK(load_stored(news.tag));
  chain_ = std::move(chain);
  DIL_CHECK_OK(load_maintenance());
  return true;
}

Status ProjectionRun::load_stored(std::optional<store::StateTag> tag) {
  if (!tag) {
    previous_ = nullptr;
    return {};
  }
  if (from_ == From::kNothing) return start_anew();
  is_first_ = false;
  if (previous_ && !tag->is_dirty && previous_->state().stored.version == tag->version) {
    state_ = previous_->state();
  } else {
    previous_ = nullptr;
    DIL_TRY(std::optional<store::TableState> stored,
            store::load_table_state(connection_, owner_.lake_, table_));
    if (!stored) return Error(Code::kCorruptData, "the table's stored state vanished");
    DIL_TRY(std::vector<store::PublishedSnapshot> published,
            store::load_published(connection_, owner_.lake_, table_));
    DIL_TRY(state_, decode_state(std::move(*stored), std::move(published)));
  }
  is_changed_ = state_.stored.is_dirty;
  is_unpublished_ = state_.stored.metadata_location.empty();
  old_document_ = iceberg::metadata_to_json(state_.document);
  return {};
}

// What main's snapshots were published as is forgotten; what only Iceberg clients know of the table
// (ids of schemas and specs, refs, branches) is kept, as far as it can be read.
Status ProjectionRun::start_anew() {
  previous_ = nullptr;
  DIL_CHECK_OK(store::reset_table_state(connection_, owner_.lake_, table_));
  DIL_TRY(std::optional<store::TableState> stored,
          store::load_table_state(connection_, owner_.lake_, table_));
  if (!stored) return {};
  state_.stored.version = stored->version;
  state_.stored.spec_binding = stored->spec_binding;
  state_.stored.sort_binding = stored->sort_binding;
  state_.stored.main_after = stored->main_after;
  auto document = iceberg::metadata_from_json(stored->document);
  if (document.has_value()) {
    state_.document = std::move(*document);
    state_.document.metadata_log.clear();
  }
  if (auto refs = refs_from_json(stored->refs); refs.has_value()) state_.refs = std::move(*refs);
  DIL_TRY(std::vector<store::PublishedSnapshot> published,
          store::load_published(connection_, owner_.lake_, table_));
  for (store::PublishedSnapshot& item : published) {
    DIL_TRY(iceberg::Snapshot snapshot, iceberg::snapshot_from_json(item.document));
    DIL_TRY(SnapshotRecord record, make_record(snapshot));
    state_.side.push_back(std::move(record));
  }
  return {};
}

Status ProjectionRun::load_chain() {
  const SnapshotId after = is_first_ ? SnapshotId(-1) : state_.stored.through;
  if (!is_first_ && head_.snapshot < after) {
    return Error(Code::kCorruptData, "the lake is older than what was published of it");
  }
  DIL_TRY(std::vector<store::TableChange> indexed,
          store::load_table_changes(connection_, owner_.lake_, table_, after, head_.snapshot));
  SnapshotId reached = after;
  for (const store::TableChange& change : indexed) {
    chain_.push_back({change.snapshot.value, change.is_compaction});
    reached = change.snapshot;
  }
  // Snapshots that were committed between the index and this transaction's view.
  DIL_TRY(SnapshotId index_end, store::load_index_end(connection_, owner_.lake_));
  if (index_end < head_.snapshot) {
    DIL_TRY(std::vector<store::ChangesRow> rows,
            store::load_changes(connection_, owner_.lake_, index_end, kTailLimit));
    for (const store::ChangesRow& row : rows) {
      if (row.snapshot <= reached) continue;
      DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
      bool touches = false;
      bool is_compaction = false;
      for (const ducklake::Change& change : changes) {
        if (change.id != table_.value || !change.touches_data()) continue;
        touches = true;
        is_compaction = is_compaction || change.is_compaction();
      }
      if (touches) chain_.push_back({row.snapshot.value, is_compaction});
    }
  }
  return {};
}

Status ProjectionRun::load_maintenance() {
  DIL_TRY(retired_, store::load_retired(connection_, owner_.lake_, definition_.table,
                                        is_first_ ? 0 : state_.stored.retired_serial));
  if (!is_first_ && head_.revision != state_.stored.revision) {
    DIL_TRY(expired_, store::load_expired_published(connection_, owner_.lake_, table_));
  }
  return {};
}

}  // namespace duckicelake::catalog
