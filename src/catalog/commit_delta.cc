// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_delta.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "catalog/parallel.h"

namespace duckicelake::catalog {
namespace {

using manifest::Content;
using manifest::EntryStatus;
using manifest::ManifestContent;
using manifest::ManifestFile;

constexpr std::size_t kMaxListBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxManifests = 200'000;
constexpr std::size_t kMaxManifestBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kReaders = 4;

// The client's bytes: what is wrong with them is the client's fault, unless the store is away.
Result<std::string> get_client_object(objstore::ObjectStore& objects, const std::string& uri,
                                      std::size_t limit) {
  Result<std::string> key = objects.key_of(uri);
  if (!key.has_value()) return invalid_argument("{} does not lie in the catalog's store", uri);
  Result<std::string> bytes = objects.get(*key, limit);
  if (bytes.has_value()) return bytes;
  switch (bytes.error().code()) {
    case Code::kUnavailable:
    case Code::kDeadlineExceeded: return bytes;
    case Code::kNotFound: return invalid_argument("{} does not exist", uri);
    default: return invalid_argument("{} cannot be read: {}", uri, bytes.error().message());
  }
}

bool is_count_right(std::int64_t said, std::int64_t counted) {
  return said < 0 || said == counted;  // -1: a version 1 list that does not say
}

class Reader {
 public:
  Reader(objstore::ObjectStore& objects, const DeltaInput& input)
      : objects_(objects), input_(input) {}

  Result<ReadSnapshot> run() {
    DIL_TRY(std::string bytes,
            get_client_object(objects_, input_.snapshot.manifest_list, kMaxListBytes));
    auto list = manifest::decode_manifest_list(bytes, kMaxManifests);
    if (!list.has_value()) {
      return std::move(list)
          .error()
          .with_code(Code::kInvalidArgument)
          .with_context("manifest list " + input_.snapshot.manifest_list);
    }
    out_.manifests = std::move(*list);
    DIL_CHECK_OK(sort_manifests());
    DIL_CHECK_OK(read_new_manifests());
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
      DIL_CHECK_OK(take(*fresh_[i], std::move(decoded_[i])));
    }
    DIL_CHECK_OK(check_balance());
    return std::move(out_);
  }

 private:
  // Which manifests are the parent's, and which are new.
  Status sort_manifests() {
    std::unordered_map<std::string, const ManifestFile*> parent;
    for (const ManifestFile& file : input_.parent) parent.emplace(file.manifest_path, &file);
    std::unordered_set<std::string> seen;
    for (const ManifestFile& file : out_.manifests) {
      if (!seen.insert(file.manifest_path).second) {
        return invalid_argument("manifest {} is listed twice", file.manifest_path);
      }
      if (parent.erase(file.manifest_path) > 0) continue;
      if (file.added_snapshot_id != input_.snapshot.snapshot_id) {
        return invalid_argument(
            "manifest {} is neither part of the parent snapshot nor added by snapshot {}",
            file.manifest_path, input_.snapshot.snapshot_id);
      }
      DIL_CHECK_OK(check_path(input_.paths, file.manifest_path));
      fresh_.push_back(&file);
    }
    for (const auto& [path, file] : parent) {
      const std::int64_t live =
          std::int64_t{file->added_files_count} + std::int64_t{file->existing_files_count};
      (file->content == ManifestContent::kData ? data_balance_ : delete_balance_) += live;
    }
    return {};
  }

  Status read_new_manifests() {
    decoded_.resize(fresh_.size());
    return parallel_for(fresh_.size(), kReaders, [&](std::size_t i) -> Status {
      const ManifestFile& file = *fresh_[i];
      DIL_TRY(std::string bytes,
              get_client_object(objects_, file.manifest_path, kMaxManifestBytes));
      auto decoded = manifest::decode_manifest(bytes, kMaxEntries);
      if (!decoded.has_value()) {
        return std::move(decoded)
            .error()
            .with_code(Code::kInvalidArgument)
            .with_context("manifest " + file.manifest_path);
      }
      decoded_[i] = std::move(*decoded);
      return {};
    });
  }

