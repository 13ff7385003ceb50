// SPDX-License-Identifier: Apache-2.0
// What a commit changes in a table's definition, in DuckLake's rows and in the sidecar's.
#include <algorithm>

#include "catalog/commit_table.h"
#include "iceberg/snapshot_json.h"
#include "store/inlined_table.h"
#include "store/storage_scope.h"
#include "translate/commit_stats.h"

namespace duckicelake::catalog {
namespace {

constexpr std::string_view kComment = "comment";
constexpr std::int64_t kNone = -1;

const iceberg::Schema* find_schema(const iceberg::TableMetadata& metadata, std::int32_t id) {
  for (const iceberg::Schema& schema : metadata.schemas) {
    if (schema.schema_id == id) return &schema;
  }
  return nullptr;
}

bool has_bucket(const std::vector<ducklake::PartitionColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const auto& c) { return c.transform.starts_with("bucket"); });
}

std::optional<std::string> property(const iceberg::TableMetadata& metadata, std::string_view key) {
  const auto it = metadata.properties.find(std::string(key));
  return it == metadata.properties.end() ? std::nullopt : std::optional(it->second);
}

// The rows as they are after a change of columns.
std::vector<ducklake::ColumnRow> columns_after(const std::vector<ducklake::ColumnRow>& live,
                                               const translate::ColumnChange& change) {
  std::vector<ducklake::ColumnRow> out;
  for (const ducklake::ColumnRow& row : live) {
    const bool is_ended =
        std::find(change.ended.begin(), change.ended.end(), row.column_id) != change.ended.end();
    if (!is_ended) out.push_back(row);
  }
  out.insert(out.end(), change.inserted.begin(), change.inserted.end());
  return out;
}

}  // namespace

Status TableWork::plan_definition() {
  const iceberg::Schema* after = find_schema(metadata_, metadata_.current_schema_id);
  const iceberg::Schema* before =
      is_new() ? nullptr : find_schema(before_, before_.current_schema_id);
  std::vector<ducklake::ColumnRow> live;
  std::vector<ducklake::ColumnTagRow> tags;
  for (const ducklake::ColumnRow& row : definition_.columns) {
    if (!row.life.end) live.push_back(row);
  }
  for (const ducklake::ColumnTagRow& row : definition_.column_tags) {
    if (!row.life.end) tags.push_back(row);
  }
  if (before == nullptr || !before->same_columns(*after)) {
    DIL_TRY(std::optional<SnapshotId> oldest,
            is_new() ? Result<std::optional<SnapshotId>>(std::nullopt)
                     : store::load_oldest_live(connection_, deps_.lake, table_id_,
                                               definition_.inlined_tables));
    const bool is_emptied = std::any_of(steps_.begin(), steps_.end(),
                                        [](const MainStep& s) { return s.ends_everything; });
    const auto retype =
        !oldest || is_emptied ? translate::Retype::kAllow : translate::Retype::kRefuse;
    DIL_TRY(columns_,
            translate::change_columns(live, tags, before == nullptr ? iceberg::Schema() : *before,
                                      *after, retype));
    changes_columns_ = !columns_.ended.empty() || !columns_.inserted.empty();
    changes_definition_ = changes_definition_ || !columns_.is_empty();
  }
  const std::vector<ducklake::ColumnRow> columns = columns_after(live, columns_);
  for (const ducklake::ColumnRow& row : columns) {
    const bool is_group = row.type == "struct" || row.type == "list" || row.type == "map";
    if (!is_group && after->find(row.column_id) == nullptr) hidden_.push_back(row.column_id);
  }
  DIL_CHECK_OK(plan_partitioning(columns));
  DIL_CHECK_OK(plan_sort_order());
  const std::optional<std::string> comment = property(metadata_, kComment);
  if (is_new() ? comment.has_value() : comment != property(before_, kComment)) {
    comment_ = comment;
    changes_definition_ = true;
  }
  if (!is_new() && metadata_.location != before_.location) {
    const PathRules inside{{deps_.lake.data_path}, false};
    if (!check_path(inside, metadata_.location).has_value()) {
      return invalid_argument("location {} does not lie inside the catalog", metadata_.location);
    }
    // Its metadata would lie among another table's, a purge would take both, and its keys would
    // open what comes into the other's namespace.
    std::string folder = metadata_.location;
    while (folder.ends_with('/')) folder.pop_back();
    folder.push_back('/');
    DIL_TRY(const bool is_taken, store::is_place_taken(connection_, deps_.lake, table_id_,
                                                       table_row_.schema_id, folder));
    if (is_taken) {
      return invalid_argument("location {} overlaps that of something else", metadata_.location);
    }
    new_location_ = metadata_.location;
    changes_definition_ = true;
  }
  return {};
}

