// SPDX-License-Identifier: Apache-2.0
#include "engine/parquet_reader.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "engine/field_ids.h"
#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

using catalog::DeletedPosition;
using catalog::SnapshotRun;

struct TopLevelColumn {
  std::string name;
  std::optional<std::int64_t> field_id;
};

// The columns of the file's root, without what is nested in them. parquet_schema lists the tree
// depth first.
Result<std::vector<TopLevelColumn>> top_level_columns(Session& session, const FileReference& file) {
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query("SELECT name::VARCHAR, field_id::BIGINT, "
                                   "coalesce(num_children, 0)::BIGINT FROM parquet_schema($1)",
                                   parameters, reading(file)));
  std::vector<TopLevelColumn> columns;
  std::vector<std::int64_t> open_children;  // of the nodes on the path from the root
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    while (!open_children.empty() && open_children.back() == 0) open_children.pop_back();
    if (open_children.size() == 1) {
      columns.push_back({rows.is_null(0) ? std::string() : std::string(rows.text(0)),
                         rows.is_null(1) ? std::nullopt : std::optional(rows.int64(1))});
    }
    if (!open_children.empty()) --open_children.back();
    open_children.push_back(rows.int64(2));
  }
  return columns;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The name of the column with one of the field ids, else of the one with the name; nullopt when
// there is none. DuckDB renames columns whose names differ by case only, so such a file is refused.
Result<std::optional<std::string>> find_column(const FileReference& file,
                                               std::span<const TopLevelColumn> columns,
                                               std::span<const std::int32_t> field_ids,
                                               std::string_view name) {
  std::optional<std::string> found;
  for (const TopLevelColumn& column : columns) {
    const auto is_id = [&](std::int32_t id) { return column.field_id == id; };
    if (!std::any_of(field_ids.begin(), field_ids.end(), is_id)) continue;
    if (found) return corrupt(file, "two columns carry the same reserved field id");
    found = column.name;
  }
  if (!found) {
    const auto has_name = [&](const TopLevelColumn& column) { return column.name == name; };
    const auto by_name = std::find_if(columns.begin(), columns.end(), has_name);
    if (by_name == columns.end()) return found;
    found = by_name->name;
  }
  const std::string wanted = lower(*found);
  const auto same = [&](const TopLevelColumn& column) { return lower(column.name) == wanted; };
  if (std::count_if(columns.begin(), columns.end(), same) != 1) {
    return corrupt(file, "two columns carry the same name");
  }
  return found;
}

Result<std::optional<std::string>> find_snapshot_column(const FileReference& file,
                                                        std::span<const TopLevelColumn> columns) {
  const std::int32_t ids[] = {field_ids::kSnapshotId};
  return find_column(file, columns, ids, field_ids::kSnapshotIdName);
}

// Unknown (no snapshot recorded) comes before every snapshot: such a delete holds from the start.
bool is_before(const DeletedPosition& a, const DeletedPosition& b) {
  return a.position != b.position ? a.position < b.position : a.snapshot_id < b.snapshot_id;
}

void sort_and_deduplicate(std::vector<DeletedPosition>& positions) {
  if (!std::is_sorted(positions.begin(), positions.end(), is_before)) {
    std::sort(positions.begin(), positions.end(), is_before);
  }
  const auto is_same = [](const DeletedPosition& a, const DeletedPosition& b) {
    return a.position == b.position;
  };
  positions.erase(std::unique(positions.begin(), positions.end(), is_same), positions.end());
}

}  // namespace

Operation reading(const FileReference& file) {
  return {fmt::format("reading {}", file.uri), Code::kCorruptData};
}

Error corrupt(const FileReference& file, std::string_view why) {
  return make_error(Code::kCorruptData, "{}: {}", file.uri, why);
}

Result<std::int64_t> check_row_count(Session& session, const FileReference& file,
                                     std::int64_t max_rows) {
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query("SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata($1)",
                                   parameters, reading(file)));
  DIL_TRY(const bool has_row, rows.next());
  if (!has_row || rows.is_null(0) || rows.int64(0) < 0) return corrupt(file, "no row count");
  if (rows.int64(0) > max_rows) {
    return make_error(Code::kPayloadTooLarge, "{}: {} rows are more than the limit of {}", file.uri,
                      rows.int64(0), max_rows);
  }
  return rows.int64(0);
}

Result<FileReference> resolve_file(const std::string& uri, const FileScope& scope) {
  if (uri.find('\0') != std::string::npos || !is_valid_utf8(uri)) {
    return invalid_argument("a file address holds bytes that are not text");
  }
  for (std::string_view scheme : {"s3://", "s3a://", "s3n://"}) {
    if (!uri.starts_with(scheme)) continue;
    std::string path = "s3://" + uri.substr(scheme.size());
    if (scope.allows_s3 && path.starts_with(scope.s3_prefix)) return FileReference{uri, path};
    return invalid_argument("{}: the file is not in the configured object store", uri);
  }
  if (scope.allows_local && uri.starts_with("/")) {
    return FileReference{uri, escape_local_glob(uri)};
  }
  return invalid_argument("{}: only s3:// addresses can be read", uri);
}