  Status take(const ManifestFile& file, manifest::DecodedManifest decoded) {
    if (decoded.header.content != file.content) {
      return invalid_argument("manifest {} holds another kind of files than its list says",
                              file.manifest_path);
    }
    DIL_CHECK_OK(check_spec(file, decoded.header));
    std::int64_t added = 0, existing = 0, deleted = 0;
    std::int64_t added_rows = 0, existing_rows = 0, deleted_rows = 0;
    AddedDataFiles fresh;
    fresh.header = std::move(decoded.header);
    for (manifest::ManifestEntry& entry : decoded.entries) {
      DIL_CHECK_OK(check_entry(file, entry));
      const std::int64_t rows = entry.data_file.record_count;
      switch (entry.status) {
        case EntryStatus::kAdded:
          ++added;
          added_rows += rows;
          DIL_CHECK_OK(check_added(entry));
          fresh.entries.push_back(std::move(entry));
          break;
        case EntryStatus::kExisting:
          ++existing;
          existing_rows += rows;
          break;
        case EntryStatus::kDeleted:
          ++deleted;
          deleted_rows += rows;
          (file.content == ManifestContent::kData ? out_.delta.removed : out_.delta.removed_deletes)
              .push_back(std::move(entry.data_file));
          break;
      }
    }
    const bool is_right = is_count_right(file.added_files_count, added) &&
                          is_count_right(file.existing_files_count, existing) &&
                          is_count_right(file.deleted_files_count, deleted) &&
                          is_count_right(file.added_rows_count, added_rows) &&
                          is_count_right(file.existing_rows_count, existing_rows) &&
                          is_count_right(file.deleted_rows_count, deleted_rows);
    if (!is_right) {
      return invalid_argument("the counts of manifest {} in its list are not those of its entries",
                              file.manifest_path);
    }
    (file.content == ManifestContent::kData ? data_balance_ : delete_balance_) -=
        existing + deleted;
    if (!fresh.entries.empty()) {
      (file.content == ManifestContent::kData ? out_.delta.added : out_.delta.added_deletes)
          .push_back(std::move(fresh));
    }
    return {};
  }

  Status check_spec(const ManifestFile& file, const manifest::ManifestHeader& header) const {
    if (header.spec.spec_id != file.partition_spec_id) {
      return invalid_argument("manifest {} names another partition spec than its list",
                              file.manifest_path);
    }
    for (const iceberg::PartitionSpec& spec : input_.metadata.partition_specs) {
      if (spec.spec_id != header.spec.spec_id) continue;
      bool is_same = spec.fields.size() == header.spec.fields.size();
      for (std::size_t i = 0; is_same && i < spec.fields.size(); ++i) {
        is_same = spec.fields[i].source_id == header.spec.fields[i].source_id &&
                  spec.fields[i].transform == header.spec.fields[i].transform;
      }
      if (is_same) return {};
      return invalid_argument("manifest {}: its partition spec {} is not the table's",
                              file.manifest_path, spec.spec_id);
    }
    return invalid_argument("manifest {}: the table has no partition spec {}", file.manifest_path,
                            header.spec.spec_id);
  }

  Status check_entry(const ManifestFile& file, const manifest::ManifestEntry& entry) {
    const manifest::DataFile& data = entry.data_file;
    const bool is_data = data.content == Content::kData;
    if (is_data != (file.content == ManifestContent::kData)) {
      return invalid_argument("manifest {} holds {}, which is of the other kind",
                              file.manifest_path, data.file_path);
    }
    if (data.record_count < 0 || data.file_size_in_bytes < 0) {
      return invalid_argument("{}: negative counts", data.file_path);
    }
    const bool is_own = !entry.snapshot_id || *entry.snapshot_id == input_.snapshot.snapshot_id;
    // DuckDB leaves the id of the snapshot that added a file in the entry that deletes it. A file
    // that was deleted earlier is no live one of the parent, so `check_balance` finds such entries.
    if (entry.status == EntryStatus::kAdded && !is_own) {
      return invalid_argument("{} is added by another snapshot in a new manifest", data.file_path);
    }
    return {};
  }

