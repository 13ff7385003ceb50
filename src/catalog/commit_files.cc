// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "catalog/parallel.h"
#include "catalog/random_name.h"
#include "puffin/deletion_vector.h"
#include "store/name_mappings.h"
#include "translate/commit_stats.h"
#include "translate/name_mapping.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxVectorBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxPositions = std::size_t{1} << 31;
constexpr std::size_t kMaxPuffinBytes = std::size_t{1} << 30;
constexpr std::size_t kFooterThreads = 8;

using Positions = std::vector<std::int64_t>;

Positions united(const Positions& a, const Positions& b) {
  Positions out;
  out.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}
Positions without(const Positions& a, const Positions& b) {
  Positions out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Error as_client_fault(Error error) {
  if (error.code() == Code::kUnavailable || error.code() == Code::kDeadlineExceeded) return error;
  return std::move(error).with_code(Code::kInvalidArgument);
}

}  // namespace

std::int64_t PreparedFiles::rows() const {
  std::int64_t count = 0;
  for (const Added& item : added) count += item.file->record_count;
  return count;
}

Result<PreparedFiles> FilePreparer::prepare(const SnapshotDelta& delta, const Mode& mode) {
  new_positions_.clear();
  drops_old_.clear();
  PreparedFiles out;
  out.ends_everything = mode.ends_everything;
  DIL_CHECK_OK(read_new_positions(delta));
  DIL_CHECK_OK(load_targets(delta));
  DIL_CHECK_OK(take_removed(delta, out));
  DIL_CHECK_OK(take_added(delta, mode.revives_files, out));
  DIL_CHECK_OK(write_deletes(out));
  out.changes_rows = mode.ends_everything || !out.added.empty() || !out.ended.empty() ||
                     !out.ended_own.empty() || !out.deletes.empty() || !out.inlined_ends.empty();
  return out;
}

Status FilePreparer::read_new_positions(const SnapshotDelta& delta) {
  for (const manifest::DataFile& file : delta.removed_deletes) {
    if (file.referenced_data_file) drops_old_[*file.referenced_data_file] = true;
  }
  for (const auto& [path, positions] : delta.set_positions) {
    drops_old_[path] = true;
    new_positions_[path] = positions;
  }
  for (const auto& [path, positions] : delta.equal_positions) {
    Positions& all = new_positions_[path];
    all.insert(all.end(), positions.begin(), positions.end());
  }
  for (const AddedDataFiles& item : delta.added_deletes) {
    for (const manifest::ManifestEntry& entry : item.entries) {
      DIL_CHECK_OK(read_positions(entry.data_file));
    }
  }
  for (auto& [path, positions] : new_positions_) {
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }
  return {};
}

Status FilePreparer::read_positions(const manifest::DataFile& file) {
  if (file.content == manifest::Content::kEqualityDeletes) return {};  // see commit_equality.cc
  if (file.file_format != "PUFFIN") {
    auto read = world_.engine.read_client_position_deletes(file.file_path);
    if (!read.has_value()) {
      return as_client_fault(std::move(read).error().with_context("delete file " + file.file_path));
    }
    for (auto& [path, positions] : *read) {
      Positions& all = new_positions_[path];
      all.insert(all.end(), positions.begin(), positions.end());
    }
    return {};
  }
  const std::int64_t offset = file.content_offset.value_or(-1);
  const std::int64_t size = file.content_size_in_bytes.value_or(-1);
  if (offset < 0 || size <= 0 || size > static_cast<std::int64_t>(kMaxVectorBytes) ||
      offset > static_cast<std::int64_t>(kMaxPuffinBytes)) {
    return invalid_argument("deletion vector {}: offset or size out of range", file.file_path);
  }
  Result<std::string> key = world_.objects.key_of(file.file_path);
  if (!key.has_value()) return as_client_fault(std::move(key).error());
  auto blob = world_.objects.get_range(
      *key, {static_cast<std::uint64_t>(offset), static_cast<std::size_t>(size)});
  if (!blob.has_value()) return as_client_fault(std::move(blob).error());
  DIL_TRY(Positions positions, puffin::decode_deletion_vector(*blob, kMaxPositions));
  if (static_cast<std::int64_t>(positions.size()) != file.record_count) {
    return invalid_argument("deletion vector {}: its cardinality is not its record count",
                            file.file_path);
  }
  Positions& all = new_positions_[*file.referenced_data_file];
  all.insert(all.end(), positions.begin(), positions.end());
  return {};
}

