// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <utility>

#include "catalog/projection_run.h"
#include "iceberg/snapshot_json.h"
#include "json/value.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxMetadataLog = 100;
constexpr const char* kMetadataLogProperty = "write.metadata.previous-versions-max";

std::size_t metadata_log_length(const std::map<std::string, std::string>& properties) {
  const auto it = properties.find(kMetadataLogProperty);
  if (it == properties.end()) return kMaxMetadataLog;
  const std::string& text = it->second;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::clamp<std::size_t>(length, 1, kMaxMetadataLog) : kMaxMetadataLog;
}
constexpr int kMaxVersionTries = 20;
constexpr std::size_t kMaxManifestListBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxManifests = 200'000;

}  // namespace

Status ProjectionRun::publish(pg::Transaction& transaction) {
  iceberg::TableMetadata& document = state_.document;
  if (document.format_version >= 3) {
    const std::int64_t stats_next = definition_.stats ? definition_.stats->next_row_id : 0;
    document.next_row_id =
        std::max({document.next_row_id.value_or(0), state_.head.next_row_id, stats_next});
  }
  if (!expired_.empty()) {
    // The newest one stays: its rows are those of now.
    const std::int64_t newest = state_.snapshots.empty() ? -1 : state_.snapshots.back().id;
    std::erase(expired_, newest);
    const auto before = state_.snapshots.size();
    std::erase_if(state_.snapshots, [&](const SnapshotRecord& record) {
      return std::find(expired_.begin(), expired_.end(), record.id) != expired_.end();
    });
    is_changed_ = is_changed_ || before != state_.snapshots.size();
  }
  drop_dead_refs();
  if (!is_first_ && iceberg::metadata_to_json(document) != old_document_) is_changed_ = true;
  if (is_first_) is_changed_ = true;
  if (!is_changed_) return {};

  std::optional<ducklake::SnapshotRow> head_row;
  if (const auto known = snapshot_rows_.find(head_.snapshot.value); known != snapshot_rows_.end()) {
    head_row = known->second;
  } else {
    DIL_TRY(head_row, store::load_snapshot_from(connection_, owner_.lake_, head_.snapshot));
  }
  if (!head_row) return Error(Code::kCorruptData, "the lake has no snapshots");
  std::int64_t now_ms = published_ms(head_row->time_micros);
  if (!state_.snapshots.empty()) now_ms = std::max(now_ms, state_.snapshots.back().timestamp_ms);
  if (!state_.stored.metadata_location.empty()) {
    document.metadata_log.push_back({document.last_updated_ms, state_.stored.metadata_location});
    const std::size_t length = metadata_log_length(document.properties);
    while (document.metadata_log.size() > length) {
      document.metadata_log.erase(document.metadata_log.begin());
    }
  }
  if (!is_first_) now_ms = std::max(now_ms, document.last_updated_ms);
  document.last_updated_ms = now_ms;

  state_.stored.is_dirty = false;
  state_.stored.through = head_.snapshot;
  state_.stored.next_file_id = head_row->next_file_id;
  state_.stored.revision = head_.revision;
  std::vector<std::int64_t> gone;
  for (const store::RetiredFile& file : retired_) {
    state_.stored.retired_serial = std::max(state_.stored.retired_serial, file.serial);
    if (file.is_gone) gone.push_back(file.serial);
  }
  DIL_CHECK_OK(encode_state(state_));
  DIL_TRY(state_.stored.metadata_location, write_metadata());
  DIL_CHECK_OK(store::save_table_state(transaction, owner_.lake_, table_, state_.stored));
  std::vector<store::PublishedSnapshot> published;
  for (const auto* records : {&state_.snapshots, &state_.side}) {
    for (const SnapshotRecord& record : *records) {
      if (std::find(changed_.begin(), changed_.end(), record.id) == changed_.end()) continue;
      published.push_back({SnapshotId(record.id), record.json, records == &state_.snapshots});
    }
  }
  DIL_CHECK_OK(store::save_published(transaction, owner_.lake_, table_, published));
  DIL_CHECK_OK(store::hide_published(transaction, owner_.lake_, table_, expired_));
  return store::forget_gone(transaction, owner_.lake_, table_, gone);
}

// A ref goes with its snapshot when DuckLake expires that one.
void ProjectionRun::drop_dead_refs() {
  std::erase_if(state_.refs, [&](const auto& ref) {
    if (ref.first == "main") return false;  // its retention, without a snapshot
    const bool is_dead = state_.find(ref.second.snapshot_id) == nullptr;
    is_changed_ = is_changed_ || is_dead;
    return is_dead;
  });
}