Result<std::vector<DeletedPosition>> read_position_deletes(Session& session,
                                                           const FileReference& file,
                                                           std::int64_t max_rows) {
  DIL_CHECK_OK(check_row_count(session, file, max_rows));
  DIL_TRY(const auto columns, top_level_columns(session, file));
  const std::int32_t position_ids[] = {field_ids::kIcebergDeletePosition,
                                       field_ids::kDucklakeDeletePosition};
  DIL_TRY(const auto position,
          find_column(file, columns, position_ids, field_ids::kDeletePositionName));
  if (!position) return corrupt(file, "a position-delete file without positions");
  DIL_TRY(const auto snapshot, find_snapshot_column(file, columns));
  const std::string sql = fmt::format(
      "SELECT {}::BIGINT, {}::BIGINT FROM read_parquet($1, {})", quote_identifier(*position),
      snapshot ? quote_identifier(*snapshot) : "NULL", kReadOptions);
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query(sql, parameters, reading(file)));
  std::vector<DeletedPosition> positions;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    if (rows.is_null(0) || rows.int64(0) < 0) return corrupt(file, "a position is null or below 0");
    if (static_cast<std::int64_t>(positions.size()) >= max_rows) {
      return corrupt(file, "more rows than its footer says");
    }
    positions.push_back(
        {rows.int64(0), rows.is_null(1) ? std::nullopt : std::optional(rows.int64(1))});
  }
  sort_and_deduplicate(positions);
  return positions;
}

Result<std::vector<SnapshotRun>> read_row_snapshots(Session& session, const FileReference& file,
                                                    std::int64_t max_rows) {
  DIL_TRY(const auto columns, top_level_columns(session, file));
  DIL_TRY(const auto snapshot, find_snapshot_column(file, columns));
  if (!snapshot) return std::vector<SnapshotRun>{};
  const std::string sql = fmt::format(
      "SELECT {}::BIGINT, file_row_number::BIGINT FROM read_parquet($1, {}, "
      "file_row_number := true)",
      quote_identifier(*snapshot), kReadOptions);
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query(sql, parameters, reading(file)));
  std::vector<SnapshotRun> runs;
  std::int64_t next_position = 0;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    if (rows.is_null(0)) return corrupt(file, "a row without its snapshot");
    if (rows.int64(1) != next_position) {
      return make_error(Code::kInternal, "{}: rows arrive out of order", file.uri);
    }
    if (!runs.empty() && runs.back().snapshot_id == rows.int64(0)) {
      ++runs.back().count;
    } else if (static_cast<std::int64_t>(runs.size()) >= max_rows) {
      return make_error(Code::kPayloadTooLarge, "{}: more than {} runs of rows", file.uri,
                        max_rows);
    } else {
      runs.push_back({next_position, 1, rows.int64(0)});
    }
    ++next_position;
  }
  return runs;
}

Result<std::optional<std::int64_t>> read_min_row_id(Session& session, const FileReference& file) {
  DIL_TRY(const auto columns, top_level_columns(session, file));
  const std::int32_t ids[] = {field_ids::kRowId};
  DIL_TRY(const auto row_id, find_column(file, columns, ids, field_ids::kRowIdName));
  if (!row_id) return std::optional<std::int64_t>{};
  const std::string sql = fmt::format("SELECT min({}::BIGINT) FROM read_parquet($1, {})",
                                      quote_identifier(*row_id), kReadOptions);
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query(sql, parameters, reading(file)));
  DIL_TRY(const bool has_row, rows.next());
  if (!has_row || rows.is_null(0)) return std::optional<std::int64_t>{};
  return std::optional(rows.int64(0));
}

Result<std::vector<catalog::DataEngine::NamedFieldId>> read_field_ids(Session& session,
                                                                      const FileReference& file) {
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query("SELECT name::VARCHAR, field_id::BIGINT FROM parquet_schema($1) "
                                   "WHERE field_id IS NOT NULL",
                                   parameters, reading(file)));
  std::vector<catalog::DataEngine::NamedFieldId> found;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    found.push_back({rows.is_null(0) ? std::string() : std::string(rows.text(0)), rows.int64(1)});
  }
  return found;
}

Result<std::vector<translate::ParquetNode>> read_schema(Session& session,
                                                        const FileReference& file) {
  const Parameter parameters[] = {file.path};
  DIL_TRY(Rows rows, session.query("SELECT name::VARCHAR, field_id::BIGINT, "
                                   "coalesce(num_children, 0)::BIGINT FROM parquet_schema($1)",
                                   parameters, reading(file)));
  std::vector<translate::ParquetNode> found;
  for (bool is_root = true;; is_root = false) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    if (is_root) continue;
    translate::ParquetNode& node = found.emplace_back();
    if (!rows.is_null(0)) node.name = rows.text(0);
    if (!rows.is_null(1)) node.field_id = rows.int64(1);
    node.children = rows.int64(2);
  }
  return found;
}

}  // namespace duckicelake::engine
