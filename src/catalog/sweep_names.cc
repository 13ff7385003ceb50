// SPDX-License-Identifier: Apache-2.0
#include "catalog/sweep_names.h"

#include <algorithm>

#include "iceberg/snapshot.h"
#include "iceberg/table_metadata.h"
#include "json/value.h"
#include "manifest/manifest.h"
#include "store/commit_sidecar.h"
#include "store/sidecar.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxListBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxManifests = 200'000;
constexpr std::size_t kMaxManifestBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kBatch = 16;

}  // namespace

void SweepNames::note(std::string_view uri, Where where) {
  names_.insert(hash(uri));
  if (where == Where::kSide) side_.insert(hash(uri));
}

Result<std::optional<SweepNames::Version>> SweepNames::version_of(pg::Connection& connection,
                                                                  TableId table) const {
  DIL_TRY(const std::optional<store::StateTag> tag,
          store::load_state_tag(connection, lake_, table));
  if (!tag) return std::optional<Version>();
  return std::optional<Version>(Version{tag->version, tag->is_dirty});
}

Result<bool> SweepNames::is_stale(pg::Connection& connection, TableId table) const {
  DIL_TRY(const std::optional<Version> now, version_of(connection, table));
  const auto known = versions_.find(table);
  // A dirty state may have changed again under the same version.
  return known == versions_.end() || known->second != now || (now && now->is_dirty);
}

Status SweepNames::add_table(pg::Connection& connection, TableId table) {
  // Before the rest: what changes in between is seen as stale later.
  DIL_TRY(versions_[table], version_of(connection, table));
  DIL_TRY(const std::optional<store::TableState> state,
          store::load_table_state(connection, lake_, table));
  if (!state) return {};
  if (!state->metadata_location.empty()) add(state->metadata_location);
  DIL_CHECK_OK(add_document(state->document));
  std::vector<std::string> manifests;
  if (!state->manifests.empty()) {
    DIL_TRY(const std::vector<manifest::ManifestFile> head,
            manifest::decode_manifest_list(state->manifests, kMaxManifests));
    for (const manifest::ManifestFile& file : head) manifests.push_back(file.manifest_path);
  }
  DIL_CHECK_OK(add_manifests(manifests, Where::kMain));
  DIL_TRY(const std::vector<store::PublishedSnapshot> published,
          store::load_published(connection, lake_, table));
  std::vector<std::string> lists, side_lists;
  for (const store::PublishedSnapshot& item : published) {
    DIL_TRY(const iceberg::Snapshot snapshot, iceberg::snapshot_from_json(item.document));
    (item.is_main ? lists : side_lists).push_back(snapshot.manifest_list);
  }
  DIL_TRY(const std::vector<store::ClientSnapshot> unpublished,
          store::load_unpublished(connection, lake_, table));
  for (const store::ClientSnapshot& item : unpublished) side_lists.push_back(item.manifest_list);
  DIL_CHECK_OK(add_lists(lists, Where::kMain));
  return add_lists(side_lists, Where::kSide);
}

Status SweepNames::add_document(const std::string& json) {
  DIL_TRY(const iceberg::TableMetadata document, iceberg::metadata_from_json(json));
  for (const iceberg::MetadataLogEntry& entry : document.metadata_log) add(entry.metadata_file);
  for (const auto* files : {&document.statistics, &document.partition_statistics}) {
    for (const std::string& text : *files) {
      DIL_TRY(const json::Document parsed, json::Document::parse(text));
      DIL_TRY(const json::Object file, parsed.root_object());
      DIL_TRY(const std::string_view path, file.require_string("statistics-path"));
      add(path);
    }
  }
  return {};
}

Status SweepNames::add_lists(const std::vector<std::string>& lists, Where where) {
  std::unordered_set<std::uint64_t>& read = where == Where::kSide ? side_read_ : read_;
  std::vector<std::string> manifests;
  std::vector<objstore::GetObject> wanted;
  for (const std::string& list : lists) {
    note(list, where);
    Result<std::string> key = objects_.key_of(list);
    if (!key.has_value() || !read.insert(hash(list)).second) continue;
    wanted.push_back({std::move(*key), kMaxListBytes});
  }
  for (std::size_t begin = 0; begin < wanted.size(); begin += kBatch) {
    const std::size_t end = std::min(begin + kBatch, wanted.size());
    const std::vector<objstore::GetObject> batch(
        wanted.begin() + static_cast<std::ptrdiff_t>(begin),
        wanted.begin() + static_cast<std::ptrdiff_t>(end));
    for (Result<std::string>& bytes : objects_.get_many(batch)) {
      if (!bytes.has_value() && bytes.error().code() == Code::kNotFound) continue;
      if (!bytes.has_value()) return std::move(bytes).error();
      DIL_TRY(const std::vector<manifest::ManifestFile> files,
              manifest::decode_manifest_list(*bytes, kMaxManifests));
      for (const manifest::ManifestFile& file : files) manifests.push_back(file.manifest_path);
    }
  }
  return add_manifests(manifests, where);
}

Status SweepNames::add_manifests(const std::vector<std::string>& paths, Where where) {
  std::unordered_set<std::uint64_t>& read = where == Where::kSide ? side_read_ : read_;
  std::vector<objstore::GetObject> wanted;
  for (const std::string& path : paths) {
    note(path, where);
    Result<std::string> key = objects_.key_of(path);
    if (!key.has_value() || !read.insert(hash(path)).second) continue;
    wanted.push_back({std::move(*key), kMaxManifestBytes});
  }
  for (std::size_t begin = 0; begin < wanted.size(); begin += kBatch) {
    const std::size_t end = std::min(begin + kBatch, wanted.size());
    const std::vector<objstore::GetObject> batch(
        wanted.begin() + static_cast<std::ptrdiff_t>(begin),
        wanted.begin() + static_cast<std::ptrdiff_t>(end));
    for (Result<std::string>& bytes : objects_.get_many(batch)) {
      if (!bytes.has_value() && bytes.error().code() == Code::kNotFound) continue;
      if (!bytes.has_value()) return std::move(bytes).error();
      DIL_TRY(const manifest::DecodedManifest decoded,
              manifest::decode_manifest(*bytes, kMaxEntries));
      for (const manifest::ManifestEntry& entry : decoded.entries) {
        if (entry.status != manifest::EntryStatus::kDeleted) note(entry.data_file.file_path, where);
      }
    }
  }
  return {};
}

}  // namespace duckicelake::catalog
