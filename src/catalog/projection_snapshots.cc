// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "catalog/projection_run.h"
#include "iceberg/snapshot_json.h"
#include "json/value.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kFlushObjects = 64;
constexpr std::size_t kFlushBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxManifestBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxManifestEntries = 1'000'000;
// How many published snapshots one projection makes anew after their files were cleaned up; older
// ones are hidden.
constexpr std::size_t kMaxRebuilt = 100;

// Members of a summary that are counted anew from what really changed.
bool is_counted(std::string_view key) {
  for (const std::string_view prefix : {"added-", "deleted-", "removed-", "total-"}) {
    if (key.starts_with(prefix)) return true;
  }
  return key == "changed-partition-count";
}

}  // namespace

// Snapshots that DuckLake expired before anybody saw them are left out; what they did falls to the
// next one. The newest one stays whatever happened to it: its rows are those of now.
Status ProjectionRun::drop_expired_from_chain() {
  std::vector<std::int64_t> ids;
  for (const ChainItem& item : chain_) ids.push_back(item.id);
  DIL_TRY(std::vector<ducklake::SnapshotRow> rows,
          store::load_snapshots(connection_, owner_.lake_, ids));
  for (ducklake::SnapshotRow& row : rows) snapshot_rows_.emplace(row.id.value, std::move(row));
  std::vector<ChainItem> alive;
  bool skipped_change = false;
  for (const ChainItem& item : chain_) {
    const bool is_newest = &item == &chain_.back();
    if (!is_newest && !snapshot_rows_.contains(item.id)) {
      skipped_change = skipped_change || !item.is_compaction;
      continue;
    }
    alive.push_back({item.id, item.is_compaction && !skipped_change});
    skipped_change = false;
  }
  chain_ = std::move(alive);
  if (!snapshot_rows_.contains(chain_.back().id)) {
    DIL_TRY(std::optional<ducklake::SnapshotRow> later,
            store::load_snapshot_from(connection_, owner_.lake_, SnapshotId(chain_.back().id)));
    if (!later) return Error(Code::kCorruptData, "the lake has no snapshots");
    snapshot_rows_.emplace(chain_.back().id, std::move(*later));
  }
  return {};
}

Status ProjectionRun::plan_chain() {
  if (chain_.empty()) return {};
  DIL_CHECK_OK(drop_expired_from_chain());
  std::vector<std::int64_t> ids;
  for (const ChainItem& item : chain_) ids.push_back(item.id);

  ChainStart start;
  start.is_first = is_first_ || state_.stored.must_rewrite;
  if (!start.is_first) {
    start.through = state_.stored.through;
    start.next_file_id = state_.stored.next_file_id;
    start.inlined_keys = state_.stored.inlined_keys;
    start.retired = retired_;
  }
  const FileLoaderContext context = loader_context();
  DIL_TRY(std::vector<ChainFile> files, load_chain_files(context, start, ids));
  for (ChainFile& file : files) {
    if (file.entry.spec_id == translate::kNoSpec) file.entry.spec_id = unpartitioned_spec();
  }
  DIL_TRY(std::vector<store::ClientSnapshot> client,
          store::load_client_snapshots(connection_, owner_.lake_, table_, ids));
  for (store::ClientSnapshot& item : client) {
    const std::int64_t id = item.ducklake_id.value;
    client_snapshots_.emplace(id, std::move(item));
  }
  std::vector<translate::TimelineFile> times;
  times.reserve(files.size());
  for (const ChainFile& file : files) {
    times.push_back(file.time);
    if (file.time.is_in_head && !file.time.hidden.empty()) {
      deletes_before_[file.time.key] =
          translate::positions_at(file.time.hidden, state_.stored.through.value);
    }
  }
  const std::vector<translate::TimelineStep> steps = translate::build_timeline(ids, times);
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    DIL_CHECK_OK(plan_step(chain_[i], steps[i], files));
  }
  return {};
}