Status TableWork::plan_partitioning(const std::vector<ducklake::ColumnRow>& columns) {
  const iceberg::Schema& schema = *find_schema(metadata_, metadata_.current_schema_id);
  const ducklake::PartitionInfo* live = nullptr;
  for (const ducklake::PartitionInfo& info : definition_.partitions) {
    if (!info.life.end) live = &info;
  }
  const auto spec_of = [&](const std::vector<ducklake::PartitionColumn>& wanted) {
    std::int32_t found = translate::kNoSpec;
    for (const iceberg::PartitionSpec& spec : metadata_.partition_specs) {
      const auto native = translate::native_partitioning(spec, schema, columns);
      const bool is_it = native && !wanted.empty() && *native == wanted;
      if (is_it && (found == translate::kNoSpec || spec.spec_id == metadata_.default_spec_id)) {
        found = spec.spec_id;
      }
    }
    return found;
  };
  std::vector<ducklake::PartitionColumn> now =
      live == nullptr ? std::vector<ducklake::PartitionColumn>() : live->columns;
  partition_id_ = live == nullptr ? kNone : live->partition_id;
  if (is_new() || metadata_.default_spec_id != before_.default_spec_id) {
    std::optional<std::vector<ducklake::PartitionColumn>> native;
    for (const iceberg::PartitionSpec& spec : metadata_.partition_specs) {
      if (spec.spec_id == metadata_.default_spec_id) {
        native = translate::native_partitioning(spec, schema, columns);
      }
    }
    if (native && has_bucket(*native) && !is_new()) {
      // DuckDB would look for bucket values that the files of before do not have.
      DIL_TRY(
          std::optional<SnapshotId> oldest,
          store::load_oldest_live(connection_, deps_.lake, table_id_, definition_.inlined_tables));
      if (oldest) native.reset();
    }
    std::vector<ducklake::PartitionColumn> wanted =
        native.value_or(std::vector<ducklake::PartitionColumn>());
    if (wanted != now) {
      partitioning_ = wanted;
      now = std::move(wanted);
    }
  }
  partition_spec_ = spec_of(now);
  if (has_bucket(now)) {
    for (const MainStep& step : steps_) {
      for (const PreparedFiles::Added& item : step.files.added) {
        bool is_filed = item.spec_id == partition_spec_;
        for (const iceberg::PartitionSpec& spec : metadata_.partition_specs) {
          if (is_filed && spec.spec_id == item.spec_id) {
            is_filed = translate::partition_texts(*item.file, spec, schema).has_value();
          }
        }
        if (!is_filed) needs_plain_partitioning_ = true;
      }
    }
  }
  if (needs_plain_partitioning_) {
    partitioning_ = std::vector<ducklake::PartitionColumn>();
    partition_spec_ = translate::kNoSpec;
  }
  if (partitioning_) changes_definition_ = true;
  return {};
}

Status TableWork::plan_sort_order() {
  const ducklake::SortInfo* live = nullptr;
  for (const ducklake::SortInfo& info : definition_.sorts) {
    if (!info.life.end) live = &info;
  }
  sort_id_ = live == nullptr ? kNone : live->sort_id;
  if (!is_new() && metadata_.default_sort_order_id == before_.default_sort_order_id) return {};
  std::vector<ducklake::SortExpression> wanted;
  for (const iceberg::SortOrder& order : metadata_.sort_orders) {
    if (order.order_id != metadata_.default_sort_order_id) continue;
    const iceberg::Schema& schema = *find_schema(metadata_, metadata_.current_schema_id);
    wanted = translate::native_sort(order, schema).value_or(wanted);
  }
  if (wanted.empty() && live == nullptr) return {};
  sort_ = std::move(wanted);
  changes_definition_ = true;
  return {};
}

