// SPDX-License-Identifier: Apache-2.0
// Main becomes what another snapshot of the table is: one of its past, or one beside it.
#include <algorithm>
#include <map>

#include "catalog/commit_table.h"
#include "catalog/live_set.h"
#include "catalog/random_name.h"
#include "catalog/temp_object.h"
#include "iceberg/snapshot_json.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxListBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxManifests = 200'000;

using Positions = std::vector<std::int64_t>;

// The folders of a path that say a value ("d=2024-01-02/"): DuckLake may read a column from them.
std::string value_folders(std::string_view path) {
  std::string out;
  for (std::size_t begin = 0, slash = path.find('/'); slash != std::string_view::npos;
       begin = slash + 1, slash = path.find('/', begin)) {
    const std::string_view folder = path.substr(begin, slash - begin);
    if (folder.find('=') != std::string_view::npos) out.append(folder).append("/");
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const RegisteredFiles>> read_registered_files(
    const CommitDeps& deps, const iceberg::TableMetadata& metadata) {
  const auto current = std::find_if(
      metadata.snapshots.begin(), metadata.snapshots.end(),
      [&](const iceberg::Snapshot& s) { return s.snapshot_id == metadata.current_snapshot_id; });
  if (current == metadata.snapshots.end()) return std::shared_ptr<const RegisteredFiles>();
  auto out = std::make_shared<RegisteredFiles>();
  out->snapshot_id = current->snapshot_id;
  out->summary = current->summary;
  const PathRules rules{{deps.lake.data_path}, deps.allows_bare_paths};
  DIL_CHECK_OK(check_path(rules, current->manifest_list));
  DIL_TRY(std::string key, deps.objects.key_of(current->manifest_list));
  DIL_TRY(std::string bytes, deps.objects.get(key, kMaxListBytes));
  DIL_TRY(std::vector<manifest::ManifestFile> list,
          manifest::decode_manifest_list(bytes, kMaxManifests));
  for (const manifest::ManifestFile& file : list) {
    DIL_CHECK_OK(check_path(rules, file.manifest_path));
  }
  DIL_TRY(LiveSet live, load_live_set(deps.objects, list));
  for (auto& [path, file] : live.data) {
    DIL_CHECK_OK(check_path(rules, path));
    DIL_TRY(Positions positions,
            load_positions(deps.objects, deps.engine, path, live.deletes[path]));
    if (!positions.empty()) out->delta.set_positions[path] = std::move(positions);
    file.entry.status = manifest::EntryStatus::kAdded;
    file.entry.snapshot_id.reset();
    file.entry.sequence_number.reset();
    file.entry.file_sequence_number.reset();
    out->delta.added.push_back({file.header, {std::move(file.entry)}});
  }
  return std::shared_ptr<const RegisteredFiles>(std::move(out));
}

// A row of ducklake_data_file may not share its object with another one, ended or not: cleanup
// would remove it under both. So a file of the past comes back as a copy.
Status TableWork::restore_file(const manifest::ManifestEntry& entry,
                               const manifest::ManifestHeader& header, Positions positions,
                               SnapshotDelta& delta) {
  const std::string path = fmt::format("{}/{}{}.parquet", places_.location,
                                       value_folders(entry.data_file.file_path), random_uuid());
  DIL_TRY(std::string from, deps_.objects.key_of(entry.data_file.file_path));
  DIL_TRY(std::string to, deps_.objects.key_of(path));
  DIL_CHECK_OK(copy_object(deps_.objects, from, to));
  manifest::ManifestEntry copy = entry;
  copy.status = manifest::EntryStatus::kAdded;
  copy.snapshot_id.reset();
  copy.sequence_number.reset();
  copy.file_sequence_number.reset();
  copy.data_file.file_path = path;
  if (copy.data_file.first_row_id) delta.kept_row_ids[path] = *copy.data_file.first_row_id;
  delta.added.push_back({header, {std::move(copy)}});
  if (!positions.empty()) delta.set_positions[path] = std::move(positions);
  return {};
}

Status TableWork::roll_back_to(std::int64_t id) {
  if (!steps_.empty()) {
    return invalid_argument("main cannot be set to snapshot {} after other snapshots of the commit",
                            id);
  }
  const SnapshotRecord* target = view_->state().find(id);
  DIL_TRY(std::string key, deps_.objects.key_of(target->manifest_list));
  DIL_TRY(std::string bytes, deps_.objects.get(key, kMaxListBytes));
  DIL_TRY(std::vector<manifest::ManifestFile> list,
          manifest::decode_manifest_list(bytes, kMaxManifests));
  DIL_TRY(LiveSet wanted, load_live_set(deps_.objects, list));
  LiveSet now;
  if (current_main()) {
    std::vector<manifest::ManifestFile> head;
    for (const translate::HeadManifest& item : view_->state().head.manifests) {
      head.push_back(item.file);
    }
    DIL_TRY(now, load_live_set(deps_.objects, head));
  }
  MainStep step;
  for (const auto& [path, file] : now.data) {
    if (!wanted.data.contains(path)) step.delta.removed.push_back(file.entry.data_file);
  }
  for (const auto& [path, file] : wanted.data) {
    DIL_TRY(Positions then,
            load_positions(deps_.objects, deps_.engine, path, wanted.deletes[path]));
    if (!now.data.contains(path)) {
      DIL_CHECK_OK(restore_file(file.entry, file.header, std::move(then), step.delta));
      continue;
    }
    DIL_TRY(Positions live, load_positions(deps_.objects, deps_.engine, path, now.deletes[path]));
    if (then == live) continue;
    if (std::includes(then.begin(), then.end(), live.begin(), live.end())) {
      step.delta.set_positions[path] = std::move(then);
      continue;
    }
    // Rows come back.
    step.delta.removed.push_back(file.entry.data_file);
    DIL_CHECK_OK(restore_file(file.entry, file.header, std::move(then), step.delta));
  }
  step.shown_id = id;
  step.summary["operation"] = "overwrite";
  step.summary["rollback-to"] = std::to_string(id);
  steps_.push_back(std::move(step));
  return {};
}

Status TableWork::fast_forward(std::vector<const SnapshotRecord*> chain) {
  std::vector<manifest::ManifestFile> parent;
  if (!steps_.empty()) {
    parent = steps_.back().manifests;
  } else {
    for (const translate::HeadManifest& item : view_->state().head.manifests) {
      parent.push_back(item.file);
    }
  }
  PathRules rules = path_rules();
  for (const SnapshotRecord* record : chain) {
    DIL_TRY(iceberg::Snapshot snapshot, iceberg::snapshot_from_json(record->json));
    DIL_TRY(ReadSnapshot read,
            read_client_snapshot(deps_.objects, DeltaInput{snapshot, parent, metadata_, rules}));
    MainStep step;
    step.moved_id = record->id;
    step.shown_id = record->id;
    step.summary = snapshot.summary;
    step.starts_anew = !snapshot.parent_snapshot_id;
    step.delta = std::move(read.delta);
    parent = read.manifests;
    step.manifests = std::move(read.manifests);
    steps_.push_back(std::move(step));
  }
  return {};
}

}  // namespace duckicelake::catalog
