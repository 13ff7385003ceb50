// SPDX-License-Identifier: Apache-2.0
#include "translate/manifest_planner.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace duckicelake::translate {
namespace {

using manifest::EntryStatus;
using manifest::ManifestContent;
using manifest::ManifestEntry;

int size_class(std::int64_t entries) {
  int cls = 0;
  for (; entries >= kMergeFanOut; entries /= kMergeFanOut) ++cls;
  return cls;
}

struct Delta {
  std::int64_t added_data_files = 0, deleted_data_files = 0;
  std::int64_t added_records = 0, deleted_records = 0;
  std::int64_t added_size = 0, removed_size = 0;
  std::int64_t added_delete_files = 0, removed_delete_files = 0;
  std::int64_t added_position_deletes = 0, removed_position_deletes = 0;
  std::int64_t added_dvs = 0, removed_dvs = 0;
  std::set<std::pair<std::int32_t, iceberg::PartitionTuple>> partitions;
};

void count_added(Delta& delta, std::int32_t spec_id, const manifest::DataFile& file) {
  if (file.content == manifest::Content::kData) {
    ++delta.added_data_files;
    delta.added_records += file.record_count;
  } else {
    ++delta.added_delete_files;
    delta.added_position_deletes += file.record_count;
    if (file.file_format == "PUFFIN") ++delta.added_dvs;
  }
  delta.added_size += file.content_size_in_bytes.value_or(file.file_size_in_bytes);
  delta.partitions.emplace(spec_id, file.partition);
}

void count_removed(Delta& delta, std::int32_t spec_id, const manifest::DataFile& file) {
  if (file.content == manifest::Content::kData) {
    ++delta.deleted_data_files;
    delta.deleted_records += file.record_count;
  } else {
    ++delta.removed_delete_files;
    delta.removed_position_deletes += file.record_count;
    if (file.file_format == "PUFFIN") ++delta.removed_dvs;
  }
  delta.removed_size += file.content_size_in_bytes.value_or(file.file_size_in_bytes);
  delta.partitions.emplace(spec_id, file.partition);
}

class Planner {
 public:
  Planner(const HeadState& head, SnapshotChange change, const PlanContext& context)
      : change_(std::move(change)), context_(context) {
    out_.head = head;
  }

  Result<PlannedSnapshot> run() {
    // Manifests whose files were all deleted by an earlier snapshot say nothing about this one.
    std::erase_if(out_.head.manifests, [](const HeadManifest& m) { return m.live_files() == 0; });
    DIL_CHECK_OK(remove_data_files());
    DIL_CHECK_OK(remove_delete_files());
    DIL_CHECK_OK(add_files());
    DIL_CHECK_OK(write_list());
    return std::move(out_);
  }

 private:
  struct Pending {  // entries waiting to be written as one manifest
    FileKey min_key = 0;
    FileKey max_key = 0;
    std::vector<ManifestEntry> entries;

    void add(FileKey low, FileKey high, ManifestEntry entry) {
      min_key = entries.empty() ? low : std::min(min_key, low);
      max_key = entries.empty() ? high : std::max(max_key, high);
      entries.push_back(std::move(entry));
    }
  };

  Status remove_data_files() {
    std::unordered_map<std::string, FileKey> wanted;
    for (const RemovedFile& file : change_.removed) wanted.emplace(file.path, file.key);
    const std::size_t expected = wanted.size();
    std::size_t found = 0;
    DIL_CHECK_OK(rewrite_without(
        ManifestContent::kData, wanted,
        [](const manifest::DataFile& file) -> const std::string& { return file.file_path; },
        found));
    if (found < expected) {
      return make_error(Code::kCorruptData, "{} of {} removed data files are in no manifest",
                        expected - found, expected);
    }
    return {};
  }