// Finds the rows of the files that are removed or get deletes.
Status FilePreparer::load_targets(const SnapshotDelta& delta) {
  std::vector<std::string> paths;
  bool may_be_inlined = false;
  const auto want = [&](const std::string& path) {
    if (live_.contains(path) || own_.contains(path)) return;
    may_be_inlined = may_be_inlined || path.starts_with(world_.places.iceberg_only);
    paths.push_back(path);
  };
  for (const manifest::DataFile& file : delta.removed) want(file.file_path);
  for (const auto& [path, positions] : new_positions_) want(path);
  for (const auto& [path, drops] : drops_old_) want(path);
  DIL_TRY(std::vector<store::LiveFile> found,
          store::find_live_files(world_.connection, world_.lake, world_.definition.table, paths));
  for (store::LiveFile& file : found) {
    std::string path = file.path;
    live_.emplace(std::move(path), std::move(file));
  }
  if (may_be_inlined && !has_loaded_inlined_) {
    has_loaded_inlined_ = true;
    DIL_TRY(std::vector<store::InlinedFile> files,
            store::load_inlined_files(world_.connection, world_.lake,
                                      world_.definition.table.table_id));
    for (store::InlinedFile& file : files) {
      std::string path = file.path;
      inlined_.emplace(std::move(path), std::move(file));
    }
  }
  return {};
}

Status FilePreparer::take_removed(const SnapshotDelta& delta, PreparedFiles& out) {
  for (const manifest::DataFile& file : delta.removed) {
    const std::string& path = file.file_path;
    if (is_removed_[path]) return invalid_argument("{} is removed twice", path);
    is_removed_[path] = true;
    if (own_.contains(path)) {
      out.ended_own.push_back(path);
    } else if (const auto live = live_.find(path); live != live_.end()) {
      out.ended.push_back(live->second.id.value);
    } else if (const auto kept = inlined_.find(path); kept != inlined_.end()) {
      Positions all;
      for (std::int64_t i = 0; i < kept->second.record_count; ++i) all.push_back(i);
      DIL_CHECK_OK(end_inlined(kept->second, std::move(all), out));
    } else {
      return invalid_argument("{} is removed and is not part of the table", path);
    }
  }
  return {};
}

// Rows that ended earlier are left out: the client's positions may name them again.
Status FilePreparer::end_inlined(const store::InlinedFile& file, Positions positions,
                                 PreparedFiles& out) {
  ducklake::InlinedTable table;
  table.name = file.inlined_table;
  DIL_TRY(std::vector<ducklake::InlinedRow> rows,
          store::load_inlined_rows(world_.connection, world_.lake, table));
  std::unordered_map<std::int64_t, bool> live;
  for (const ducklake::InlinedRow& row : rows) {
    if (row.life.begin == file.begin && !row.life.end) live[row.row_id] = true;
  }
  PreparedFiles::InlinedEnd end{file.inlined_table, file.begin, {}};
  for (const std::int64_t position : positions) {
    if (position < 0 || position >= static_cast<std::int64_t>(file.row_ids.size())) continue;
    const std::int64_t row_id = file.row_ids[static_cast<std::size_t>(position)];
    if (live.contains(row_id)) end.row_ids.push_back(row_id);
  }
  if (!end.row_ids.empty()) out.inlined_ends.push_back(std::move(end));
  return {};
}