// Snapshots of branches and staged ones: their manifests are the client's, their list is ours, with
// the sequence number (and row ids) that the commit gave them.
Status ProjectionRun::publish_side_snapshots(pg::Transaction& transaction) {
  DIL_TRY(std::vector<store::ClientSnapshot> pending,
          store::load_unpublished(connection_, owner_.lake_, table_));
  std::vector<std::int64_t> done;
  for (const store::ClientSnapshot& item : pending) {
    DIL_TRY(std::string key, owner_.objects_.key_of(item.manifest_list));
    DIL_TRY(std::string bytes, owner_.objects_.get(key, kMaxManifestListBytes));
    DIL_TRY(std::vector<manifest::ManifestFile> files,
            manifest::decode_manifest_list(bytes, kMaxManifests));
    std::int64_t next_row_id = item.first_row_id.value_or(0);
    for (manifest::ManifestFile& file : files) {
      if (file.added_snapshot_id != item.client_id) continue;
      const std::int64_t given = file.sequence_number;
      file.sequence_number = item.ducklake_id.value;
      if (file.min_sequence_number >= given) file.min_sequence_number = item.ducklake_id.value;
      if (item.first_row_id && file.content == manifest::ManifestContent::kData) {
        file.first_row_id = next_row_id;
        next_row_id += file.added_rows_count + file.existing_rows_count;
      }
    }
    DIL_TRY(std::optional<ducklake::SnapshotRow> row,
            store::load_snapshot_from(connection_, owner_.lake_, item.ducklake_id));
    if (!row) return Error(Code::kCorruptData, "the lake has no snapshots");
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = item.client_id;
    snapshot.parent_snapshot_id = item.parent_id;
    snapshot.sequence_number = item.ducklake_id.value;
    snapshot.timestamp_ms = published_ms(row->time_micros);
    snapshot.schema_id = item.schema_id;
    snapshot.first_row_id = item.first_row_id;
    snapshot.added_rows = item.added_rows;
    DIL_TRY(json::Document summary, json::Document::parse(item.summary));
    DIL_TRY(json::Object object, summary.root_object());
    DIL_TRY(snapshot.summary, iceberg::read_string_map(object));
    snapshot.manifest_list =
        fmt::format("{}snap-{}-{}.avro", places_.metadata, item.client_id, unique_);
    manifest::ManifestListHeader header{state_.document.format_version, item.client_id,
                                        item.parent_id, snapshot.sequence_number,
                                        item.first_row_id};
    DIL_TRY(std::string list, manifest::encode_manifest_list(header, files));
    DIL_CHECK_OK(take_objects({{snapshot.manifest_list, std::move(list), nullptr}}));
    DIL_TRY(SnapshotRecord record, make_record(snapshot));
    state_.side.push_back(std::move(record));
    state_.document.last_sequence_number =
        std::max(state_.document.last_sequence_number, snapshot.sequence_number);
    changed_.push_back(item.client_id);
    done.push_back(item.client_id);
    is_changed_ = true;
  }
  return store::mark_published(transaction, owner_.lake_, table_, done);
}

// Together with the objects that it names: nobody is told of it before all of them are stored.
// A version's name is taken with "only if absent": neither a file that an earlier process left
// behind without publishing it, nor one of a dropped table in the same folder, is ever written
// over.
Result<std::string> ProjectionRun::write_metadata() {
  const std::string json = metadata_document(state_, SnapshotsMode::kAll, std::nullopt);
  for (int attempt = 0; attempt < kMaxVersionTries; ++attempt) {
    ++state_.stored.version;
    const std::string uri =
        fmt::format("{}v{}.metadata.json", places_.metadata, state_.stored.version);
    DIL_TRY(std::string key, owner_.objects_.key_of(uri));
    objects_.push_back({std::move(key), json, {"application/json", true}});
    const std::vector<objstore::PutObject> batch = std::exchange(objects_, {});
    std::vector<Status> stored = owner_.objects_.put_many(batch);
    Status put = std::move(stored.back());
    stored.pop_back();
    for (Status& status : stored) DIL_CHECK_OK(std::move(status));
    if (put.has_value()) {
      ++owner_.counters_.metadata_files;
      return uri;
    }
    if (put.error().code() != Code::kAlreadyExists) return std::move(put).error();
    if (attempt == 0) {
      DIL_TRY(std::string hint_key, owner_.objects_.key_of(places_.metadata + "version-hint.text"));
      auto hint = owner_.objects_.get(hint_key, 32);
      std::int64_t version = 0;
      if (hint.has_value() &&
          std::from_chars(hint->data(), hint->data() + hint->size(), version).ec == std::errc() &&
          version < std::int64_t{1} << 48) {
        state_.stored.version = std::max(state_.stored.version, version);
      }
    }
  }
  return make_error(Code::kUnavailable, "no free metadata version was found under {}",
                    places_.metadata);
}

void ProjectionRun::write_version_hint() {
  owner_.hints_.note(places_.metadata, state_.stored.version);
}

}  // namespace duckicelake::catalog