  // Deletes go away with their data file, and when others take their place.
  Status remove_delete_files() {
    std::unordered_map<std::string, FileKey> wanted;
    for (const RemovedFile& file : change_.removed) wanted.emplace(file.path, file.key);
    for (const DeleteChange& change : change_.deletes) {
      wanted.emplace(change.data_file_path, change.key);
    }
    std::size_t found = 0;
    static const std::string kNone;
    return rewrite_without(
        ManifestContent::kDeletes, wanted,
        [](const manifest::DataFile& file) -> const std::string& {
          return file.referenced_data_file ? *file.referenced_data_file : kNone;
        },
        found);
  }

  template <class PathOf>
  Status rewrite_without(ManifestContent content,
                         const std::unordered_map<std::string, FileKey>& wanted, PathOf path_of,
                         std::size_t& found) {
    if (wanted.empty()) return {};
    std::vector<FileKey> keys;
    for (const auto& [path, key] : wanted) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    for (HeadManifest& head : out_.head.manifests) {
      if (head.file.content != content) continue;
      auto first = std::lower_bound(keys.begin(), keys.end(), head.min_key);
      if (first == keys.end() || *first > head.max_key) continue;
      DIL_TRY(auto decoded, context_.read(head.file));
      std::vector<ManifestEntry> entries;
      bool hit = false;
      for (const ManifestEntry& entry : decoded->entries) {
        if (entry.status == EntryStatus::kDeleted) continue;
        entries.push_back(entry);
        if (wanted.contains(path_of(entry.data_file))) {
          hit = true;
          ++found;
          entries.back().status = EntryStatus::kDeleted;
          entries.back().snapshot_id = change_.snapshot_id;
          count_removed(delta_, head.file.partition_spec_id, entry.data_file);
        } else {
          entries.back().status = EntryStatus::kExisting;
        }
      }
      if (!hit) continue;
      DIL_TRY(head.file, write_manifest(decoded->header, std::move(entries)));
      rewritten_.insert(head.file.manifest_path);
    }
    return {};
  }

  Status add_files() {
    std::map<std::pair<ManifestContent, std::int32_t>, Pending> groups;
    std::map<std::pair<ManifestContent, std::int32_t>, Pending> synthetic;
    std::int64_t next_row_id = out_.head.next_row_id;
    for (AddedFile& added : change_.added) {
      if (!added.existing_since) count_added(delta_, added.spec_id, added.file);
      if (added.file.first_row_id) {
        next_row_id = std::max(next_row_id, *added.file.first_row_id + added.file.record_count);
      }
      auto& group = added.key < 0 ? synthetic : groups;
      const FileKey key = added.key;
      group[{ManifestContent::kData, added.spec_id}].add(
          key, key,
          make_entry(std::move(added.file), added.existing_since, added.data_sequence_number));
    }
    for (DeleteChange& change : change_.deletes) {
      if (!change.now) continue;
      if (!change.existing_since) count_added(delta_, change.spec_id, *change.now);
      auto& group = change.key < 0 ? synthetic : groups;
      group[{ManifestContent::kDeletes, change.spec_id}].add(
          change.key, change.key,
          make_entry(std::move(*change.now), change.existing_since, change_.snapshot_id));
    }
    for (auto& [id, pending] : groups) {
      DIL_CHECK_OK(add_group(id.first, id.second, std::move(pending), false));
    }
    for (auto& [id, pending] : synthetic) {
      DIL_CHECK_OK(add_group(id.first, id.second, std::move(pending), true));
    }
    next_row_id_before_ = out_.head.next_row_id;
    out_.head.next_row_id = next_row_id;
    return {};
  }