Status FilePreparer::take_added(const SnapshotDelta& delta, bool revives_files,
                                PreparedFiles& out) {
  std::vector<std::string> paths;
  for (const AddedDataFiles& item : delta.added) {
    out.manifests.push_back(&item);
    for (const manifest::ManifestEntry& entry : item.entries) {
      const manifest::DataFile& file = entry.data_file;
      if (!own_.emplace(file.file_path, &file).second) {
        return invalid_argument("{} is added twice", file.file_path);
      }
      // Paths without a scheme name no object, so none can be removed under another table either.
      if (file.file_path.find("://") != std::string::npos) paths.push_back(file.file_path);
      const auto kept = delta.kept_row_ids.find(file.file_path);
      out.added.push_back(
          {&file, world_.footers.find(file.file_path), item.header.spec.spec_id,
           kept == delta.kept_row_ids.end() ? std::nullopt : std::optional(kept->second),
           std::nullopt});
    }
  }
  DIL_TRY(std::vector<std::string> used,
          store::find_used_paths(
              world_.connection, world_.lake, world_.definition.table.table_id, paths,
              revives_files ? store::UsedBy::kLiveRows : store::UsedBy::kAnyRow));
  if (!used.empty()) {
    return invalid_argument("{} is, or was, part of a table already: a file can be added only once",
                            used.front());
  }
  return map_columns(out);
}

// Without field ids DuckLake takes the columns of a file by position, where Iceberg takes them by
// the names that the table's property gives. Only a table with the property can have such files.
Status FilePreparer::map_columns(PreparedFiles& out) {
  const auto property = world_.metadata.properties.find("schema.name-mapping.default");
  if (property == world_.metadata.properties.end()) return {};
  const iceberg::Schema* schema = nullptr;
  for (const iceberg::Schema& each : world_.metadata.schemas) {
    if (each.schema_id == world_.metadata.current_schema_id) schema = &each;
  }
  if (schema == nullptr) return {};
  std::vector<std::vector<ducklake::NameMappingRow>> found(out.added.size());
  DIL_CHECK_OK(parallel_for(out.added.size(), kFooterThreads, [&](std::size_t i) -> Status {
    const PreparedFiles::Added& item = out.added[i];
    const manifest::DataFile& file = *item.file;
    if (file.file_format != "PARQUET" || file.file_path.find("://") == std::string::npos) return {};
    auto nodes = world_.engine.read_schema(file.file_path);
    if (!nodes.has_value()) {
      // A scan fails as loudly.
      if (nodes.error().code() == Code::kNotFound) return {};
      return as_client_fault(std::move(nodes).error().with_context("data file " + file.file_path));
    }
    for (const translate::ParquetNode& node : *nodes) {
      if (node.field_id) return {};
    }
    for (const iceberg::PartitionSpec& spec : world_.metadata.partition_specs) {
      if (spec.spec_id != item.spec_id) continue;
      DIL_TRY(found[i], translate::map_by_name(property->second, *schema, spec, file, *nodes));
    }
    return {};
  }));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    const auto same = std::find(out.mappings.begin(), out.mappings.end(), found[i]);
    out.added[i].mapping = static_cast<std::size_t>(same - out.mappings.begin());
    if (same == out.mappings.end()) out.mappings.push_back(std::move(found[i]));
  }
  return {};
}

Status FilePreparer::load_old_positions() {
  std::vector<std::int64_t> ids;
  for (const auto& [path, positions] : new_positions_) {
    if (const auto it = live_.find(path); it != live_.end()) ids.push_back(it->second.id.value);
  }
  for (const auto& [path, drops] : drops_old_) {
    if (const auto it = live_.find(path); it != live_.end()) ids.push_back(it->second.id.value);
  }
  std::erase_if(ids, [&](std::int64_t id) { return old_positions_.contains(id); });
  if (ids.empty()) return {};
  for (const std::int64_t id : ids) old_positions_[id];
  DIL_TRY(
      std::vector<ducklake::DeleteFileRow> rows,
      store::load_delete_files_of(world_.connection, world_.lake, world_.definition.table, ids));
  for (const ducklake::DeleteFileRow& row : rows) {
    if (row.life.end) continue;
    Positions& positions = old_positions_[row.data_file_id.value];
    if (row.format == "puffin") {
      DIL_TRY(std::string key, world_.objects.key_of(row.path));
      DIL_TRY(std::string blob, world_.objects.get(key, kMaxVectorBytes));
      DIL_TRY(Positions read, puffin::decode_deletion_vector(blob, kMaxPositions));
      positions = united(positions, read);
      continue;
    }
    DIL_TRY(std::vector<DeletedPosition> read, world_.engine.read_position_deletes(row.path));
    Positions plain;
    for (const DeletedPosition& item : read) plain.push_back(item.position);
    positions = united(positions, plain);
  }
  if (!world_.definition.has_inlined_deletes) return {};
  DIL_TRY(std::vector<ducklake::InlinedDelete> inlined,
          store::load_inlined_deletes(world_.connection, world_.lake,
                                      world_.definition.table.table_id, ids));
  for (const ducklake::InlinedDelete& item : inlined) {
    inlined_positions_[item.data_file_id.value].push_back(item.position);
  }
  for (auto& [id, positions] : inlined_positions_) {
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }
  return {};
}