Status ProjectionRun::plan_step(const ChainItem& item, const translate::TimelineStep& step,
                                const std::vector<ChainFile>& files) {
  const bool rewrites = state_.stored.must_rewrite;
  translate::SnapshotChange change;
  if (rewrites) {
    deletes_before_.clear();
    DIL_TRY(change, full_change(item.id, files));
    state_.head.manifests.clear();
    state_.stored.inlined_keys.clear();
    state_.stored.must_rewrite = false;
  } else {
    DIL_TRY(change, step_change(item.id, step, files));
  }
  const ducklake::SnapshotRow& row = snapshot_rows_.at(item.id);
  change.snapshot_id = item.id;
  change.is_compaction = item.is_compaction;
  change.schema_id = schema_id_at(item.id);
  change.timestamp_ms = published_ms(row.time_micros);
  if (!state_.snapshots.empty()) {
    change.parent_id = state_.snapshots.back().id;
    change.timestamp_ms = std::max(change.timestamp_ms, state_.snapshots.back().timestamp_ms + 1);
  }
  const auto client = client_snapshots_.find(item.id);
  std::string operation;
  if (client != client_snapshots_.end()) {
    DIL_TRY(operation, take_client_facts(client->second, change));
  }
  if (!row.author.empty()) change.summary_extra["ducklake.author"] = row.author;
  if (!row.commit_message.empty())
    change.summary_extra["ducklake.commit-message"] = row.commit_message;

  std::set<std::int64_t> inlined(state_.stored.inlined_keys.begin(),
                                 state_.stored.inlined_keys.end());
  for (const translate::RemovedFile& file : change.removed) inlined.erase(file.key);
  for (const translate::AddedFile& file : change.added) {
    if (file.key < 0) inlined.insert(file.key);
  }
  state_.stored.inlined_keys.assign(inlined.begin(), inlined.end());

  if (rewrites) {
    // The plan starts from an empty list, so it counts what it lists anew.
    translate::Totals totals;
    for (const translate::AddedFile& file : change.added) {
      if (!file.existing_since) continue;
      ++totals.data_files;
      totals.records += file.file.record_count;
      totals.files_size += file.file.file_size_in_bytes;
    }
    state_.head.totals = totals;
  }
  DIL_TRY(translate::PlannedSnapshot plan,
          translate::plan_snapshot(state_.head, std::move(change), plan_context()));
  state_.head = std::move(plan.head);
  if (!operation.empty()) plan.snapshot.summary["operation"] = operation;
  DIL_TRY(SnapshotRecord record, make_record(plan.snapshot));
  state_.snapshots.push_back(std::move(record));
  state_.document.last_sequence_number =
      std::max(state_.document.last_sequence_number, plan.snapshot.sequence_number);
  changed_.push_back(item.id);
  is_changed_ = true;
  return take_objects(std::move(plan.objects));
}

// What the client said of its snapshot and DuckLake's rows do not tell. Answers the operation.
Result<std::string> ProjectionRun::take_client_facts(const store::ClientSnapshot& client,
                                                     translate::SnapshotChange& change) {
  change.parent_id = client.parent_id;
  for (const iceberg::Schema& schema : state_.document.schemas) {
    if (client.schema_id == schema.schema_id) change.schema_id = schema.schema_id;
  }
  DIL_TRY(json::Document document, json::Document::parse(client.summary));
  DIL_TRY(json::Object object, document.root_object());
  DIL_TRY(auto summary, iceberg::read_string_map(object));
  std::string operation;
  for (auto& [key, value] : summary) {
    if (key == "operation") {
      operation = value;
    } else if (!is_counted(key)) {
      change.summary_extra.emplace(key, std::move(value));
    }
  }
  return operation;
}

