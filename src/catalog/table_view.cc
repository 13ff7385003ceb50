// SPDX-License-Identifier: Apache-2.0
#include "catalog/table_view.h"

#include <algorithm>

#include "iceberg/snapshot_json.h"
#include "json/value.h"
#include "json/writer.h"
#include "manifest/manifest.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxHeadManifests = 1'000'000;
constexpr std::size_t kTotals = 6;

std::shared_ptr<const TableAnswer> make_answer(TableId table, const ProjectionState& state,
                                               SnapshotsMode mode,
                                               std::optional<std::int64_t> pinned) {
  auto answer = std::make_shared<TableAnswer>();
  answer->table_id = table;
  answer->metadata_location = state.stored.metadata_location;
  answer->metadata = std::make_shared<const std::string>(metadata_document(state, mode, pinned));
  answer->version_tag = fmt::format("{}-{}-{}{}", state.document.table_uuid, state.stored.version,
                                    mode == SnapshotsMode::kAll ? "all" : "refs",
                                    pinned ? fmt::format("-at{}", *pinned) : std::string());
  return answer;
}

}  // namespace

TableView::TableView(TableId table, ProjectionState state,
                     std::shared_ptr<const store::TableDefinition> definition)
    : table_(table),
      shared_state_(std::make_shared<const ProjectionState>(std::move(state))),
      state_(*shared_state_),
      answers_(std::make_shared<Answers>()),
      definition_(std::move(definition)),
      through_(state_.stored.through),
      revision_(state_.stored.revision) {
  answers_->all = make_answer(table_, state_, SnapshotsMode::kAll, std::nullopt);
}

std::shared_ptr<const TableAnswer> TableView::answer(SnapshotsMode mode) const {
  if (mode == SnapshotsMode::kAll) return answers_->all;
  std::lock_guard lock(answers_->mutex);
  if (!answers_->refs) answers_->refs = make_answer(table_, state_, mode, std::nullopt);
  return answers_->refs;
}

Result<std::shared_ptr<const TableAnswer>> TableView::pinned_answer(SnapshotsMode mode,
                                                                    std::int64_t snapshot) const {
  if (state_.find(snapshot) == nullptr)
    return invalid_argument("the table has no snapshot {}", snapshot);
  return make_answer(table_, state_, mode, snapshot);
}

std::shared_ptr<const TableView> TableView::seen_at(
    SnapshotId through, std::int64_t revision,
    std::shared_ptr<const store::TableDefinition> definition) const {
  auto copy = std::make_shared<TableView>(*this);
  if (definition) copy->definition_ = std::move(definition);
  copy->through_ = through;
  copy->revision_ = revision;
  return copy;
}

std::string metadata_document(const ProjectionState& state, SnapshotsMode mode,
                              std::optional<std::int64_t> pinned) {
  iceberg::TableMetadata frame = state.document;
  const std::optional<std::int64_t> main = pinned ? pinned : state.main();
  frame.refs = state.refs;
  if (main) {
    frame.current_snapshot_id = main;
    frame.refs["main"].snapshot_id = *main;  // keeps its retention
  } else {
    frame.refs.erase("main");
  }
  const auto is_listed = [&](const SnapshotRecord& record) {
    return mode == SnapshotsMode::kAll ||
           std::any_of(frame.refs.begin(), frame.refs.end(),
                       [&](const auto& ref) { return ref.second.snapshot_id == record.id; });
  };
  std::size_t size = 0;
  for (const SnapshotRecord& record : state.snapshots) {
    // The log tells which snapshot was current when: all of them for lists in full, and for a table
    // without its history only what it lists, so that every id in it can be found.
    if (main && is_listed(record) && (!pinned || record.id <= *pinned)) {
      frame.snapshot_log.push_back({record.timestamp_ms, record.id});
    }
    size += record.json.size() + 1;
  }
  for (const SnapshotRecord& record : state.side) size += record.json.size() + 1;
  const iceberg::MetadataFrame parts = iceberg::metadata_frame_to_json(frame);
  std::string out;
  out.reserve(parts.head.size() + size + parts.tail.size());
  out.append(parts.head);
  bool first = true;
  for (const auto* records : {&state.snapshots, &state.side}) {
    for (const SnapshotRecord& record : *records) {
      if (!is_listed(record)) continue;
      if (!first) out.push_back(',');
      first = false;
      out.append(record.json);
    }
  }
  out.append(parts.tail);
  return out;
}

