// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "catalog/projection_run.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxMetadataLog = 100;
constexpr int kMaxVersionTries = 20;

}  // namespace

Status ProjectionRun::publish() {
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
  if (!is_first_ && iceberg::metadata_to_json(document) != old_document_) is_changed_ = true;
  if (is_first_) is_changed_ = true;
  if (!is_changed_) return {};

  DIL_TRY(std::optional<ducklake::SnapshotRow> head_row,
          store::load_snapshot_from(connection_, owner_.lake_, head_.snapshot));
  if (!head_row) return Error(Code::kCorruptData, "the lake has no snapshots");
  std::int64_t now_ms = published_ms(head_row->time_micros);
  if (!state_.snapshots.empty()) now_ms = std::max(now_ms, state_.snapshots.back().timestamp_ms);
  if (!is_first_) {
    document.metadata_log.push_back({document.last_updated_ms, state_.stored.metadata_location});
    if (document.metadata_log.size() > kMaxMetadataLog) {
      document.metadata_log.erase(document.metadata_log.begin());
    }
    now_ms = std::max(now_ms, document.last_updated_ms);
  }
  document.last_updated_ms = now_ms;

  DIL_CHECK_OK(flush_objects());
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
  DIL_CHECK_OK(store::save_table_state(connection_, owner_.lake_, table_, state_.stored));
  std::vector<store::PublishedSnapshot> published;
  for (const SnapshotRecord& record : state_.snapshots) {
    if (std::find(changed_.begin(), changed_.end(), record.id) == changed_.end()) continue;
    published.push_back({SnapshotId(record.id), record.json});
  }
  DIL_CHECK_OK(store::save_published(connection_, owner_.lake_, table_, published));
  DIL_CHECK_OK(store::hide_published(connection_, owner_.lake_, table_, expired_));
  return store::forget_gone(connection_, owner_.lake_, table_, gone);
}

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
    Status put = owner_.objects_.put(key, json, {"application/json", true});
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

// For readers without a catalog. It may be late, never ahead: nothing else is decided by it.
void ProjectionRun::write_version_hint() {
  Result<std::string> key = owner_.objects_.key_of(places_.metadata + "version-hint.text");
  if (!key.has_value()) return;
  (void)owner_.objects_.put(*key, std::to_string(state_.stored.version), {"text/plain", false})
      .has_value();
}

}  // namespace duckicelake::catalog
