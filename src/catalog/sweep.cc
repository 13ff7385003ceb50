// SPDX-License-Identifier: Apache-2.0
#include "catalog/sweep.h"

#include <algorithm>
#include <map>
#include <set>

#include "catalog/sweep_names.h"
#include "catalog/table_lock.h"
#include "catalog/table_places.h"
#include "pg/transaction.h"
#include "store/maintenance.h"
#include "store/paths.h"
#include "store/side_files.h"

namespace duckicelake::catalog {
namespace {

constexpr std::int64_t kPage = 1000;
constexpr std::string_view kMetadata = "metadata/";
constexpr std::string_view kVersionHint = "version-hint.text";
constexpr TableId kNoTable(-1);

enum class Kind : std::uint8_t { kProjected, kIcebergOnly, kData };

struct Candidate {
  Kind kind = Kind::kData;
  std::string key;
  std::string uri;
  std::uint64_t size = 0;
};

// Where objects are looked for.
struct Place {
  std::string folder;  // absolute URI ending in '/'
  bool is_metadata_only = false;
};

bool is_data_file(std::string_view uri) {
  return uri.ends_with(".parquet") || uri.ends_with(".puffin") || uri.ends_with(".avro");
}

std::string folder_of(const std::string& uri) { return uri.substr(0, uri.rfind('/') + 1); }

class Sweep {
 public:
  Sweep(const Backends& backends, const SweepOptions& options, pg::Deadline until)
      : backends_(backends),
        lake_(backends.lake),
        options_(options),
        until_(until),
        newest_(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) -
                options.grace),
        names_(backends.lake, backends.objects) {}

  Result<SweepReport> run() {
    DIL_TRY(lease_, backends_.pool.acquire(until_));
    (*lease_)->set_deadline(until_);
    DIL_CHECK_OK(load());
    DIL_CHECK_OK(sweep_inlined_rows());
    DIL_CHECK_OK(sweep_side_files());
    for (const Place& place : places_) DIL_CHECK_OK(sweep_place(place));
    DIL_CHECK_OK(sweep_iceberg_only());
    DIL_CHECK_OK(sweep_revived());
    // The rows of dead tables and views say where their metadata is: they go last.
    DIL_CHECK_OK(forget_views());
    DIL_TRY(const store::DeadRows rows,
            store::sweep_dead_rows(
                connection(), lake_, options_.grace.count(),
                options_.is_dry_run ? store::DeadRowsMode::kCount : store::DeadRowsMode::kRemove));
    report_.dead_tables = rows.tables;
    report_.committed_files = rows.committed_files;
    report_.committed_manifests = rows.committed_manifests;
    return std::move(report_);
  }

 private:
  pg::Connection& connection() { return **lease_; }

  Status check_time() const {
    if (!pg::has_passed(until_)) return {};
    return Error(Code::kDeadlineExceeded, "the sweep takes too long; run it again to go on");
  }

  Status load() {
    DIL_TRY(folders_, store::load_table_folders(connection(), lake_));
    std::set<std::int64_t> tables;
    for (const store::TableFolder& folder : folders_) {
      tables.insert(folder.table.value);
      if (folder.folder.starts_with("s3://")) places_.push_back({folder.folder, false});
    }
    DIL_TRY(views_, store::load_view_locations(connection(), lake_));
    for (const store::ViewLocation& view : views_) {
      if (view.is_known) names_.add(view.metadata_location);
      add_metadata_folder(view.metadata_location);
    }
    DIL_TRY(const std::vector<std::string> dead, store::load_dead_locations(connection(), lake_));
    for (const std::string& location : dead) {
      const std::string folder = folder_of(location);
      if (!folder.starts_with(lake_.data_path) || !folder.ends_with(kMetadata)) continue;
      // The table's folder, which only the sidecar knows of now.
      store::TableFolder gone{kNoTable, "", "", false};
      gone.folder = folder.substr(0, folder.size() - kMetadata.size());
      places_.push_back({gone.folder, false});
      folders_.push_back(std::move(gone));
    }
    // Dropped tables too, as long as DuckLake knows them: they can be registered again.
    for (const std::int64_t table : tables) {
      DIL_CHECK_OK(check_time());
      DIL_CHECK_OK(names_.add_table(connection(), TableId(table)));
    }
    drop_nested_places();
    return {};
  }

  void add_metadata_folder(const std::string& location) {
    const std::string folder = folder_of(location);
    // Elsewhere a client chose the place, which may hold what is none of ours.
    if (folder.starts_with(lake_.data_path) && folder.ends_with(kMetadata)) {
      places_.push_back({folder, true});
    }
  }

