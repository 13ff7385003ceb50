// SPDX-License-Identifier: Apache-2.0
#include "catalog/file_loader.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>

#include "catalog/inlined_files.h"
#include "catalog/parallel.h"
#include "puffin/deletion_vector.h"
#include "store/commit_sidecar.h"
#include "store/nan_counts.h"

namespace duckicelake::catalog {
namespace {

using translate::HiddenRun;
using translate::kAlways;
using translate::kNever;

constexpr std::size_t kReaders = 4;
constexpr std::size_t kMaxDeletionVectorBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxCommittedEntries = 1'000'000;
constexpr std::size_t kMaxPositions = std::size_t{1} << 31;

// Appends one deleted position, joined to the run before it where they touch.
void add_position(std::vector<HiddenRun>& runs, std::int64_t position, std::int64_t from,
                  std::int64_t to) {
  if (!runs.empty()) {
    HiddenRun& last = runs.back();
    if (last.from == from && last.to == to && last.first + last.count == position) {
      ++last.count;
      return;
    }
  }
  runs.push_back({position, 1, from, to});
}

// What the writer said stays.
void add_nan_counts(const std::vector<store::NanCount>& counts, manifest::CountMap& out) {
  for (const store::NanCount& item : counts) {
    const std::pair entry(item.column.value, item.count);
    const auto at =
        std::lower_bound(out.begin(), out.end(), entry,
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    if (at == out.end() || at->first != entry.first) out.insert(at, entry);
  }
}

class Loader {
 public:
  Loader(const FileLoaderContext& context, const ChainStart& start,
         std::span<const std::int64_t> chain)
      : context_(context), start_(start), chain_(chain) {}

  Result<std::vector<ChainFile>> run() {
    DIL_CHECK_OK(load_new_files());
    DIL_CHECK_OK(check_mapped_files());
    if (!start_.is_first) {
      DIL_CHECK_OK(load_ended());
      take_retired();
    }
    DIL_CHECK_OK(load_deletes());
    DIL_CHECK_OK(load_partial_rows());
    DIL_CHECK_OK(load_inlined());
    return std::move(out_);
  }

 private:
  const ducklake::TableRow& table() const { return context_.definition.table; }

  Result<std::size_t> add_row(const ducklake::DataFileRow& row, bool is_in_head) {
    if (row.format != "parquet") {
      return make_error(Code::kUnsupported, "data file {} has format {}", row.path, row.format);
    }
    if (row.is_encrypted)
      return make_error(Code::kUnsupported, "data file {} is encrypted", row.path);
    ChainFile file;
    file.time.key = row.id.value;
    file.time.begin = row.life.begin.value;
    file.time.end = row.life.end ? row.life.end->value : kNever;
    file.time.is_in_head = is_in_head;
    const auto committed = committed_.find(row.id.value);
    if (committed != committed_.end() && committed->second.file.file_path == row.path) {
      file.entry = committed->second;
      file.entry.file.first_row_id = row.row_id_start;
    } else {
      file.entry =
          translate::make_file_entry(row, context_.schema, context_.specs, context_.column_begins);
    }
    if (const auto counted = nans_.find(row.id.value); counted != nans_.end()) {
      add_nan_counts(counted->second, file.entry.file.nan_value_counts);
    }
    file.data_sequence_number = row.life.begin.value;
    index_.emplace(row.id.value, out_.size());
    out_.push_back(std::move(file));
    return out_.size() - 1;
  }

  // Entries of files that Iceberg clients committed, as they wrote them.
  Status take_committed(std::vector<store::CommittedFiles> stored) {
    for (const store::CommittedFiles& item : stored) {
      DIL_TRY(manifest::DecodedManifest decoded,
              manifest::decode_manifest(item.manifest, kMaxCommittedEntries));
      for (const auto& [id, index] : item.files) {
        if (static_cast<std::size_t>(index) >= decoded.entries.size()) {
          return Error(Code::kCorruptData, "a committed file has no manifest entry");
        }
        committed_[id] = {decoded.header.spec.spec_id,
                          decoded.entries[static_cast<std::size_t>(index)].data_file};
      }
    }
    return {};
  }

  Status load_new_files() {
    DIL_TRY(
        std::vector<ducklake::DataFileRow> rows,
        store::load_data_files(context_.connection, context_.lake, table(), {start_.next_file_id}));
    if (!rows.empty()) {
      DIL_TRY(std::vector<store::CommittedFiles> stored,
              store::load_committed_files(context_.connection, context_.lake, table().table_id,
                                          start_.next_file_id));
      DIL_CHECK_OK(take_committed(std::move(stored)));
    }
    // Files are counted after their commit was published: only when everything is published anew
    // are there counts of files that are new to it.
    if (start_.is_first && !committed_.empty()) {
      std::vector<std::int64_t> ids;
      for (const ducklake::DataFileRow& row : rows) ids.push_back(row.id.value);
      DIL_TRY(nans_, store::load_nan_counts(context_.connection, context_.lake, ids));
    }
    for (const ducklake::DataFileRow& row : rows) {
      // Gone before the chain begins: no snapshot of it shows the file.
      if (chain_.empty() || (row.life.end && row.life.end->value <= chain_.front())) continue;
      DIL_TRY(std::size_t i, add_row(row, false));
      const std::int64_t newest = row.partial_max ? row.partial_max->value : kAlways;
      // Rows of later snapshots are in the file: which of them a snapshot shows has to be read from
      // it.
      const auto shown_from = std::lower_bound(chain_.begin(), chain_.end(), row.life.begin.value);
      if (shown_from != chain_.end() && *shown_from < newest) partial_.push_back(i);
      if (context_.format_version >= 3 && !row.row_id_start) without_row_id_.push_back(i);
      if (row.mapping_id) mapped_.emplace_back(i, *row.mapping_id);
    }
    return {};
  }

  // DuckLake reads added files by name, Iceberg readers by the field ids that they carry, if any:
  // the two must agree.
  Status check_mapped_files() {
    return parallel_for(mapped_.size(), kReaders, [&](std::size_t i) -> Status {
      const auto& [index, mapping] = mapped_[i];
      const std::string& path = out_[index].entry.file.file_path;
      DIL_TRY(std::vector<DataEngine::NamedFieldId> ids, context_.engine.read_field_ids(path));
      for (const DataEngine::NamedFieldId& item : ids) {
        const auto& rows = context_.definition.name_mappings;
        const bool agrees =
            std::any_of(rows.begin(), rows.end(), [&](const ducklake::NameMappingRow& row) {
              return row.mapping_id == mapping && row.source_name == item.name &&
                     row.target_field_id.value == item.field_id;
            });
        if (!agrees) {
          return make_error(Code::kUnsupported,
                            "file {} was added to the table and carries field ids that are not the "
                            "table's: Iceberg "
                            "readers would take column \"{}\" for another one. Rewrite it to read "
                            "the table through "
                            "Iceberg",
                            path, item.name);
        }
      }
      return {};
    });
  }

  Status load_ended() {
    DIL_TRY(std::vector<store::EndedFile> ended,
            store::load_ended_files(context_.connection, context_.lake, table(), start_.through,
                                    start_.next_file_id));
    for (store::EndedFile& item : ended) {
      // Published files only: one that began later than the head has an id above it.
      if (item.begin > start_.through) continue;
      remove_from_head(item.id.value, std::move(item.path), item.end.value);
    }
    return {};
  }

  void take_retired() {
    for (const store::RetiredFile& item : start_.retired) {
      if (item.data_file_id >= start_.next_file_id || item.begin > start_.through) continue;
      if (item.end && *item.end <= start_.through) continue;
      if (index_.contains(item.data_file_id)) continue;
      remove_from_head(item.data_file_id, item.path, item.end ? item.end->value : kAlways);
    }
  }

  void remove_from_head(std::int64_t key, std::string path, std::int64_t end) {
    ChainFile file;
    file.time.key = key;
    file.time.end = end;
    file.time.is_in_head = true;
    file.entry.file.file_path = std::move(path);
    index_.emplace(key, out_.size());
    out_.push_back(std::move(file));
  }

  Status load_deletes() {
    std::vector<ducklake::InlinedDelete> inlined;
    if (context_.definition.has_inlined_deletes) {
      DIL_TRY(inlined, store::load_inlined_deletes(context_.connection, context_.lake,
                                                   table().table_id, std::nullopt));
    }
    DIL_TRY(std::vector<ducklake::DeleteFileRow> rows,
            store::load_delete_files(context_.connection, context_.lake, table(),
                                     {start_.next_file_id}));
    if (!start_.is_first) {
      DIL_CHECK_OK(load_affected(rows, inlined));
    }
    DIL_CHECK_OK(read_delete_files(rows));
    for (const ducklake::InlinedDelete& item : inlined) {
      auto it = index_.find(item.data_file_id.value);
      if (it == index_.end()) continue;
      add_position(out_[it->second].time.hidden, item.position, item.begin.value, kNever);
    }
    return {};
  }

  // Files of the published head whose deletes changed: their rows, and all their delete files
  // instead of the new ones alone, so that what was deleted before can be told from what was
  // deleted since.
  Status load_affected(std::vector<ducklake::DeleteFileRow>& rows,
                       const std::vector<ducklake::InlinedDelete>& inlined) {
    std::set<std::int64_t> affected;
    for (const ducklake::DeleteFileRow& row : rows) affected.insert(row.data_file_id.value);
    DIL_TRY(std::vector<std::int64_t> ended,
            store::load_files_with_ended_deletes(context_.connection, context_.lake,
                                                 table().table_id, start_.through));
    affected.insert(ended.begin(), ended.end());
    for (const ducklake::InlinedDelete& item : inlined) {
      if (item.begin > start_.through) affected.insert(item.data_file_id.value);
    }
    std::vector<std::int64_t> old;
    for (std::int64_t id : affected) {
      if (id < start_.next_file_id && !index_.contains(id)) old.push_back(id);
    }
    DIL_TRY(std::vector<ducklake::DataFileRow> files,
            store::load_data_files_by_id(context_.connection, context_.lake, table(), old));
    if (!files.empty()) {
      DIL_TRY(std::vector<store::CommittedFiles> stored,
              store::load_committed_files_of(context_.connection, context_.lake, table().table_id,
                                             old));
      DIL_CHECK_OK(take_committed(std::move(stored)));
    }
    for (const ducklake::DataFileRow& file : files) {
      DIL_TRY(std::size_t i, add_row(file, true));
      (void)i;
    }
    const std::vector<std::int64_t> all(affected.begin(), affected.end());
    DIL_TRY(rows, store::load_delete_files_of(context_.connection, context_.lake, table(), all));
    return {};
  }

  Status read_delete_files(const std::vector<ducklake::DeleteFileRow>& rows) {
    std::vector<const ducklake::DeleteFileRow*> wanted;
    for (const ducklake::DeleteFileRow& row : rows) {
      auto it = index_.find(row.data_file_id.value);
      if (it == index_.end() || chain_.empty()) continue;
      // Of no matter to any snapshot from the head on.
      const std::int64_t oldest = start_.is_first ? chain_.front() : start_.through.value;
      if (row.life.end && row.life.end->value <= oldest) continue;
      // The data file goes with all its deletes.
      if (out_[it->second].time.end <= oldest) continue;
      wanted.push_back(&row);
    }
    std::mutex mutex;  // guards the files' hidden runs
    return parallel_for(wanted.size(), kReaders, [&](std::size_t i) -> Status {
      const ducklake::DeleteFileRow& row = *wanted[i];
      std::vector<HiddenRun> runs;
      DIL_CHECK_OK(read_delete_file(row, runs));
      std::lock_guard lock(mutex);
      auto& hidden = out_[index_.at(row.data_file_id.value)].time.hidden;
      hidden.insert(hidden.end(), runs.begin(), runs.end());
      return {};
    });
  }

  Status read_delete_file(const ducklake::DeleteFileRow& row, std::vector<HiddenRun>& runs) {
    const std::int64_t to = row.life.end ? row.life.end->value : kNever;
    if (row.format == "puffin") {
      DIL_TRY(std::string key, context_.objects.key_of(row.path));
      DIL_TRY(std::string blob, context_.objects.get(key, kMaxDeletionVectorBytes));
      DIL_TRY(puffin::Positions positions, puffin::decode_deletion_vector(blob, kMaxPositions));
      for (std::int64_t position : positions)
        add_position(runs, position, row.life.begin.value, to);
      return {};
    }
    if (row.format != "parquet") {
      return make_error(Code::kUnsupported, "delete file {} has format {}", row.path, row.format);
    }
    DIL_TRY(std::vector<DeletedPosition> positions,
            context_.engine.read_position_deletes(row.path));
    for (const DeletedPosition& item : positions) {
      add_position(runs, item.position, item.snapshot_id.value_or(row.life.begin.value), to);
    }
    return {};
  }

  Status load_partial_rows() {
    DIL_CHECK_OK(parallel_for(partial_.size(), kReaders, [&](std::size_t i) -> Status {
      ChainFile& file = out_[partial_[i]];
      DIL_TRY(std::vector<SnapshotRun> runs,
              context_.engine.read_row_snapshots(file.entry.file.file_path));
      for (const SnapshotRun& run : runs) {
        if (run.snapshot_id <= chain_.front()) continue;
        file.time.hidden.push_back({run.first_position, run.count, kAlways, run.snapshot_id});
      }
      return {};
    }));
    return parallel_for(without_row_id_.size(), kReaders, [&](std::size_t i) -> Status {
      manifest::DataFile& file = out_[without_row_id_[i]].entry.file;
      DIL_TRY(file.first_row_id, context_.engine.read_min_row_id(file.file_path));
      return {};
    });
  }

  Status load_inlined() {
    std::set<std::int64_t> gone(start_.inlined_keys.begin(), start_.inlined_keys.end());
    if (context_.definition.inlined_tables.empty() && gone.empty()) return {};
    DIL_TRY(std::vector<store::InlinedFile> files,
            store::load_inlined_files(context_.connection, context_.lake, table().table_id));
    for (const ducklake::InlinedTable& inlined : context_.definition.inlined_tables) {
      DIL_TRY(std::vector<ducklake::InlinedRow> rows,
              store::load_inlined_rows(context_.connection, context_.lake, inlined));
      for (const InlinedGroup& group : group_inlined_rows(inlined, std::move(rows))) {
        DIL_CHECK_OK(add_inlined(group, files, gone));
      }
    }
    // Published, and no longer inside PostgreSQL: flushed (or expired) since.
    for (const store::InlinedFile& file : files) {
      if (gone.contains(file.key)) remove_from_head(file.key, file.path, kAlways);
    }
    return {};
  }

  Status add_inlined(const InlinedGroup& group, const std::vector<store::InlinedFile>& files,
                     std::set<std::int64_t>& gone) {
    const std::int64_t end = end_of(group);
    const auto known =
        std::find_if(files.begin(), files.end(), [&](const store::InlinedFile& file) {
          return file.inlined_table == group.table.name && file.begin == group.begin;
        });
    const bool is_in_head = known != files.end() && gone.contains(known->key);
    if (is_in_head) gone.erase(known->key);
    // No snapshot of the chain shows any of its rows.
    const auto shown_from = std::lower_bound(chain_.begin(), chain_.end(), group.begin.value);
    if (!is_in_head && (shown_from == chain_.end() || end <= *shown_from)) return {};
    store::InlinedFile file;
    if (known != files.end()) {
      file = *known;
    } else {
      DIL_TRY(file,
              synthesize(context_.connection, context_.lake, context_.definition, group,
                         context_.places, context_.unique, context_.objects, context_.engine));
      ++context_.inlined_files;
    }
    DIL_TRY(ducklake::DataFileRow row, as_data_file(file));
    DIL_TRY(std::size_t i, add_row(row, is_in_head));
    out_[i].time.end = end;
    out_[i].time.hidden = hidden_rows(file, group);
    return {};
  }

  const FileLoaderContext& context_;
  const ChainStart& start_;
  std::span<const std::int64_t> chain_;
  std::vector<ChainFile> out_;
  std::unordered_map<std::int64_t, std::size_t> index_;               // by key
  std::unordered_map<std::int64_t, translate::FileEntry> committed_;  // by data file id
  std::map<std::int64_t, std::vector<store::NanCount>> nans_;         // by data file id
  std::vector<std::size_t> partial_;
  std::vector<std::size_t> without_row_id_;
  std::vector<std::pair<std::size_t, std::int64_t>> mapped_;  // index and mapping_id
};

}  // namespace

Result<std::vector<ChainFile>> load_chain_files(const FileLoaderContext& context,
                                                const ChainStart& start,
                                                std::span<const std::int64_t> chain) {
  return Loader(context, start, chain).run();
}

}  // namespace duckicelake::catalog
