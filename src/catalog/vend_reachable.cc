// SPDX-License-Identifier: Apache-2.0
#include "catalog/vend_reachable.h"

#include <algorithm>
#include <set>

#include "iceberg/snapshot.h"
#include "iceberg/table_metadata.h"
#include "json/value.h"
#include "manifest/manifest.h"
#include "store/commit_sidecar.h"
#include "store/sidecar.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxObjectBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxManifests = 200'000;
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kBatch = 16;

class Search {
 public:
  Search(objstore::ObjectStore& objects, std::size_t limit) : objects_(objects), limit_(limit) {}

  Status add(std::string_view uri) {
    names_.emplace(uri);
    if (names_.size() > limit_) {
      return make_error(Code::kPayloadTooLarge, "the table has more than {} objects", limit_);
    }
    return {};
  }

  // The sidecar's rows; what they name is read without a connection.
  Status read_rows(pg::Connection& connection, const store::Lake& lake, TableId table) {
    DIL_TRY(const std::optional<store::TableState> state,
            store::load_table_state(connection, lake, table));
    if (state) {
      if (!state->metadata_location.empty()) DIL_CHECK_OK(add(state->metadata_location));
      DIL_CHECK_OK(read_document(state->document));
      DIL_CHECK_OK(note_manifests(state->manifests));
    }
    DIL_TRY(const std::vector<store::PublishedSnapshot> published,
            store::load_published(connection, lake, table));
    for (const store::PublishedSnapshot& item : published) {
      DIL_TRY(iceberg::Snapshot snapshot, iceberg::snapshot_from_json(item.document));
      lists_.insert(std::move(snapshot.manifest_list));
    }
    return {};
  }

  Status read_objects() {
    DIL_CHECK_OK(
        read_all(lists_, [this](const std::string& bytes) { return note_manifests(bytes); }));
    return read_all(manifests_, [this](const std::string& bytes) -> Status {
      DIL_TRY(const manifest::DecodedManifest decoded,
              manifest::decode_manifest(bytes, kMaxEntries));
      for (const manifest::ManifestEntry& entry : decoded.entries) {
        if (entry.status == manifest::EntryStatus::kDeleted) continue;
        DIL_CHECK_OK(add(entry.data_file.file_path));
      }
      return {};
    });
  }

  std::vector<std::string> take() { return {names_.begin(), names_.end()}; }

 private:
  Status read_document(const std::string& json) {
    DIL_TRY(const iceberg::TableMetadata document, iceberg::metadata_from_json(json));
    for (const iceberg::MetadataLogEntry& entry : document.metadata_log) {
      DIL_CHECK_OK(add(entry.metadata_file));
    }
    for (const auto* files : {&document.statistics, &document.partition_statistics}) {
      for (const std::string& text : *files) {
        DIL_TRY(const json::Document parsed, json::Document::parse(text));
        DIL_TRY(const json::Object file, parsed.root_object());
        DIL_TRY(const std::string_view path, file.require_string("statistics-path"));
        DIL_CHECK_OK(add(path));
      }
    }
    return {};
  }

  Status note_manifests(const std::string& list) {
    if (list.empty()) return {};
    DIL_TRY(std::vector<manifest::ManifestFile> files,
            manifest::decode_manifest_list(list, kMaxManifests));
    for (manifest::ManifestFile& file : files) manifests_.insert(std::move(file.manifest_path));
    return {};
  }

  template <class Take>
  Status read_all(const std::set<std::string>& uris, Take take) {
    std::vector<objstore::GetObject> batch;
    const auto run = [&]() -> Status {
      for (Result<std::string>& bytes : objects_.get_many(batch)) {
        // Gone since it was listed: nothing to open.
        if (!bytes.has_value() && bytes.error().code() == Code::kNotFound) continue;
        if (!bytes.has_value()) return std::move(bytes).error();
        DIL_CHECK_OK(take(*bytes));
      }
      batch.clear();
      return {};
    };
    for (const std::string& uri : uris) {
      if (uri.empty()) continue;
      DIL_CHECK_OK(add(uri));
      DIL_TRY(std::string key, objects_.key_of(uri));
      batch.push_back({std::move(key), kMaxObjectBytes});
      if (batch.size() == kBatch) DIL_CHECK_OK(run());
    }
    return run();
  }

  objstore::ObjectStore& objects_;
  const std::size_t limit_;
  std::set<std::string> names_;
  std::set<std::string> lists_;
  std::set<std::string> manifests_;
};

}  // namespace

Result<std::vector<std::string>> load_reachable_files(pg::Pool& pool, pg::Deadline until,
                                                      objstore::ObjectStore& objects,
                                                      const store::Lake& lake, TableId table,
                                                      std::size_t limit) {
  Search search(objects, limit);
  {
    DIL_TRY(pg::Lease lease, pool.acquire(until));
    DIL_CHECK_OK(search.read_rows(*lease, lake, table));
  }
  DIL_CHECK_OK(search.read_objects());
  return search.take();
}

}  // namespace duckicelake::catalog