  Status check_added(const manifest::ManifestEntry& entry) {
    const manifest::DataFile& data = entry.data_file;
    DIL_CHECK_OK(data.content == Content::kData ? check_path(input_.paths, data.file_path)
                                                : check_delete_path(data.file_path));
    const bool is_vector =
        data.content == Content::kPositionDeletes && data.file_format == "PUFFIN";
    if (data.file_format != "PARQUET" && !is_vector) {
      return invalid_argument("{} has format {}; only Parquet data can be committed",
                              data.file_path, data.file_format);
    }
    if (is_vector &&
        (!data.content_offset || !data.content_size_in_bytes || !data.referenced_data_file)) {
      return invalid_argument("{}: a deletion vector without offset, size or data file",
                              data.file_path);
    }
    if (data.content == Content::kEqualityDeletes && data.equality_ids.empty()) {
      return invalid_argument("{}: equality deletes without equality ids", data.file_path);
    }
    std::string name = data.file_path;
    if (is_vector) name += fmt::format("\n{}", *data.content_offset);
    if (!added_.insert(std::move(name)).second) {
      return invalid_argument("{} is added twice", data.file_path);
    }
    return {};
  }

  Status check_delete_path(const std::string& path) const {
    const PathRules beside{input_.paths.delete_prefixes, false, {}};
    if (check_path(beside, path).has_value()) return {};
    return check_path(input_.paths, path);
  }

  // Every live file of a manifest that is gone must be in a new one, kept or deleted.
  Status check_balance() const {
    if (data_balance_ == 0 && delete_balance_ == 0) return {};
    return invalid_argument(
        "the manifest list of snapshot {} is not that of its parent with the changes it names: {} "
        "data files and {} delete files are unaccounted for",
        input_.snapshot.snapshot_id, data_balance_, delete_balance_);
  }

  objstore::ObjectStore& objects_;
  const DeltaInput& input_;
  ReadSnapshot out_;
  std::vector<const ManifestFile*> fresh_;
  std::vector<manifest::DecodedManifest> decoded_;
  std::unordered_set<std::string> added_;
  std::int64_t data_balance_ = 0;
  std::int64_t delete_balance_ = 0;
};

}  // namespace

std::int64_t SnapshotDelta::added_files() const {
  std::int64_t count = 0;
  for (const AddedDataFiles& item : added) count += static_cast<std::int64_t>(item.entries.size());
  return count;
}

std::int64_t SnapshotDelta::added_rows() const {
  std::int64_t count = 0;
  for (const AddedDataFiles& item : added) {
    for (const manifest::ManifestEntry& entry : item.entries) count += entry.data_file.record_count;
  }
  return count;
}

Status check_path(const PathRules& rules, const std::string& path) {
  const bool has_scheme = path.find("://") != std::string::npos;
  if (!has_scheme && rules.allows_bare_paths && !path.empty()) return {};
  const bool is_plain = path.find("/../") == std::string::npos &&
                        path.find("/./") == std::string::npos && !path.ends_with('/') &&
                        path.find('\0') == std::string::npos;
  if (has_scheme && is_plain) {
    for (const std::string& prefix : rules.allowed_prefixes) {
      if (path.starts_with(prefix) && path.size() > prefix.size()) return {};
    }
  }
  return invalid_argument("{} does not lie under the table's location", path);
}

Result<ReadSnapshot> read_client_snapshot(objstore::ObjectStore& objects, const DeltaInput& input) {
  return Reader(objects, input).run();
}

}  // namespace duckicelake::catalog