Status TableWork::write_definition(pg::Transaction& transaction, const store::Slot& slot,
                                   std::vector<ducklake::Change>& words) {
  const store::Lake& lake = deps_.lake;
  const SnapshotId s = slot.snapshot;
  if (!is_new()) {
    words.push_back({ducklake::ChangeKind::kAlteredTable, table_id_.value, "", ""});
  }
  if (new_location_) {
    table_row_.path = *new_location_ + "/";
    DIL_CHECK_OK(store::change_table_path(transaction, lake, table_id_, s, table_row_.path));
  }
  DIL_CHECK_OK(store::end_columns(transaction, lake, table_id_, s, [&] {
    std::vector<std::int64_t> ids;
    for (const FieldId id : columns_.ended) ids.push_back(id.value);
    return ids;
  }()));
  DIL_CHECK_OK(store::insert_columns(transaction, lake, table_id_, s, columns_.inserted));
  DIL_CHECK_OK(store::end_column_comments(transaction, lake, table_id_, s, [&] {
    std::vector<std::int64_t> ids;
    for (const FieldId id : columns_.comments_ended) ids.push_back(id.value);
    return ids;
  }()));
  for (const auto& [id, text] : columns_.comments_inserted) {
    DIL_CHECK_OK(store::insert_column_comment(transaction, lake, table_id_, s, id, text));
  }
  // Reserved in TableWork::needs: the table's own id first.
  if (partitioning_ && !(is_new() && partitioning_->empty())) {
    partition_id_ = slot.first_catalog_id + 1;
    DIL_CHECK_OK(
        store::set_partitioning(transaction, lake, table_id_, s, partition_id_, *partitioning_));
  }
  if (sort_) {
    sort_id_ = sort_->empty() ? kNone : slot.first_catalog_id + 2;
    DIL_CHECK_OK(
        store::set_sort_order(transaction, lake, table_id_, s, slot.first_catalog_id + 2, *sort_));
  }
  if (comment_) DIL_CHECK_OK(store::set_table_comment(transaction, lake, table_id_, s, *comment_));
  if (is_new() || changes_columns_ || partitioning_) {
    DIL_CHECK_OK(store::insert_schema_version(transaction, lake, table_id_, slot));
  }
  if (changes_columns_ && !is_new()) {
    std::vector<ducklake::ColumnRow> live;
    for (const ducklake::ColumnRow& row : definition_.columns) {
      if (!row.life.end) live.push_back(row);
    }
    DIL_CHECK_OK(store::add_inlined_table(transaction, lake, table_id_, slot,
                                          columns_after(live, columns_)));
  }
  return {};
}

Status TableWork::write_new_table(pg::Transaction& transaction, const store::Slot& slot,
                                  std::vector<ducklake::Change>& words) {
  // Folders of files that only Iceberg names are called by the uuid. Asked for here, because nobody
  // else can make a table any more.
  DIL_TRY(pg::Connection * connection, transaction.begun());
  DIL_TRY(bool is_taken, store::is_uuid_used(*connection, deps_.lake, table_row_.uuid));
  if (is_taken) {
    return make_error(Code::kAlreadyExists,
                      "Table already exists: another table has uuid {}; drop it first",
                      table_row_.uuid);
  }
  table_id_ = TableId(slot.first_catalog_id);
  table_row_.table_id = table_id_;
  table_row_.life.begin = slot.snapshot;
  store::NewTable row;
  row.id = table_id_;
  row.uuid = table_row_.uuid;
  row.schema = place_->schema;
  row.name = place_->name;
  row.is_absolute = !table_row_.path.starts_with(place_->schema_path);
  row.path = row.is_absolute ? table_row_.path : table_row_.path.substr(place_->schema_path.size());
  DIL_CHECK_OK(store::insert_table(transaction, deps_.lake, slot.snapshot, row));
  words.push_back({ducklake::ChangeKind::kCreatedTable, -1, place_->schema_name, place_->name});
  return write_definition(transaction, slot, words);
}