  ManifestEntry make_entry(manifest::DataFile file, std::optional<std::int64_t> existing_since,
                           std::int64_t data_sequence_number) const {
    ManifestEntry entry;
    entry.data_file = std::move(file);
    if (context_.format_version < 3) entry.data_file.first_row_id.reset();
    if (existing_since) {
      entry.status = EntryStatus::kExisting;
      entry.snapshot_id = *existing_since;
      entry.sequence_number = data_sequence_number;
      entry.file_sequence_number = *existing_since;
    } else {
      entry.status = EntryStatus::kAdded;
      entry.snapshot_id = change_.snapshot_id;
      // Equal to the snapshot's own number: left out, so that it is inherited as the specification
      // has it.
      if (data_sequence_number != change_.snapshot_id) entry.sequence_number = data_sequence_number;
    }
    return entry;
  }

  Status add_group(ManifestContent content, std::int32_t spec_id, Pending pending,
                   bool is_synthetic) {
    manifest::ManifestHeader header;
    header.format_version = context_.format_version;
    header.content = content;
    for (const iceberg::PartitionSpec& spec : *context_.specs) {
      if (spec.spec_id == spec_id) header.spec = spec;
    }
    header.schema = schema_for(header.spec);
    DIL_CHECK_OK(absorb_small(header, pending, is_synthetic));
    for (std::size_t first = 0; first < pending.entries.size(); first += kMaxManifestEntries) {
      const std::size_t last = std::min(pending.entries.size(), first + kMaxManifestEntries);
      std::vector<ManifestEntry> part(
          std::make_move_iterator(pending.entries.begin() + static_cast<std::ptrdiff_t>(first)),
          std::make_move_iterator(pending.entries.begin() + static_cast<std::ptrdiff_t>(last)));
      HeadManifest head;
      head.min_key = pending.min_key;
      head.max_key = pending.max_key;
      DIL_TRY(head.file, write_manifest(header, std::move(part)));
      out_.head.manifests.push_back(std::move(head));
    }
    return {};
  }

  // The current schema, or the newest one that still has the columns that the spec names.
  const iceberg::Schema& schema_for(const iceberg::PartitionSpec& spec) const {
    const auto has_sources = [&](const iceberg::Schema& schema) {
      return std::all_of(spec.fields.begin(), spec.fields.end(),
                         [&](const iceberg::PartitionField& field) {
                           return schema.find(field.source_id) != nullptr;
                         });
    };
    if (!has_sources(*context_.schema)) {
      for (auto it = context_.schemas->rbegin(); it != context_.schemas->rend(); ++it) {
        if (has_sources(*it)) return *it;
      }
    }
    return *context_.schema;
  }

  // Takes the youngest manifests of the group into the pending one when kMergeFanOut of a size
  // class have come together: each entry is then rewritten a logarithmic number of times in the
  // life of a table, and the number of manifests stays logarithmic too.
  Status absorb_small(const manifest::ManifestHeader& header, Pending& pending, bool is_synthetic) {
    auto& all = out_.head.manifests;
    auto is_candidate = [&](const HeadManifest& m) {
      return m.file.content == header.content && m.file.partition_spec_id == header.spec.spec_id &&
             (m.max_key < 0) == is_synthetic && !rewritten_.contains(m.file.manifest_path);
    };
    std::vector<std::size_t> candidates;  // youngest first
    for (std::size_t i = all.size(); i-- > 0;) {
      if (is_candidate(all[i])) candidates.push_back(i);
    }
    std::int64_t total = static_cast<std::int64_t>(pending.entries.size());
    std::size_t taken = 0;
    while (true) {
      const int cls = size_class(total);
      std::size_t end = taken;
      std::int64_t sum = 0;
      while (end < candidates.size() && size_class(all[candidates[end]].live_files()) <= cls) {
        sum += all[candidates[end]].live_files();
        ++end;
      }
      if (static_cast<std::int64_t>(end - taken) < kMergeFanOut - 1) break;
      if (total + sum > static_cast<std::int64_t>(kMaxManifestEntries)) break;
      total += sum;
      taken = end;
    }
    if (taken == 0) return {};
    std::vector<std::size_t> absorbed(candidates.begin(),
                                      candidates.begin() + static_cast<std::ptrdiff_t>(taken));
    std::sort(absorbed.begin(), absorbed.end());
    Pending merged;
    for (std::size_t i : absorbed) {
      DIL_TRY(auto decoded, context_.read(all[i].file));
      // A promoted source column changes the type of the partition tuple: such manifests stay as
      // they are.
      if (!same_partition_types(decoded->header, header)) return {};
      for (const ManifestEntry& entry : decoded->entries) {
        if (entry.status == EntryStatus::kDeleted) continue;
        ManifestEntry copy = entry;
        copy.status = EntryStatus::kExisting;
        merged.add(all[i].min_key, all[i].max_key, std::move(copy));
      }
    }
    const FileKey low = pending.min_key;
    const FileKey high = pending.max_key;
    for (ManifestEntry& entry : pending.entries) merged.add(low, high, std::move(entry));
    pending = std::move(merged);
    for (std::size_t k = absorbed.size(); k-- > 0;) {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(absorbed[k]));
    }
    return {};
  }