  // Each object is to be looked at once.
  void drop_nested_places() {
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      return std::tie(a.folder, a.is_metadata_only) < std::tie(b.folder, b.is_metadata_only);
    });
    std::vector<Place> kept;
    for (Place& place : places_) {
      if (kept.empty() || !place.folder.starts_with(kept.back().folder)) {
        kept.push_back(std::move(place));
      }
    }
    places_ = std::move(kept);
  }

  std::optional<Kind> kind_below(const Place& place, std::string_view uri) const {
    bool is_metadata = place.is_metadata_only;
    bool is_of_table = false;  // that DuckLake has a row of
    for (const store::TableFolder& folder : folders_) {
      if (!uri.starts_with(folder.folder)) continue;
      if (!uri.substr(folder.folder.size()).starts_with(kMetadata)) continue;
      is_metadata = true;
      is_of_table = is_of_table || folder.table != kNoTable;
    }
    if (is_metadata) {
      if (is_of_table && uri.ends_with(kVersionHint)) return std::nullopt;
      return Kind::kProjected;
    }
    if (is_data_file(uri)) return Kind::kData;
    return std::nullopt;
  }

  Status sweep_place(const Place& place) {
    return list(place.folder, [&](std::string_view uri) { return kind_below(place, uri); });
  }

  Status sweep_iceberg_only() {
    ducklake::TableRow none;
    none.path = lake_.data_path;
    DIL_TRY(const TablePlaces places, places_of(lake_, none));
    std::string base = places.iceberg_only;  // ".../<catalog>//": no uuid
    while (base.ends_with('/')) base.pop_back();
    base.push_back('/');
    return list(base, [&](std::string_view uri) -> std::optional<Kind> {
      const std::string_view rest = uri.substr(base.size());
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) return std::nullopt;
      const std::string_view below = rest.substr(slash + 1);
      const bool is_ours = below.starts_with("deletes/") || below.starts_with("inlined/");
      return is_ours ? std::optional(Kind::kIcebergOnly) : std::nullopt;
    });
  }

  template <class F>
  Status list(const std::string& folder, F kind_of) {
    Result<std::string> prefix = backends_.objects.key_of(folder);
    if (!prefix.has_value()) return {};  // another bucket's
    std::string continuation;
    while (true) {
      DIL_CHECK_OK(check_time());
      DIL_TRY(objstore::ListPage page, backends_.objects.list(*prefix, continuation));
      std::vector<Candidate> candidates, young;
      for (objstore::ObjectInfo& object : page.objects) {
        std::string uri = backends_.objects.uri_of(object.key);
        const std::optional<Kind> kind = kind_of(uri);
        if (!kind || names_.has(uri)) continue;
        std::vector<Candidate>& list = object.last_modified > newest_ ? young : candidates;
        list.push_back({*kind, std::move(object.key), std::move(uri), object.size});
      }
      DIL_CHECK_OK(drop_known(young));
      report_.young += static_cast<std::int64_t>(young.size());
      for (const Candidate& item : young) young_folders_.insert(folder_of(item.uri));
      DIL_CHECK_OK(drop_known(candidates));
      DIL_CHECK_OK(remove(std::move(candidates)));
      if (!page.continuation) return {};
      continuation = *page.continuation;
    }
  }

  std::set<std::int64_t> tables_of(const std::vector<Candidate>& candidates) const {
    std::set<std::int64_t> out;
    for (const store::TableFolder& folder : folders_) {
      if (!folder.is_live || out.contains(folder.table.value)) continue;
      const bool is_touched =
          std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& item) {
            return item.kind == Kind::kIcebergOnly
                       ? item.uri.find("/" + folder.uuid + "/") != std::string::npos
                       : item.uri.starts_with(folder.folder);
          });
      if (is_touched) out.insert(folder.table.value);
    }
    return out;
  }

  Status remove(std::vector<Candidate> candidates) {
    if (candidates.empty()) return {};
    // In the order of their ids, as commits do.
    const std::set<std::int64_t> tables = tables_of(candidates);
    std::vector<TableLock> locks;
    locks.reserve(tables.size());
    if (!options_.is_dry_run) {
      for (const std::int64_t table : tables) {
        locks.emplace_back(*lease_, lake_, TableId(table));
        DIL_CHECK_OK(locks.back().take());
      }
    }
    for (const std::int64_t table : tables) {
      DIL_TRY(const bool is_stale, names_.is_stale(connection(), TableId(table)));
      if (is_stale) DIL_CHECK_OK(names_.add_table(connection(), TableId(table)));
    }
    std::erase_if(candidates, [&](const Candidate& item) { return names_.has(item.uri); });
    DIL_CHECK_OK(drop_known(candidates));
    if (!options_.is_dry_run && !candidates.empty()) {
      std::vector<std::string> keys;
      for (const Candidate& item : candidates) keys.push_back(item.key);
      for (Status& removed : backends_.objects.remove_many(keys)) {
        if (!removed.has_value()) return std::move(removed).error();
      }
    }
    for (const Candidate& item : candidates) count(item);
    return {};
  }

  void count(const Candidate& item) {
    switch (item.kind) {
      case Kind::kProjected: ++report_.metadata_files; break;
      case Kind::kIcebergOnly: ++report_.iceberg_files; break;
      case Kind::kData: ++report_.data_files; break;
    }
    report_.bytes += static_cast<std::int64_t>(item.size);
    if (report_.names.size() < options_.max_names) report_.names.push_back(item.uri);
  }

  // All forms in which a row may hold the path.
  void add_forms(const std::string& uri, std::set<std::string>& forms) const {
    forms.insert(uri);
    if (uri.starts_with(lake_.data_path)) forms.insert(uri.substr(lake_.data_path.size()));
    for (const store::TableFolder& folder : folders_) {
      if (uri.starts_with(folder.folder)) forms.insert(uri.substr(folder.folder.size()));
    }
  }

  // The addresses that a row may mean: a table's folder may have changed.
  template <class F>
  void resolve(const store::PathRow& row, F f) const {
    if (!row.is_relative) return f(row.path);
    if (!row.table) return f(lake_.data_path + row.path);
    for (const store::TableFolder& folder : folders_) {
      if (folder.table == *row.table) f(folder.folder + row.path);
    }
  }

  // Those that a row of any table names stay.
  Status drop_known(std::vector<Candidate>& candidates) {
    if (candidates.empty()) return {};
    std::set<std::string> forms;
    for (const Candidate& item : candidates) {
      // Metadata is no row's; a table's data may lie in a folder that is called so.
      if (is_data_file(item.uri)) add_forms(item.uri, forms);
    }
    const std::vector<std::string> list(forms.begin(), forms.end());
    DIL_TRY(const std::vector<store::PathRow> rows,
            store::find_path_rows(connection(), lake_, list));
    std::set<std::string> known;
    for (const store::PathRow& row : rows) {
      resolve(row, [&](std::string uri) {
        if (row.table || !unlisted_.contains(uri)) known.insert(std::move(uri));
      });
      // A table that was made since the folders were read: its row's path alone tells.
      if (row.is_relative && row.table && !is_known(*row.table)) known_tails_.insert(row.path);
    }
    std::erase_if(candidates, [&](const Candidate& item) {
      return known.contains(item.uri) ||
             std::any_of(known_tails_.begin(), known_tails_.end(),
                         [&](const std::string& tail) { return item.uri.ends_with(tail); });
    });
    return {};
  }

  bool is_known(TableId table) const {
    return std::any_of(folders_.begin(), folders_.end(),
                       [&](const store::TableFolder& f) { return f.table == table; });
  }

  // Rows about Parquet of inlined rows that no published snapshot shows any more. A projection that
  // needs one again makes it anew.
  Status sweep_inlined_rows() {
    std::set<std::int64_t> tables;
    for (const store::TableFolder& folder : folders_) {
      if (folder.is_live) tables.insert(folder.table.value);
    }
    for (const std::int64_t id : tables) {
      DIL_CHECK_OK(check_time());
      const TableId table(id);
      DIL_TRY(std::vector<store::InlinedFileName> files,
              store::load_inlined_names(connection(), lake_, table));
      const auto is_named = [&](const store::InlinedFileName& f) { return names_.has(f.path); };
      std::erase_if(files, is_named);
      if (files.empty()) continue;
      TableLock lock(*lease_, lake_, table);
      if (!options_.is_dry_run) DIL_CHECK_OK(lock.take());
      DIL_TRY(const bool is_stale, names_.is_stale(connection(), table));
      if (is_stale) DIL_CHECK_OK(names_.add_table(connection(), table));
      std::erase_if(files, is_named);
      std::vector<std::int64_t> keys;
      for (const store::InlinedFileName& file : files) keys.push_back(file.key);
      report_.inlined_files += static_cast<std::int64_t>(keys.size());
      if (options_.is_dry_run) continue;
      DIL_CHECK_OK(store::remove_inlined_files(connection(), lake_, table, keys));
    }
    return {};
  }

  Status sweep_side_files() {
    std::string after;
    while (true) {
      DIL_CHECK_OK(check_time());
      DIL_TRY(const std::vector<store::ListedSideFile> page,
              store::load_side_files(connection(), lake_, after, kPage));
      if (page.empty()) return {};
      after = page.back().path;
      std::map<std::int64_t, std::vector<std::string>> unnamed;
      for (const store::ListedSideFile& file : page) {
        if (!names_.has_side(file.path)) unnamed[file.table.value].push_back(file.path);
      }
      for (auto& [id, paths] : unnamed) DIL_CHECK_OK(forget_side(TableId(id), std::move(paths)));
    }
  }

  Status forget_side(TableId table, std::vector<std::string> paths) {
    TableLock lock(*lease_, lake_, table);
    if (!options_.is_dry_run) DIL_CHECK_OK(lock.take());
    DIL_TRY(const bool is_stale, names_.is_stale(connection(), table));
    if (is_stale) DIL_CHECK_OK(names_.add_table(connection(), table));
    std::erase_if(paths, [&](const std::string& path) { return names_.has_side(path); });
    DIL_CHECK_OK(keep_for_main(paths));
    report_.side_files += static_cast<std::int64_t>(paths.size());
    if (options_.is_dry_run) unlisted_.insert(paths.begin(), paths.end());
    if (options_.is_dry_run || paths.empty()) return {};
    pg::Transaction transaction(connection());
    DIL_CHECK_OK(store::forget_side_files(transaction, lake_, paths));
    return transaction.commit();
  }

  // Files that DuckLake let go, and that published snapshots of main name still, stay listed:
  // nothing else keeps their objects.
  Status keep_for_main(std::vector<std::string>& paths) {
    std::set<std::string> forms;
    for (const std::string& path : paths) {
      if (names_.has(path)) add_forms(path, forms);
    }
    const std::vector<std::string> list(forms.begin(), forms.end());
    DIL_TRY(const std::vector<store::PathRow> rows,
            store::find_path_rows(connection(), lake_, list));
    std::set<std::string> in_lake;
    for (const store::PathRow& row : rows) {
      if (row.table) resolve(row, [&](std::string uri) { in_lake.insert(std::move(uri)); });
    }
    std::erase_if(paths, [&](const std::string& path) {
      return names_.has(path) && !in_lake.contains(path);
    });
    return {};
  }

  // A path is passed over only while two tables' rows name it: the dropped one's and the one's that
  // took it. After that its own rows decide again.
  Status sweep_revived() {
    DIL_TRY(const std::vector<std::string> paths, store::load_revived(connection(), lake_));
    std::vector<std::string> done;
    for (std::size_t begin = 0; begin < paths.size(); begin += kPage) {
      const std::size_t end = std::min<std::size_t>(begin + kPage, paths.size());
      std::set<std::string> forms;
      for (std::size_t i = begin; i < end; ++i) add_forms(absolute(paths[i]), forms);
      const std::vector<std::string> list(forms.begin(), forms.end());
      DIL_TRY(const std::vector<store::PathRow> rows,
              store::find_path_rows(connection(), lake_, list));
      std::map<std::string, std::set<std::int64_t>> tables;
      for (const store::PathRow& row : rows) {
        if (!row.table) continue;
        resolve(row, [&](const std::string& uri) { tables[uri].insert(row.table->value); });
      }
      for (std::size_t i = begin; i < end; ++i) {
        if (tables[absolute(paths[i])].size() <= 1) done.push_back(paths[i]);
      }
    }
    report_.revived_paths = static_cast<std::int64_t>(done.size());
    if (options_.is_dry_run) return {};
    return store::forget_revived(connection(), lake_, done);
  }

  // As long as one of its files is young, the view is kept in mind.
  Status forget_views() {
    if (options_.is_dry_run) return {};
    std::vector<std::string> gone;
    for (const store::ViewLocation& view : views_) {
      if (!view.is_known && !young_folders_.contains(folder_of(view.metadata_location))) {
        gone.push_back(view.metadata_location);
      }
    }
    return store::forget_dead_views(connection(), lake_, gone);
  }

  std::string absolute(const std::string& path) const {
    return path.find("://") == std::string::npos ? lake_.data_path + path : path;
  }

  const Backends& backends_;
  const store::Lake& lake_;
  const SweepOptions& options_;
  const pg::Deadline until_;
  const std::chrono::sys_seconds newest_;  // what was written later is left alone
  std::optional<pg::Lease> lease_;
  SweepNames names_;
  std::vector<store::TableFolder> folders_;
  std::vector<Place> places_;
  std::vector<store::ViewLocation> views_;
  std::set<std::string> young_folders_;
  std::set<std::string> unlisted_;  // dry run: files beside main that would be let go
  std::set<std::string> known_tails_;
  SweepReport report_;
};

}  // namespace

Result<SweepReport> sweep_orphans(const Backends& backends, const SweepOptions& options,
                                  pg::Deadline until) {
  return Sweep(backends, options, until).run();
}

}  // namespace duckicelake::catalog