Status TableWork::write_state(pg::Transaction& transaction, const std::vector<store::Slot>& slots) {
  const store::Lake& lake = deps_.lake;
  std::vector<std::int64_t> moved;
  for (const MainStep& step : steps_) {
    if (step.moved_id) moved.push_back(*step.moved_id);
  }
  for (auto& [name, ref] : refs_) {
    const auto renamed = aliases_.find(ref.snapshot_id);
    if (renamed != aliases_.end()) ref.snapshot_id = renamed->second;
  }
  // Snapshots beside main whose parent got another id.
  std::vector<store::PublishedSnapshot> rewritten;
  if (view_) {
    for (const SnapshotRecord& record : view_->state().side) {
      if (!record.parent_id || !aliases_.contains(*record.parent_id)) continue;
      if (std::find(moved.begin(), moved.end(), record.id) != moved.end()) continue;
      DIL_TRY(iceberg::Snapshot snapshot, iceberg::snapshot_from_json(record.json));
      snapshot.parent_snapshot_id = aliases_.at(*record.parent_id);
      DIL_TRY(SnapshotRecord fresh, make_record(snapshot));
      rewritten.push_back({SnapshotId(record.id), fresh.json, false});
    }
  }
  std::vector<std::int64_t> hidden(removed_.begin(), removed_.end());
  hidden.insert(hidden.end(), moved.begin(), moved.end());

  std::map<std::string, std::string> set;
  std::vector<std::string> dropped;
  for (const auto& [key, value] : metadata_.properties) {
    const auto old = before_.properties.find(key);
    if (key != kComment && (old == before_.properties.end() || old->second != value)) {
      set[key] = value;
    }
  }
  for (const auto& [key, value] : before_.properties) {
    if (!metadata_.properties.contains(key)) dropped.push_back(key);
  }
  iceberg::TableMetadata document = metadata_;
  document.refs.clear();
  document.current_snapshot_id.reset();
  store::CommittedState state;
  state.document = iceberg::metadata_to_json(document);
  state.refs = refs_to_json(refs_);
  state.spec_binding = partition_id_;
  state.sort_binding = sort_id_;
  state.main_after = view_ ? view_->state().stored.main_after : kNone;
  if (main_is_cleared_ && !slots.empty()) state.main_after = slots.front().snapshot.value;
  state.must_rewrite = view_ && metadata_.format_version > before_.format_version &&
                       !view_->state().head.manifests.empty();
  if (is_new()) {
    DIL_CHECK_OK(store::change_table_properties(transaction, lake, table_id_, set, dropped));
    store::TableState fresh;
    fresh.through = SnapshotId(slots.front().snapshot.value - 1);
    fresh.next_file_id = slots.front().first_file_id;
    fresh.document = state.document;
    fresh.refs = state.refs;
    fresh.is_dirty = true;
    fresh.spec_binding = state.spec_binding;
    fresh.sort_binding = state.sort_binding;
    fresh.totals.assign(6, 0);
    manifest::ManifestListHeader header;
    header.format_version = metadata_.format_version;
    if (header.format_version >= 3) header.first_row_id = 0;
    DIL_TRY(fresh.manifests, manifest::encode_manifest_list(header, {}));
    return store::save_table_state(transaction, lake, table_id_, fresh);
  }
  iceberg::TableMetadata old = before_;
  old.refs.clear();
  old.current_snapshot_id.reset();
  const bool is_same = iceberg::metadata_to_json(old) == state.document &&
                       refs_ == view_->state().refs && !main_is_cleared_ && hidden.empty() &&
                       rewritten.empty() && side_.empty() && !changes_definition_;
  changes_rows_only_ = is_same && set.empty() && dropped.empty();
  if (is_same) return {};
  DIL_CHECK_OK(store::change_table_properties(transaction, lake, table_id_, set, dropped));
  DIL_CHECK_OK(store::save_published(transaction, lake, table_id_, rewritten));
  DIL_CHECK_OK(store::hide_published(transaction, lake, table_id_, hidden));
  DIL_CHECK_OK(store::save_committed_state(transaction, lake, table_id_, state));
  return store::raise_revision(transaction, lake);
}

}  // namespace duckicelake::catalog
