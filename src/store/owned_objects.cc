// SPDX-License-Identifier: Apache-2.0
#include "store/owned_objects.h"

#include <optional>
#include <unordered_set>

#include "store/paths.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kFolder =
    "SELECT t.table_uuid::text, coalesce(s.path, ''), coalesce(s.path_is_relative, true), "
    "coalesce(t.path, ''), coalesce(t.path_is_relative, true) FROM {schema}.ducklake_table t "
    "JOIN {schema}.ducklake_schema s USING (schema_id) WHERE t.table_id = $1 "
    "AND t.end_snapshot IS NULL";

constexpr Sql kSchemaFolders =
    "SELECT DISTINCT coalesce(path, ''), coalesce(path_is_relative, true) FROM "
    "{schema}.ducklake_schema";

constexpr Sql kOtherTables =
    "SELECT DISTINCT t.table_id, t.table_uuid::text, coalesce(s.path, ''), "
    "coalesce(s.path_is_relative, true), coalesce(t.path, ''), coalesce(t.path_is_relative, true) "
    "FROM {schema}.ducklake_table t JOIN {schema}.ducklake_schema s USING (schema_id) "
    "WHERE t.table_id <> $1";

constexpr Sql kFiles =
    "SELECT path, coalesce(path_is_relative, true) FROM {schema}.ducklake_data_file WHERE "
    "table_id = $1 UNION SELECT path, coalesce(path_is_relative, true) FROM "
    "{schema}.ducklake_delete_file WHERE table_id = $1";

constexpr Sql kNamedElsewhere =
    "SELECT path FROM {schema}.ducklake_data_file WHERE table_id <> $1 AND NOT path_is_relative "
    "AND path = ANY ($2::text[]) UNION SELECT path FROM {schema}.ducklake_delete_file WHERE "
    "table_id <> $1 AND NOT path_is_relative AND path = ANY ($2::text[])";

std::string as_folder(std::string path) {
  if (!path.ends_with('/')) path.push_back('/');
  return path;
}

bool overlap(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

struct OtherTable {
  std::int64_t id = 0;
  std::string folder;
};

class Search {
 public:
  Search(pg::Connection& connection, const Lake& lake, TableId table)
      : connection_(connection), lake_(lake), table_(table) {}

  Result<OwnedObjects> run() {
    DIL_CHECK_OK(read_folder());
    DIL_CHECK_OK(read_schemas());
    DIL_CHECK_OK(read_others());
    std::unordered_set<std::string> taken;
    for (const OtherTable& other : beside_) {
      DIL_TRY(std::vector<std::string> files, files_of(TableId(other.id), other.folder));
      taken.insert(std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
    }
    DIL_TRY(std::vector<std::string> own, files_of(table_, out_.folder));
    DIL_CHECK_OK(read_named_elsewhere(own, taken));
    for (std::string& file : own) {
      if (file.starts_with(out_.folder) && !taken.contains(file)) {
        out_.files.push_back(std::move(file));
      }
    }
    return std::move(out_);
  }

  Status read_folder() {
    DIL_TRY(pg::ResultSet rows, exec(kFolder, {table_}));
    if (rows.empty()) return Error(Code::kNoSuchTable, "Table does not exist any more");
    RowReader in(rows.row(0));
    out_.uuid = in.text();
    out_.folder = folder(in);
    return in.status();
  }

  const OwnedObjects& found() const { return out_; }

 private:
  Result<pg::ResultSet> exec(const Sql& sql, std::vector<Param> params) {
    return connection_.exec(
        Statement{pg::sql_for_schema(lake_.metadata_schema, sql), std::move(params)});
  }

  std::string folder(RowReader& in) const {
    const std::string schema_path = in.text();
    const bool schema_relative = in.boolean();
    const std::string path = in.text();
    const bool is_relative = in.boolean();
    return as_folder(
        join_path(join_path(lake_.data_path, schema_path, schema_relative), path, is_relative));
  }

  // A folder inside a table's folder; the table's own schema holds it, as it must.
  Status read_schemas() {
    if (lake_.data_path.starts_with(out_.folder)) out_.is_folder_shared = true;
    DIL_TRY(pg::ResultSet rows, exec(kSchemaFolders, {}));
    for (const pg::Row row : rows) {
      RowReader in(row);
      const std::string path = in.text();
      const bool is_relative = in.boolean();
      DIL_CHECK_OK(in.status());
      if (as_folder(join_path(lake_.data_path, path, is_relative)).starts_with(out_.folder)) {
        out_.is_folder_shared = true;
      }
    }
    return {};
  }

  Status read_others() {
    DIL_TRY(pg::ResultSet rows, exec(kOtherTables, {table_}));
    for (const pg::Row row : rows) {
      RowReader in(row);
      OtherTable other;
      other.id = in.int64();
      if (in.text() == out_.uuid) out_.is_uuid_shared = true;
      other.folder = folder(in);
      DIL_CHECK_OK(in.status());
      if (!overlap(other.folder, out_.folder)) continue;
      out_.is_folder_shared = true;
      beside_.push_back(std::move(other));
    }
    return {};
  }

  Result<std::vector<std::string>> files_of(TableId table, const std::string& folder) {
    DIL_TRY(pg::ResultSet rows, exec(kFiles, {table}));
    std::vector<std::string> out;
    out.reserve(rows.size());
    for (const pg::Row row : rows) {
      RowReader in(row);
      const std::string path = in.text();
      const bool is_relative = in.boolean();
      DIL_CHECK_OK(in.status());
      out.push_back(join_path(folder, path, is_relative));
    }
    return out;
  }

  Status read_named_elsewhere(const std::vector<std::string>& own,
                              std::unordered_set<std::string>& taken) {
    DIL_TRY(pg::ResultSet rows, exec(kNamedElsewhere, {table_, Param::text_array(own)}));
    for (const pg::Row row : rows) {
      DIL_TRY(const std::string_view path, row.text(0));
      taken.emplace(path);
    }
    return {};
  }

  pg::Connection& connection_;
  const Lake& lake_;
  const TableId table_;
  OwnedObjects out_;
  std::vector<OtherTable> beside_;
};

}  // namespace

Result<OwnedObjects> load_owned_objects(pg::Connection& connection, const Lake& lake,
                                        TableId table) {
  return Search(connection, lake, table).run();
}

Result<std::string> load_table_folder(pg::Connection& connection, const Lake& lake, TableId table) {
  Search search(connection, lake, table);
  DIL_CHECK_OK(search.read_folder());
  return search.found().folder;
}

}  // namespace duckicelake::store