Status FilePreparer::write_deletes(PreparedFiles& out) {
  // A removed delete file without a new one for the same data file gives the rows back.
  for (const auto& [path, drops] : drops_old_) {
    if (!new_positions_.contains(path) && !is_removed_[path]) new_positions_[path];
  }
  DIL_CHECK_OK(load_old_positions());
  for (auto& [path, fresh] : new_positions_) {
    if (is_removed_[path]) continue;  // the file goes with all its deletes
    if (const auto kept = inlined_.find(path); kept != inlined_.end()) {
      DIL_CHECK_OK(end_inlined(kept->second, fresh, out));
      continue;
    }
    PreparedFiles::Deletes item;
    item.data_path = path;
    const auto live = live_.find(path);
    const auto own = own_.find(path);
    if (live == live_.end() && own == own_.end()) {
      return invalid_argument("rows of {} are deleted, which is not part of the table", path);
    }
    const bool drops = drops_old_.contains(path);
    Positions base;
    std::int64_t records = 0;
    if (live != live_.end()) {
      const std::int64_t id = live->second.id.value;
      item.data_file = live->second.id;
      item.replaces = live->second.live_delete_file;
      records = live->second.record_count;
      const Positions& inlined = inlined_positions_[id];
      if (drops && !std::includes(fresh.begin(), fresh.end(), inlined.begin(), inlined.end())) {
        return make_error(Code::kUnsupported,
                          "rows of {} that DuckLake keeps as deleted cannot be given back", path);
      }
      base = drops ? Positions() : old_positions_[id];
      fresh = without(fresh, inlined);
      old_positions_[id] = united(base, fresh);
    } else {
      records = own->second->record_count;
    }
    if (const auto before = own_positions_.find(path); before != own_positions_.end()) {
      item.replaces_own = true;
      item.replaces.reset();
      if (!drops) base = united(base, before->second);
    }
    while (!fresh.empty() && fresh.back() >= records) fresh.pop_back();
    const Positions all = united(base, fresh);
    if (all == base && !drops) continue;  // nothing that was not deleted before
    if (!all.empty()) {
      DIL_TRY(WrittenParquet written, world_.engine.write_position_deletes(path, all));
      item.path = fmt::format("{}/{}-delete.parquet", world_.places.location, random_uuid());
      DIL_TRY(std::string key, world_.objects.key_of(item.path));
      item.count = static_cast<std::int64_t>(all.size());
      item.footer_size = written.footer_size;
      item.object = objstore::PutObject{std::move(key), std::move(written.bytes), {}};
    } else if (!item.replaces && !item.replaces_own) {
      continue;
    }
    own_positions_[path] = all;
    out.deletes.push_back(std::move(item));
  }
  return {};
}

