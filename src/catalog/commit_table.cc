// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_table.h"

#include <algorithm>

#include "catalog/random_name.h"
#include "iceberg/reserved_names.h"
#include "iceberg/snapshot_json.h"
#include "iceberg/table_metadata_json.h"
#include "json/writer.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

constexpr std::string_view kMain = "main";
constexpr std::size_t kMaxManifestListBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxManifests = 200'000;

std::string without_slashes(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

bool is_plain_folder(const std::string& name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// All files that the snapshot adds; a deletion vector's file may hold several.
std::vector<store::SideFile> side_files_of(const SnapshotDelta& delta) {
  std::map<std::string, store::SideFile> found;
  for (const auto* list : {&delta.added, &delta.added_deletes}) {
    for (const AddedDataFiles& item : *list) {
      for (const manifest::ManifestEntry& entry : item.entries) {
        const manifest::DataFile& file = entry.data_file;
        // A path without a scheme names no object.
        if (file.file_path.find("://") == std::string::npos) continue;
        found.emplace(file.file_path,
                      store::SideFile{file.file_path, file.record_count, file.file_size_in_bytes});
      }
    }
  }
  std::vector<store::SideFile> out;
  out.reserve(found.size());
  for (auto& [path, file] : found) out.push_back(std::move(file));
  return out;
}

}  // namespace

std::string new_table_location(const NewTablePlace& place, const std::string& uuid) {
  const bool is_free = is_plain_folder(place.name) && !place.is_name_used;
  return place.schema_path + (is_free ? place.name : uuid);
}

TableWork::TableWork(const CommitDeps& deps, pg::Connection& connection,
                     std::shared_ptr<const TableView> view, std::optional<NewTablePlace> place,
                     std::shared_ptr<const store::TableDefinition> definition)
    : deps_(deps),
      connection_(connection),
      view_(std::move(view)),
      place_(std::move(place)),
      known_definition_(std::move(definition)) {}

Status TableWork::plan(const std::vector<iceberg::Requirement>& requirements,
                       const std::vector<iceberg::TableUpdate>& updates,
                       const RegisteredFiles* registered) {
  DIL_CHECK_OK(load());
  for (const iceberg::TableUpdate& update : updates) {
    const auto* added = std::get_if<iceberg::AddSnapshot>(&update);
    if (added == nullptr || is_new()) continue;
    DIL_TRY(std::optional<store::ClientSnapshot> known,
            store::find_client_snapshot(connection_, deps_.lake, table_id_,
                                        added->snapshot.snapshot_id));
    if (!known) continue;
    if (known->manifest_list != added->snapshot.manifest_list) {
      return invalid_argument("snapshot id {} was committed before with another manifest list",
                              added->snapshot.snapshot_id);
    }
    is_repeated_ = true;
  }
  if (is_repeated_) return {};
  DIL_CHECK_OK(check(requirements));
  for (const iceberg::TableUpdate& update : updates) DIL_CHECK_OK(apply(update));
  if (is_new()) DIL_CHECK_OK(place_new_table());
  DIL_CHECK_OK(check_final_state());
  DIL_CHECK_OK(finish_side_snapshots());
  if (main_is_cleared_ && current_main()) {
    MainStep step;
    step.ends_everything = true;
    step.summary["operation"] = "delete";
    steps_.push_back(std::move(step));
  }
  if (registered != nullptr) {
    MainStep step;
    step.summary = registered->summary;
    step.shown_id = registered->snapshot_id;
    step.revives_files = true;
    step.delta = registered->delta;
    steps_.push_back(std::move(step));
  }
  footers_.emplace(deps_.objects, current_schema());
  world_.emplace(FileWorld{connection_, deps_.lake, definition_, places_, deps_.objects,
                           deps_.engine, metadata_, *footers_});
  preparer_.emplace(*world_);
  DIL_CHECK_OK(resolve_equality_deletes());
  for (MainStep& step : steps_) {
    DIL_CHECK_OK(footers_->read(step.delta));
    DIL_TRY(step.files, preparer_->prepare(step.delta, {step.ends_everything, step.revives_files}));
    for (const PreparedFiles::Deletes& item : step.files.deletes) {
      if (item.object) objects_.push_back(*item.object);
    }
  }
  return plan_definition();
}

Status TableWork::load() {
  if (is_new()) {
    apply_state_.creates_table = true;
    return {};
  }
  table_id_ = view_->table_id();
  if (known_definition_) {
    definition_ = *known_definition_;
  } else {
    DIL_TRY(std::optional<store::TableDefinition> definition,
            store::load_table_definition(connection_, deps_.lake, table_id_));
    if (!definition) return Error(Code::kNoSuchTable, "the table was dropped");
    definition_ = std::move(*definition);
  }
  table_row_ = definition_.table;
  DIL_TRY(places_, places_of(deps_.lake, definition_.table));
  const ProjectionState& state = view_->state();
  before_ = state.document;
  refs_ = state.refs;
  before_.refs = refs_;
  before_.refs.erase(std::string(kMain));
  if (const auto main = state.main()) {
    before_.current_snapshot_id = main;
    before_.refs[std::string(kMain)] =
        iceberg::SnapshotRef{*main, iceberg::RefType::kBranch, {}, {}, {}};
  }
  metadata_ = before_;
  return {};
}

Status TableWork::check(const std::vector<iceberg::Requirement>& requirements) {
  for (iceberg::Requirement requirement : requirements) {
    if (auto* ref = std::get_if<iceberg::AssertRefSnapshotId>(&requirement);
        ref != nullptr && ref->snapshot_id && !is_new()) {
      // The client may still call the snapshot by the id that it chose.
      const auto known = before_.refs.find(ref->ref);
      if (known != before_.refs.end() && known->second.snapshot_id != *ref->snapshot_id) {
        DIL_TRY(std::optional<store::ClientSnapshot> own,
                store::find_client_snapshot(connection_, deps_.lake, table_id_, *ref->snapshot_id));
        if (own && own->is_main) ref->snapshot_id = own->ducklake_id.value;
      }
    }
    DIL_CHECK_OK(iceberg::check_requirement(requirement, is_new() ? nullptr : &before_));
  }
  return {};
}

Status TableWork::apply(const iceberg::TableUpdate& update) {
  if (const auto* u = std::get_if<iceberg::AddSnapshot>(&update)) return add_snapshot(u->snapshot);
  if (const auto* u = std::get_if<iceberg::SetSnapshotRef>(&update)) return set_ref(*u);
  if (const auto* u = std::get_if<iceberg::RemoveSnapshotRef>(&update)) return remove_ref(u->name);
  if (const auto* u = std::get_if<iceberg::RemoveSnapshots>(&update)) {
    return remove_snapshots(u->snapshot_ids);
  }
  if (const auto* u = std::get_if<iceberg::RemovePartitionSpecs>(&update); u != nullptr && view_) {
    for (const translate::HeadManifest& item : view_->state().head.manifests) {
      const bool is_named = std::find(u->spec_ids.begin(), u->spec_ids.end(),
                                      item.file.partition_spec_id) != u->spec_ids.end();
      if (is_named && item.live_files() > 0) {
        return invalid_argument("partition spec {} is used by files of the current snapshot",
                                item.file.partition_spec_id);
      }
    }
  }
  return iceberg::apply_definition_update(metadata_, update, apply_state_);
}

PathRules TableWork::path_rules() const {
  PathRules rules;
  rules.allows_bare_paths = deps_.allows_bare_paths;
  if (!is_new()) {
    rules.allowed_prefixes.push_back(places_.location + "/");
    rules.delete_prefixes.push_back(places_.iceberg_only);
  }
  if (!metadata_.location.empty()) {
    rules.allowed_prefixes.push_back(without_slashes(metadata_.location) + "/");
  }
  for (const std::string& prefix : deps_.extra_prefixes) rules.allowed_prefixes.push_back(prefix);
  return rules;
}

std::optional<std::int64_t> TableWork::current_main() const {
  if (!steps_.empty()) {
    return steps_.back().shown_id;
  }
  return view_ ? view_->state().main() : std::nullopt;
}

// An id as it is published: clients may use the ones they chose.
Result<std::int64_t> TableWork::resolve_id(std::int64_t id) const {
  if (pending_.contains(id) || !view_ || view_->state().find(id) != nullptr) return id;
  DIL_TRY(std::optional<store::ClientSnapshot> own,
          store::find_client_snapshot(connection_, deps_.lake, table_id_, id));
  return own && own->is_main ? own->ducklake_id.value : id;
}

Status TableWork::add_snapshot(const iceberg::Snapshot& snapshot) {
  const std::int64_t id = snapshot.snapshot_id;
  if (id <= 0) return invalid_argument("snapshot id {} is not positive", id);
  const bool is_known = pending_.contains(id) || (view_ && view_->state().find(id) != nullptr);
  if (is_known) return invalid_argument("snapshot {} exists already", id);
  if (snapshot.manifest_list.empty())
    return invalid_argument("snapshot {} has no manifest list", id);
  if (snapshot.schema_id &&
      std::none_of(metadata_.schemas.begin(), metadata_.schemas.end(),
                   [&](const iceberg::Schema& s) { return s.schema_id == *snapshot.schema_id; })) {
    return invalid_argument("snapshot {} names schema {}, which the table does not have", id,
                            *snapshot.schema_id);
  }
  const PathRules rules = path_rules();
  DIL_CHECK_OK(check_path(rules, snapshot.manifest_list));
  std::vector<manifest::ManifestFile> parent;
  if (snapshot.parent_snapshot_id) {
    DIL_TRY(std::int64_t parent_id, resolve_id(*snapshot.parent_snapshot_id));
    if (const auto pending = pending_.find(parent_id); pending != pending_.end()) {
      parent = pending->second.read.manifests;
    } else if (view_ && view_->state().main() == parent_id) {
      for (const translate::HeadManifest& item : view_->state().head.manifests) {
        parent.push_back(item.file);
      }
    } else if (const SnapshotRecord* record = view_ ? view_->state().find(parent_id) : nullptr) {
      DIL_TRY(std::string key, deps_.objects.key_of(record->manifest_list));
      DIL_TRY(std::string bytes, deps_.objects.get(key, kMaxManifestListBytes));
      DIL_TRY(parent, manifest::decode_manifest_list(bytes, kMaxManifests));
    } else {
      return invalid_argument("snapshot {} has parent {}, which the table does not have", id,
                              *snapshot.parent_snapshot_id);
    }
  }
  Pending item;
  item.snapshot = snapshot;
  DIL_TRY(item.read,
          read_client_snapshot(deps_.objects, DeltaInput{snapshot, parent, metadata_, rules}));
  pending_.emplace(id, std::move(item));
  pending_order_.push_back(id);
  return {};
}

Status TableWork::set_ref(const iceberg::SetSnapshotRef& update) {
  DIL_TRY(std::int64_t id, resolve_id(update.ref.snapshot_id));
  if (update.name == kMain) {
    if (update.ref.type != iceberg::RefType::kBranch) {
      return invalid_argument("main must be a branch");
    }
    iceberg::SnapshotRef kept = update.ref;
    kept.snapshot_id = 0;
    const bool has_retention =
        kept.min_snapshots_to_keep || kept.max_snapshot_age_ms || kept.max_ref_age_ms;
    if (has_retention) {
      refs_[std::string(kMain)] = kept;
    } else {
      refs_.erase(std::string(kMain));
    }
    return set_main(id);
  }
  const bool is_known = pending_.contains(id) || (view_ && view_->state().find(id) != nullptr);
  if (!is_known || removed_.contains(id)) {
    return invalid_argument("ref \"{}\" names snapshot {}, which the table does not have",
                            update.name, update.ref.snapshot_id);
  }
  iceberg::SnapshotRef ref = update.ref;
  ref.snapshot_id = id;
  refs_[update.name] = ref;
  return {};
}

Status TableWork::set_main(std::int64_t id) {
  const std::optional<std::int64_t> now = main_is_cleared_ ? std::nullopt : current_main();
  if (now == id) return {};
  if (pending_.contains(id)) return place_on_main(id);
  const SnapshotRecord* record = view_ ? view_->state().find(id) : nullptr;
  if (record == nullptr) {
    return invalid_argument("main cannot be set to snapshot {}, which the table does not have", id);
  }
  // A chain of snapshots beside main that continues it.
  std::vector<const SnapshotRecord*> chain;
  const auto& side = view_->state().side;
  for (const SnapshotRecord* at = record; at != nullptr;) {
    const bool is_side =
        std::any_of(side.begin(), side.end(), [&](const SnapshotRecord& r) { return &r == at; });
    if (!is_side) break;
    chain.insert(chain.begin(), at);
    if (at->parent_id == now) {
      main_is_cleared_ = false;
      return fast_forward(std::move(chain));
    }
    at = at->parent_id ? view_->state().find(*at->parent_id) : nullptr;
  }
  DIL_CHECK_OK(roll_back_to(id));
  main_is_cleared_ = false;
  return {};
}

// A client may add several snapshots and name only the last one.
Status TableWork::place_on_main(std::int64_t id) {
  const std::optional<std::int64_t> now = main_is_cleared_ ? std::nullopt : current_main();
  std::vector<Pending*> chain;
  for (std::optional<std::int64_t> at = id; at && at != now;) {
    const auto pending = pending_.find(*at);
    if (pending == pending_.end() || chain.size() == pending_.size()) break;
    Pending& item = pending->second;
    if (item.is_placed) return invalid_argument("snapshot {} is part of main already", *at);
    chain.insert(chain.begin(), &item);
    at = item.snapshot.parent_snapshot_id;
    if (at) {
      DIL_TRY(at, resolve_id(*at));
    }
  }
  std::optional<std::int64_t> parent = chain.front()->snapshot.parent_snapshot_id;
  if (parent) {
    DIL_TRY(parent, resolve_id(*parent));
  }
  const bool replaces = !parent && current_main();
  if (!replaces && parent != now) {
    // Another commit came between: the client makes its snapshot anew on top of it.
    return make_error(Code::kCommitFailed,
                      "snapshot {} cannot become main's: its parent is {} and main is at {}", id,
                      parent.value_or(-1), now.value_or(-1));
  }
  for (Pending* item : chain) {
    MainStep step;
    step.client = item->snapshot;
    step.shown_id = item->snapshot.snapshot_id;
    step.summary = item->snapshot.summary;
    step.starts_anew = !item->snapshot.parent_snapshot_id;
    step.ends_everything = replaces && item == chain.front();
    step.delta = item->read.delta;
    step.manifests = item->read.manifests;
    steps_.push_back(std::move(step));
    item->is_placed = true;
  }
  main_is_cleared_ = false;
  return {};
}

Status TableWork::remove_ref(const std::string& name) {
  if (name != kMain) {
    refs_.erase(name);
    return {};
  }
  // Iceberg Java replaces a table so: main goes, and comes back with a snapshot that has no parent.
  if (current_main()) main_is_cleared_ = true;
  return {};
}

Status TableWork::remove_snapshots(const std::vector<std::int64_t>& ids) {
  for (const std::int64_t given : ids) {
    DIL_TRY(std::int64_t id, resolve_id(given));
    if (pending_.contains(id)) return invalid_argument("snapshot {} is added and removed", given);
    if (view_ && view_->state().find(id) != nullptr) removed_.insert(id);
  }
  return {};
}

Status TableWork::finish_side_snapshots() {
  for (const std::int64_t id : pending_order_) {
    Pending& item = pending_.at(id);
    if (item.is_placed) continue;
    SideStep step;
    step.client = item.snapshot;
    if (item.snapshot.parent_snapshot_id) {
      DIL_TRY(step.parent_id, resolve_id(*item.snapshot.parent_snapshot_id));
    }
    step.added_rows = item.read.delta.added_rows();
    step.files = side_files_of(item.read.delta);
    side_.push_back(std::move(step));
  }
  return {};
}

Status TableWork::check_final_state() {
  DIL_CHECK_OK(iceberg::check_definitions(metadata_));
  const std::optional<std::int64_t> main = main_is_cleared_ ? std::nullopt : current_main();
  for (const std::int64_t id : removed_) {
    if (id == main) return invalid_argument("snapshot {} is main's and cannot be removed", id);
    for (const auto& [name, ref] : refs_) {
      if (ref.snapshot_id == id) {
        return invalid_argument("snapshot {} is named by ref \"{}\" and cannot be removed", id,
                                name);
      }
    }
  }
  for (auto* lists : {&metadata_.statistics, &metadata_.partition_statistics}) {
    std::erase_if(*lists, [&](const std::string& json) {
      const auto id = iceberg::statistics_snapshot_id(json);
      return id.has_value() && removed_.contains(*id);
    });
  }
  for (const auto& [name, ref] : refs_) {
    if (name.empty() || name.find('\0') != std::string::npos) {
      return invalid_argument("a ref needs a name");
    }
    DIL_CHECK_OK(iceberg::check_unreserved_name("ref", name));
  }
  return {};
}

Status TableWork::place_new_table() {
  if (metadata_.table_uuid.empty()) metadata_.table_uuid = random_uuid();
  table_row_.uuid = metadata_.table_uuid;
  table_row_.schema_id = place_->schema;
  table_row_.schema_name = place_->schema_name;
  table_row_.name = place_->name;
  const std::string own = new_table_location(*place_, metadata_.table_uuid);
  if (metadata_.location.empty()) metadata_.location = own;
  metadata_.location = without_slashes(metadata_.location);
  if (metadata_.location != own) {
    const PathRules inside{{deps_.lake.data_path}, false};
    if (!check_path(inside, metadata_.location).has_value()) {
      return invalid_argument("location {} does not lie inside the catalog", metadata_.location);
    }
    DIL_TRY(bool is_taken,
            store::overlaps_tables(connection_, deps_.lake, metadata_.location + "/"));
    if (!is_taken) {
      DIL_TRY(is_taken, store::is_place_taken(connection_, deps_.lake, store::kNewTable,
                                              place_->schema, metadata_.location + "/"));
    }
    if (is_taken) {
      return invalid_argument("location {} overlaps that of something else", metadata_.location);
    }
  }
  table_row_.path = metadata_.location + "/";
  definition_.table = table_row_;
  DIL_TRY(places_, places_of(deps_.lake, table_row_));
  return {};
}

const iceberg::Schema& TableWork::current_schema() const {
  return *std::find_if(metadata_.schemas.begin(), metadata_.schemas.end(),
                       [&](const auto& s) { return s.schema_id == metadata_.current_schema_id; });
}

std::shared_ptr<const store::TableDefinition> TableWork::definition() const {
  if (known_definition_) return known_definition_;
  return std::make_shared<const store::TableDefinition>(definition_);
}

std::size_t TableWork::slots() const {
  const std::size_t snapshots = steps_.size() + side_.size();
  const bool needs_one = is_new() || changes_definition_;
  return std::max<std::size_t>(snapshots, needs_one ? 1 : 0);
}

store::SlotNeeds TableWork::needs(std::size_t slot) const {
  store::SlotNeeds needs;
  if (slot == 0) {
    needs.changes_schema = is_new() || changes_definition_;
    needs.catalog_ids = 3;  // the table, its partitioning, its sort order
  }
  if (slot < steps_.size()) {
    needs.file_ids = steps_[slot].files.file_ids();
  } else if (slot - steps_.size() < side_.size()) {
    needs.file_ids = static_cast<std::int64_t>(side_[slot - steps_.size()].files.size());
  }
  return needs;
}

bool TableWork::adds_files() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const MainStep& step) { return !step.files.added.empty(); });
}