Result<translate::SnapshotChange> ProjectionRun::step_change(std::int64_t snapshot,
                                                             const translate::TimelineStep& step,
                                                             const std::vector<ChainFile>& files) {
  translate::SnapshotChange change;
  change.snapshot_id = snapshot;
  for (std::size_t i : step.added) {
    const ChainFile& file = files[i];
    change.added.push_back({file.time.key, file.entry.spec_id, file.data_sequence_number,
                            file.entry.file, std::nullopt});
  }
  for (std::size_t i : step.removed) {
    change.removed.push_back({files[i].time.key, files[i].entry.file.file_path});
    deletes_before_.erase(files[i].time.key);
  }
  PendingDeletes pending;
  for (std::size_t i : step.maybe_deletes) {
    const ChainFile& file = files[i];
    std::vector<std::int64_t> now = translate::positions_at(file.time.hidden, snapshot);
    std::vector<std::int64_t>& before = deletes_before_[file.time.key];
    if (now == before) continue;
    before = now;
    if (now.empty()) {
      change.deletes.push_back(
          {file.time.key, file.entry.file.file_path, file.entry.spec_id, {}, {}});
    } else {
      pending.deletes.push_back({file.entry.file.file_path, std::move(now)});
      pending.files.push_back(&file);
    }
  }
  DIL_CHECK_OK(write_delete_changes(std::move(pending), change));
  return change;
}

Result<translate::SnapshotChange> ProjectionRun::full_change(std::int64_t snapshot,
                                                             const std::vector<ChainFile>& files) {
  translate::SnapshotChange change;
  change.snapshot_id = snapshot;
  PendingDeletes pending;
  for (const ChainFile& file : files) {
    if (file.time.begin > snapshot || snapshot >= file.time.end) continue;
    translate::AddedFile added{file.time.key, file.entry.spec_id, file.data_sequence_number,
                               file.entry.file, std::nullopt};
    if (file.time.begin < snapshot) added.existing_since = file.time.begin;
    change.added.push_back(std::move(added));
    std::vector<std::int64_t> now = translate::positions_at(file.time.hidden, snapshot);
    if (now.empty()) continue;
    deletes_before_[file.time.key] = now;
    pending.deletes.push_back({file.entry.file.file_path, std::move(now)});
    pending.files.push_back(&file);
  }
  DIL_CHECK_OK(write_delete_changes(std::move(pending), change));
  return change;
}

Status ProjectionRun::write_delete_changes(PendingDeletes pending,
                                           translate::SnapshotChange& change) {
  if (pending.deletes.empty()) return {};
  DeleteTarget target;
  target.format_version = state_.document.format_version;
  target.folder = places_.iceberg_only + "deletes/";
  target.name = fmt::format("{}-{}", change.snapshot_id, unique_);
  DIL_TRY(std::vector<manifest::DataFile> written,
          write_deletes(owner_.objects_, owner_.engine_, target, std::move(pending.deletes)));
  owner_.counters_.delete_files += written.size();
  for (std::size_t i = 0; i < written.size(); ++i) {
    const ChainFile& file = *pending.files[i];
    written[i].partition = file.entry.file.partition;
    change.deletes.push_back({file.time.key, file.entry.file.file_path, file.entry.spec_id,
                              std::move(written[i]), std::nullopt});
  }
  return {};
}

Status ProjectionRun::rebuild_gone() {
  std::vector<const store::RetiredFile*> gone;
  for (const store::RetiredFile& file : retired_) {
    if (file.is_gone) gone.push_back(&file);
  }
  if (is_first_ || gone.empty()) return {};
  std::vector<std::int64_t> affected;
  for (const SnapshotRecord& record : state_.snapshots) {
    const bool is_new = std::find(changed_.begin(), changed_.end(), record.id) != changed_.end();
    const bool is_expired =
        std::find(expired_.begin(), expired_.end(), record.id) != expired_.end();
    if (is_new || is_expired) continue;
    for (const store::RetiredFile* file : gone) {
      if (file->begin.value <= record.id && (!file->end || record.id < file->end->value)) {
        affected.push_back(record.id);
        break;
      }
    }
  }
  if (affected.size() > kMaxRebuilt) {
    const auto cut = affected.end() - static_cast<std::ptrdiff_t>(kMaxRebuilt);
    expired_.insert(expired_.end(), affected.begin(), cut);
    affected.erase(affected.begin(), cut);
  }
  if (affected.empty()) return {};

  const FileLoaderContext context = loader_context();
  DIL_TRY(std::vector<ChainFile> files, load_chain_files(context, ChainStart{}, affected));
  const auto kept_deletes = deletes_before_;
  for (std::int64_t id : affected) {
    auto record = std::find_if(state_.snapshots.begin(), state_.snapshots.end(),
                               [&](const SnapshotRecord& r) { return r.id == id; });
    DIL_TRY(iceberg::Snapshot snapshot, iceberg::snapshot_from_json(record->json));
    DIL_TRY(translate::SnapshotChange change, full_change(id, files));
    change.parent_id = snapshot.parent_snapshot_id;
    DIL_TRY(translate::PlannedSnapshot plan,
            translate::plan_snapshot(translate::HeadState{}, std::move(change), plan_context()));
    snapshot.manifest_list = plan.snapshot.manifest_list;
    DIL_TRY(*record, make_record(snapshot));
    changed_.push_back(id);
    DIL_CHECK_OK(take_objects(std::move(plan.objects)));
  }
  deletes_before_ = kept_deletes;
  is_changed_ = true;
  return {};
}