Status write_files(pg::Transaction& transaction, const store::Lake& lake,
                   const ducklake::TableRow& table, const PreparedFiles& files,
                   const FilingRules& rules, SnapshotId snapshot, std::int64_t next_file_id,
                   std::span<const ducklake::InlinedTable> inlined, OwnIds& own_ids,
                   std::optional<store::TableStatistics>& statistics) {
  if (files.ends_everything) {
    DIL_CHECK_OK(store::end_all_files(transaction, lake, table.table_id, snapshot, inlined));
  }
  std::vector<std::int64_t> ended = files.ended;
  for (const std::string& path : files.ended_own) ended.push_back(own_ids.data.at(path));
  DIL_CHECK_OK(store::end_data_files(transaction, lake, table.table_id, snapshot, ended));
  for (const PreparedFiles::InlinedEnd& end : files.inlined_ends) {
    DIL_CHECK_OK(
        store::end_inlined_rows(transaction, lake, end.table, end.begin, snapshot, end.row_ids));
  }
  if (!files.added.empty()) {
    if (!statistics) {
      DIL_TRY(statistics, store::load_statistics(transaction, lake, table.table_id));
    }
    const store::TableStatistics now = *std::exchange(statistics, std::nullopt);
    store::TableTotals totals = now.totals.value_or(store::TableTotals{});
    std::vector<std::int64_t> mapping_ids;
    for (const auto& mapping : files.mappings) {
      mapping_ids.push_back(next_file_id++);
      DIL_CHECK_OK(store::insert_name_mapping(transaction, lake, table.table_id, mapping_ids.back(),
                                              mapping));
    }
    std::vector<store::NewDataFile> rows;
    std::vector<translate::ClientFile> added;
    for (const PreparedFiles::Added& item : files.added) {
      store::NewDataFile row;
      row.id = next_file_id++;
      row.path = item.file->file_path;
      row.record_count = item.file->record_count;
      row.file_size_bytes = item.file->file_size_in_bytes;
      row.row_id_start = totals.next_row_id;
      if (rules.partition_id && item.spec_id == rules.partition_spec) {
        for (const iceberg::PartitionSpec& spec : rules.specs) {
          if (spec.spec_id != item.spec_id) continue;
          if (auto values = translate::partition_texts(*item.file, spec, rules.schema)) {
            row.partition_id = rules.partition_id;
            row.partition_values = std::move(*values);
          }
        }
      }
      added.push_back({item.file, item.facts});
      row.stats = translate::file_stats(added.back(), rules.schema);
      if (item.mapping) row.mapping_id = mapping_ids[*item.mapping];
      if (item.row_id_start) {
        row.row_id_start = *item.row_id_start;
      } else {
        totals.next_row_id += row.record_count;
      }
      totals.record_count += row.record_count;
      totals.file_size_bytes += row.file_size_bytes;
      own_ids.data[row.path] = row.id;
      rows.push_back(std::move(row));
    }
    DIL_CHECK_OK(store::insert_data_files(transaction, lake, table, snapshot, rows));
    const translate::MergedStats merged = translate::merge_table_stats(
        now.columns, !now.totals.has_value(), rules.schema, rules.hidden, added);
    DIL_CHECK_OK(
        store::save_totals(transaction, lake, table.table_id, totals, !now.totals.has_value()));
    DIL_CHECK_OK(store::save_column_stats(transaction, lake, table.table_id, merged.changed,
                                          merged.forgotten));
    std::size_t first = 0;
    for (const AddedDataFiles* item : files.manifests) {
      std::vector<std::int64_t> ids;
      for (std::size_t i = 0; i < item->entries.size(); ++i) ids.push_back(rows[first + i].id);
      first += item->entries.size();
      DIL_TRY(std::string bytes, manifest::encode_manifest(item->header, item->entries));
      DIL_CHECK_OK(
          store::insert_committed_files(transaction, lake, table.table_id, ids, std::move(bytes)));
    }
  }
  for (const PreparedFiles::Deletes& item : files.deletes) {
    store::NewDeleteFile row;
    row.id = next_file_id++;
    row.data_file = item.data_file.value_or(DataFileId(-1));
    if (!item.data_file) row.data_file = DataFileId(own_ids.data.at(item.data_path));
    row.replaces = item.replaces;
    if (item.replaces_own) row.replaces = own_ids.deletes.at(item.data_path);
    if (!item.object) {
      const std::array<std::int64_t, 1> ids = {*row.replaces};
      DIL_CHECK_OK(store::end_delete_files(transaction, lake, table.table_id, snapshot, ids));
      continue;
    }
    row.path = item.path;
    row.delete_count = item.count;
    row.file_size_bytes = static_cast<std::int64_t>(item.object->bytes.size());
    row.footer_size = item.footer_size;
    DIL_CHECK_OK(store::insert_delete_file(transaction, lake, table, snapshot, row));
    own_ids.deletes[item.data_path] = row.id;
  }
  return {};
}

}  // namespace duckicelake::catalog