  static bool same_partition_types(const manifest::ManifestHeader& a,
                                   const manifest::ManifestHeader& b) {
    if (a.spec.fields != b.spec.fields) return false;
    for (const iceberg::PartitionField& field : a.spec.fields) {
      const iceberg::Field* x = a.schema.find(field.source_id);
      const iceberg::Field* y = b.schema.find(field.source_id);
      if (x == nullptr || y == nullptr || x->type.kind != y->type.kind ||
          x->type.precision != y->type.precision) {
        return false;
      }
    }
    return true;
  }

  Result<manifest::ManifestFile> write_manifest(const manifest::ManifestHeader& header,
                                                std::vector<ManifestEntry> entries) {
    manifest::ManifestHeader own = header;
    own.format_version = context_.format_version;
    DIL_TRY(std::string bytes, manifest::encode_manifest(own, entries));
    DIL_TRY(manifest::ManifestFile file,
            manifest::summarize(own, entries, change_.snapshot_id, change_.snapshot_id));
    file.manifest_path = fmt::format("{}{}-{}-m{}.avro", context_.metadata_folder,
                                     change_.snapshot_id, context_.unique, written_++);
    file.manifest_length = static_cast<std::int64_t>(bytes.size());
    file.sequence_number = change_.snapshot_id;
    if (context_.format_version >= 3 && own.content == ManifestContent::kData) {
      std::optional<std::int64_t> first;
      for (const ManifestEntry& entry : entries) {
        const auto& id = entry.data_file.first_row_id;
        if (id && (!first || *id < *first)) first = id;
      }
      file.first_row_id = first.value_or(out_.head.next_row_id);
    }
    auto decoded = std::make_shared<manifest::DecodedManifest>();
    decoded->header = std::move(own);
    decoded->entries = std::move(entries);
    DIL_CHECK_OK(manifest::inherit(file, decoded->entries));
    out_.objects.push_back({file.manifest_path, std::move(bytes), std::move(decoded)});
    return file;
  }

  Status write_list() {
    manifest::ManifestListHeader header;
    header.format_version = context_.format_version;
    header.snapshot_id = change_.snapshot_id;
    header.parent_snapshot_id = change_.parent_id;
    header.sequence_number = change_.snapshot_id;
    if (context_.format_version >= 3) header.first_row_id = next_row_id_before_;
    std::vector<manifest::ManifestFile> files;
    files.reserve(out_.head.manifests.size());
    for (const HeadManifest& m : out_.head.manifests) {
      files.push_back(m.file);
      if (context_.format_version >= 3 && m.file.content == ManifestContent::kData &&
          !m.file.first_row_id) {
        files.back().first_row_id = 0;
      }
    }
    DIL_TRY(std::string bytes, manifest::encode_manifest_list(header, files));
    iceberg::Snapshot& snapshot = out_.snapshot;
    snapshot.snapshot_id = change_.snapshot_id;
    snapshot.parent_snapshot_id = change_.parent_id;
    snapshot.sequence_number = change_.snapshot_id;
    snapshot.timestamp_ms = change_.timestamp_ms;
    snapshot.schema_id = change_.schema_id;
    snapshot.manifest_list = fmt::format("{}snap-{}-{}.avro", context_.metadata_folder,
                                         change_.snapshot_id, context_.unique);
    if (context_.format_version >= 3) {
      snapshot.first_row_id = next_row_id_before_;
      snapshot.added_rows = out_.head.next_row_id - next_row_id_before_;
    }
    summarize_snapshot(snapshot);
    out_.objects.push_back({snapshot.manifest_list, std::move(bytes), nullptr});
    return {};
  }