translate::PlanContext ProjectionRun::plan_context() {
  const iceberg::TableMetadata& document = state_.document;
  translate::PlanContext context;
  context.format_version = document.format_version;
  for (const iceberg::Schema& schema : document.schemas) {
    if (schema.schema_id == document.current_schema_id) context.schema = &schema;
  }
  context.schemas = &document.schemas;
  context.specs = &document.partition_specs;
  context.metadata_folder = places_.metadata;
  context.unique = unique_;
  context.read = [this](const manifest::ManifestFile& file)
      -> Result<std::shared_ptr<const manifest::DecodedManifest>> {
    if (auto cached = owner_.manifests_.find(file.manifest_path)) return cached;
    DIL_TRY(std::string key, owner_.objects_.key_of(file.manifest_path));
    DIL_TRY(std::string bytes, owner_.objects_.get(key, kMaxManifestBytes));
    auto decoded = std::make_shared<manifest::DecodedManifest>();
    DIL_TRY(*decoded, manifest::decode_manifest(bytes, kMaxManifestEntries));
    DIL_CHECK_OK(manifest::inherit(file, decoded->entries));
    std::shared_ptr<const manifest::DecodedManifest> shared = std::move(decoded);
    owner_.manifests_.insert(file.manifest_path, shared);
    return shared;
  };
  return context;
}

FileLoaderContext ProjectionRun::loader_context() {
  const iceberg::TableMetadata& document = state_.document;
  const auto schema = std::find_if(
      document.schemas.begin(), document.schemas.end(),
      [&](const iceberg::Schema& s) { return s.schema_id == document.current_schema_id; });
  return FileLoaderContext{connection_,
                           owner_.lake_,
                           definition_,
                           places_,
                           *schema,
                           specs_,
                           translate::column_begins(definition_.columns),
                           document.format_version,
                           unique_,
                           owner_.objects_,
                           owner_.engine_,
                           owner_.counters_.inlined_files};
}

Status ProjectionRun::take_objects(std::vector<translate::NewObject> objects) {
  for (translate::NewObject& object : objects) {
    if (object.decoded) {
      owner_.manifests_.insert(object.uri, object.decoded);
      ++owner_.counters_.manifests;
    } else {
      ++owner_.counters_.manifest_lists;
    }
    DIL_TRY(std::string key, owner_.objects_.key_of(object.uri));
    object_bytes_ += object.bytes.size();
    objects_.push_back({std::move(key), std::move(object.bytes), {}});
  }
  if (objects_.size() >= kFlushObjects || object_bytes_ >= kFlushBytes) return flush_objects();
  return {};
}

Status ProjectionRun::flush_objects() {
  std::vector<objstore::PutObject> batch = std::move(objects_);
  objects_.clear();
  object_bytes_ = 0;
  for (Status& status : owner_.objects_.put_many(batch)) DIL_CHECK_OK(std::move(status));
  return {};
}

}  // namespace duckicelake::catalog