Result<SnapshotRecord> make_record(const iceberg::Snapshot& snapshot) {
  SnapshotRecord record;
  record.id = snapshot.snapshot_id;
  record.parent_id = snapshot.parent_snapshot_id;
  record.sequence_number = snapshot.sequence_number;
  record.timestamp_ms = snapshot.timestamp_ms;
  record.manifest_list = snapshot.manifest_list;
  iceberg::snapshot_to_json(snapshot, record.json);
  return record;
}

std::optional<std::int64_t> ProjectionState::main() const {
  if (snapshots.empty() || snapshots.back().id <= stored.main_after) return std::nullopt;
  return snapshots.back().id;
}

const SnapshotRecord* ProjectionState::find(std::int64_t id) const {
  for (const auto* records : {&snapshots, &side}) {
    for (const SnapshotRecord& record : *records) {
      if (record.id == id) return &record;
    }
  }
  return nullptr;
}

std::string refs_to_json(const std::map<std::string, iceberg::SnapshotRef>& refs) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  for (const auto& [name, ref] : refs) {
    writer.key(name);
    iceberg::write_snapshot_ref(writer, ref);
  }
  writer.end_object();
  return out;
}

Result<std::map<std::string, iceberg::SnapshotRef>> refs_from_json(const std::string& json) {
  DIL_TRY(json::Document document, json::Document::parse(json));
  DIL_TRY(json::Object object, document.root_object());
  std::map<std::string, iceberg::SnapshotRef> refs;
  for (const json::Member member : object) {
    DIL_TRY(refs[std::string(member.name)], iceberg::read_snapshot_ref(member.value));
  }
  return refs;
}

Result<ProjectionState> decode_state(store::TableState stored,
                                     std::vector<store::PublishedSnapshot> snapshots) {
  ProjectionState state;
  DIL_TRY(state.document, iceberg::metadata_from_json(stored.document));
  DIL_TRY(std::vector<manifest::ManifestFile> manifests,
          manifest::decode_manifest_list(stored.manifests, kMaxHeadManifests));
  if (stored.ranges.size() != manifests.size() * 2 || stored.totals.size() != kTotals) {
    return Error(Code::kCorruptData, "a table's stored state does not fit together");
  }
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    state.head.manifests.push_back(
        {std::move(manifests[i]), stored.ranges[2 * i], stored.ranges[2 * i + 1]});
  }
  state.head.totals = {stored.totals[0], stored.totals[1], stored.totals[2], stored.totals[3],
                       stored.totals[4]};
  state.head.next_row_id = stored.totals[5];
  state.snapshots.reserve(snapshots.size());
  for (store::PublishedSnapshot& snapshot : snapshots) {
    DIL_TRY(iceberg::Snapshot parsed, iceberg::snapshot_from_json(snapshot.document));
    (snapshot.is_main ? state.snapshots : state.side)
        .push_back({parsed.snapshot_id, parsed.parent_snapshot_id, parsed.sequence_number,
                    parsed.timestamp_ms, std::move(parsed.manifest_list),
                    std::move(snapshot.document)});
  }
  DIL_TRY(state.refs, refs_from_json(stored.refs));
  state.stored = std::move(stored);
  return state;
}

Status encode_state(ProjectionState& state) {
  state.stored.document = iceberg::metadata_to_json(state.document);
  state.stored.refs = refs_to_json(state.refs);
  std::vector<manifest::ManifestFile> files;
  state.stored.ranges.clear();
  for (const translate::HeadManifest& m : state.head.manifests) {
    files.push_back(m.file);
    state.stored.ranges.push_back(m.min_key);
    state.stored.ranges.push_back(m.max_key);
  }
  manifest::ManifestListHeader header;
  header.format_version = state.document.format_version;
  header.snapshot_id = state.snapshots.empty() ? 0 : state.snapshots.back().id;
  if (header.format_version >= 3) header.first_row_id = state.head.next_row_id;
  DIL_TRY(state.stored.manifests, manifest::encode_manifest_list(header, files));
  const translate::Totals& t = state.head.totals;
  state.stored.totals = {t.data_files,   t.records,          t.files_size,
                         t.delete_files, t.position_deletes, state.head.next_row_id};
  return {};
}

}  // namespace duckicelake::catalog