  void summarize_snapshot(iceberg::Snapshot& snapshot) {
    Totals& totals = out_.head.totals;
    totals.data_files += delta_.added_data_files - delta_.deleted_data_files;
    totals.records += delta_.added_records - delta_.deleted_records;
    totals.files_size += delta_.added_size - delta_.removed_size;
    totals.delete_files += delta_.added_delete_files - delta_.removed_delete_files;
    totals.position_deletes += delta_.added_position_deletes - delta_.removed_position_deletes;

    auto& summary = snapshot.summary;
    summary = std::move(change_.summary_extra);
    const bool adds = delta_.added_data_files > 0;
    const bool removes = delta_.deleted_data_files > 0 || delta_.added_delete_files > 0 ||
                         delta_.removed_delete_files > 0;
    // Rows that come back (a partial file shows more of itself) are no delete.
    const bool loses_rows =
        delta_.deleted_records + delta_.added_position_deletes > delta_.removed_position_deletes;
    summary["operation"] = change_.is_compaction ? "replace"
                           : !removes            ? "append"
                           : adds || !loses_rows ? "overwrite"
                                                 : "delete";
    auto put = [&summary](const char* key, std::int64_t value) {
      if (value != 0) summary[key] = std::to_string(value);
    };
    put("added-data-files", delta_.added_data_files);
    put("deleted-data-files", delta_.deleted_data_files);
    put("added-records", delta_.added_records);
    put("deleted-records", delta_.deleted_records);
    put("added-files-size", delta_.added_size);
    put("removed-files-size", delta_.removed_size);
    put("added-delete-files", delta_.added_delete_files);
    put("removed-delete-files", delta_.removed_delete_files);
    const std::int64_t added_files = delta_.added_delete_files - delta_.added_dvs;
    const std::int64_t removed_files = delta_.removed_delete_files - delta_.removed_dvs;
    put("added-position-delete-files", added_files);
    put("removed-position-delete-files", removed_files);
    put("added-dvs", delta_.added_dvs);
    put("removed-dvs", delta_.removed_dvs);
    put("added-position-deletes", delta_.added_position_deletes);
    put("removed-position-deletes", delta_.removed_position_deletes);
    summary["changed-partition-count"] = std::to_string(delta_.partitions.size());
    summary["total-data-files"] = std::to_string(totals.data_files);
    summary["total-records"] = std::to_string(totals.records);
    summary["total-files-size"] = std::to_string(totals.files_size);
    summary["total-delete-files"] = std::to_string(totals.delete_files);
    summary["total-position-deletes"] = std::to_string(totals.position_deletes);
    summary["total-equality-deletes"] = "0";
  }

  SnapshotChange change_;
  const PlanContext& context_;
  PlannedSnapshot out_;
  Delta delta_;
  std::unordered_set<std::string> rewritten_;
  std::int64_t next_row_id_before_ = 0;
  int written_ = 0;
};

}  // namespace

Result<PlannedSnapshot> plan_snapshot(const HeadState& head, SnapshotChange change,
                                      const PlanContext& context) {
  return Planner(head, std::move(change), context).run();
}

}  // namespace duckicelake::translate