bool TableWork::changes_anything() const {
  if (is_repeated_) return false;
  if (slots() > 0 || !removed_.empty() || new_location_ || comment_) return true;
  const std::map<std::string, iceberg::SnapshotRef> refs_before =
      view_ ? view_->state().refs : std::map<std::string, iceberg::SnapshotRef>();
  if (refs_ != refs_before) return true;
  iceberg::TableMetadata a = metadata_;
  iceberg::TableMetadata b = before_;
  a.refs.clear();
  b.refs.clear();
  return !(a == b);
}

Status TableWork::write(pg::Transaction& transaction, const std::vector<store::Slot>& slots,
                        std::vector<std::vector<ducklake::Change>>& words) {
  if (is_new()) {
    DIL_CHECK_OK(write_new_table(transaction, slots[0], words[0]));
  } else if (changes_definition_) {
    DIL_CHECK_OK(write_definition(transaction, slots[0], words[0]));
  }
  DIL_CHECK_OK(write_snapshots(transaction, slots, words));
  return write_state(transaction, slots);
}

Status TableWork::write_snapshots(pg::Transaction& transaction,
                                  const std::vector<store::Slot>& slots,
                                  std::vector<std::vector<ducklake::Change>>& words) {
  FilingRules rules{current_schema(), metadata_.partition_specs, {}, partition_spec_, hidden_};
  if (partition_id_ >= 0) rules.partition_id = partition_id_;
  OwnIds own;
  std::optional<std::int64_t> main = view_ ? view_->state().main() : std::nullopt;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    MainStep& step = steps_[i];
    const store::Slot& slot = slots[i];
    std::vector<std::string> paths;
    for (const PreparedFiles::Added& item : step.files.added) paths.push_back(item.file->file_path);
    if (step.revives_files) {
      DIL_CHECK_OK(store::revive_paths(transaction, deps_.lake, paths));
    } else if (view_ && !view_->state().side.empty()) {
      DIL_CHECK_OK(store::release_side_rows(transaction, deps_.lake, table_id_, paths));
    }
    DIL_CHECK_OK(write_files(transaction, deps_.lake, table_row_, step.files, rules, slot.snapshot,
                             slot.first_file_id, definition_.inlined_tables, own, statistics_));
    using ducklake::ChangeKind;
    std::vector<ducklake::Change>& out = words[i];
    const auto word = [&](ChangeKind kind) { out.push_back({kind, table_id_.value, "", ""}); };
    const PreparedFiles& files = step.files;
    const bool is_replace = step.summary["operation"] == "replace";
    const bool removes = files.ends_everything || !files.ended.empty() ||
                         !files.ended_own.empty() || !files.deletes.empty();
    if (is_replace && files.inlined_ends.empty() && !files.ends_everything) {
      word(ChangeKind::kRewriteDelete);
    } else {
      if (!files.added.empty() || !files.changes_rows) word(ChangeKind::kInsertedIntoTable);
      if (removes) word(ChangeKind::kDeletedFromTable);
      if (!files.inlined_ends.empty()) word(ChangeKind::kInlinedDelete);
    }
    const std::optional<std::int64_t> parent = step.starts_anew ? std::nullopt : main;
    main = slot.snapshot.value;
    std::string summary;
    json::Writer writer(summary);
    iceberg::write_string_map(writer, step.summary);
    if (step.moved_id) {
      DIL_CHECK_OK(store::move_to_main(transaction, deps_.lake, table_id_, *step.moved_id,
                                       slot.snapshot, parent));
      aliases_[*step.moved_id] = slot.snapshot.value;
      continue;
    }
    store::ClientSnapshot row;
    row.client_id = step.client ? step.client->snapshot_id : -slot.snapshot.value;
    row.ducklake_id = slot.snapshot;
    row.is_published = true;
    row.parent_id = parent;
    row.summary = std::move(summary);
    if (step.client) {
      row.schema_id = step.client->schema_id;
      row.manifest_list = step.client->manifest_list;
      row.key_id = step.client->key_id;
      aliases_[step.client->snapshot_id] = slot.snapshot.value;
    }
    DIL_CHECK_OK(store::insert_client_snapshot(transaction, deps_.lake, table_id_, row));
  }
  for (std::size_t j = 0; j < side_.size(); ++j) {
    const SideStep& step = side_[j];
    store::ClientSnapshot row;
    row.client_id = step.client.snapshot_id;
    row.ducklake_id = slots[steps_.size() + j].snapshot;
    row.is_main = false;
    row.parent_id = step.parent_id;
    if (row.parent_id && aliases_.contains(*row.parent_id)) {
      row.parent_id = aliases_.at(*row.parent_id);
    }
    row.schema_id = step.client.schema_id.value_or(metadata_.current_schema_id);
    json::Writer writer(row.summary);
    iceberg::write_string_map(writer, step.client.summary);
    row.manifest_list = step.client.manifest_list;
    row.key_id = step.client.key_id;
    if (metadata_.format_version >= 3) {
      DIL_TRY(store::TableStatistics now,
              store::load_statistics(transaction, deps_.lake, table_id_));
      store::TableTotals totals = now.totals.value_or(store::TableTotals{});
      row.first_row_id = totals.next_row_id;
      row.added_rows = step.added_rows;
      totals.next_row_id += step.added_rows;
      DIL_CHECK_OK(
          store::save_totals(transaction, deps_.lake, table_id_, totals, !now.totals.has_value()));
    }
    DIL_CHECK_OK(store::insert_client_snapshot(transaction, deps_.lake, table_id_, row));
    DIL_CHECK_OK(store::add_side_files(transaction, deps_.lake, table_row_,
                                       slots[steps_.size() + j].first_file_id, step.files));
  }
  return {};
}

}  // namespace duckicelake::catalog
