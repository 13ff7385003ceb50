// SPDX-License-Identifier: Apache-2.0
// Equality deletes (spec "Equality Delete Files") name rows by value. DuckLake has deletes by
// position only, so a commit looks the rows up in the data files that the deletes apply to: older
// ones, of the same partition, or all when the delete file's spec is unpartitioned.
#include <algorithm>
#include <map>
#include <mutex>

#include "catalog/commit_table.h"
#include "catalog/parallel.h"
#include "iceberg/value.h"
#include "translate/column_types.h"
#include "translate/value_text.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kScanners = 2;

struct EqualityFile {
  const manifest::DataFile* file = nullptr;
  const iceberg::PartitionSpec* spec = nullptr;
};

bool has_equality_deletes(const SnapshotDelta& delta) {
  for (const AddedDataFiles& item : delta.added_deletes) {
    for (const manifest::ManifestEntry& entry : item.entries) {
      if (entry.data_file.content == manifest::Content::kEqualityDeletes) return true;
    }
  }
  return false;
}

const iceberg::ValueBytes* bound(const manifest::BoundMap& bounds, std::int32_t id) {
  for (const auto& [key, value] : bounds) {
    if (key == id) return &value;
  }
  return nullptr;
}

std::int64_t count(const manifest::CountMap& counts, std::int32_t id, std::int64_t otherwise) {
  for (const auto& [key, value] : counts) {
    if (key == id) return value;
  }
  return otherwise;
}

// False only when no row of the data file can equal one of the delete file in this column.
bool may_meet(const manifest::DataFile& data, const manifest::DataFile& deletes,
              const iceberg::Field& field) {
  const std::int32_t id = field.id.value;
  if (count(data.null_value_counts, id, 1) > 0 && count(deletes.null_value_counts, id, 1) > 0) {
    return true;
  }
  const bool is_float =
      field.type.kind == iceberg::TypeKind::kFloat || field.type.kind == iceberg::TypeKind::kDouble;
  const auto* data_low = bound(data.lower_bounds, id);
  const auto* data_high = bound(data.upper_bounds, id);
  const auto* delete_low = bound(deletes.lower_bounds, id);
  const auto* delete_high = bound(deletes.upper_bounds, id);
  if (is_float || data_low == nullptr || data_high == nullptr || delete_low == nullptr ||
      delete_high == nullptr) {
    return true;
  }
  const auto a = iceberg::widen_bound(field.type, *data_low);
  const auto b = iceberg::widen_bound(field.type, *data_high);
  const auto c = iceberg::widen_bound(field.type, *delete_low);
  const auto d = iceberg::widen_bound(field.type, *delete_high);
  if (!a || !b || !c || !d) return true;
  return iceberg::compare_values(field.type, *a, *d) <= 0 &&
         iceberg::compare_values(field.type, *c, *b) <= 0;
}

}  // namespace

Status TableWork::resolve_equality_deletes() {
  const bool any = std::any_of(steps_.begin(), steps_.end(),
                               [](const MainStep& s) { return has_equality_deletes(s.delta); });
  if (!any) return {};
  LiveSet live;
  if (view_ && view_->state().main()) {
    std::vector<manifest::ManifestFile> head;
    for (const translate::HeadManifest& item : view_->state().head.manifests) {
      head.push_back(item.file);
    }
    DIL_TRY(live, load_live_set(deps_.objects, head));
  }
  for (MainStep& step : steps_) {
    if (step.ends_everything) live = LiveSet();
    for (const manifest::DataFile& file : step.delta.removed) live.data.erase(file.file_path);
    if (has_equality_deletes(step.delta)) DIL_CHECK_OK(match_equality_deletes(step, live));
    for (const AddedDataFiles& item : step.delta.added) {
      for (const manifest::ManifestEntry& entry : item.entries) {
        live.data[entry.data_file.file_path] = LiveSet::File{entry, item.header};
      }
    }
  }
  return {};
}

Status TableWork::match_equality_deletes(MainStep& step, const LiveSet& live) {
  std::map<std::vector<std::int32_t>, std::vector<EqualityFile>> by_columns;
  for (const AddedDataFiles& item : step.delta.added_deletes) {
    for (const manifest::ManifestEntry& entry : item.entries) {
      const manifest::DataFile& file = entry.data_file;
      if (file.content != manifest::Content::kEqualityDeletes) continue;
      std::vector<std::int32_t> ids = file.equality_ids;
      std::sort(ids.begin(), ids.end());
      by_columns[ids].push_back({&file, &item.header.spec});
    }
  }
  const iceberg::Schema* schema = nullptr;
  for (const iceberg::Schema& item : metadata_.schemas) {
    if (item.schema_id == metadata_.current_schema_id) schema = &item;
  }
  std::mutex mutex;  // guards the step's positions
  for (const auto& [ids, files] : by_columns) {
    std::vector<EqualityColumn> columns;
    std::vector<const iceberg::Field*> fields;
    for (const std::int32_t id : ids) {
      const iceberg::Field* field = schema->find(FieldId(id));
      if (field == nullptr || !field->type.is_primitive()) {
        return invalid_argument("equality deletes by field {}, which is no column of the table",
                                id);
      }
      DIL_TRY(std::string type, translate::ducklake_type_of(field->type));
      EqualityColumn column;
      column.id = field->id;
      column.name = field->name;
      column.duckdb_type = translate::duckdb_leaf_type(type).value_or("VARCHAR");
      if (field->initial_default) {
        column.default_text =
            translate::stats_text_from_value(field->type, *field->initial_default);
      }
      columns.push_back(std::move(column));
      fields.push_back(field);
    }
    std::vector<EqualityScan> scans;
    for (const auto& [path, data] : live.data) {
      EqualityScan scan;
      scan.data_file = path;
      for (const EqualityFile& item : files) {
        const bool is_global = item.spec->is_unpartitioned();
        const bool is_same = data.header.spec.spec_id == item.spec->spec_id &&
                             data.entry.data_file.partition == item.file->partition;
        if (!is_global && !is_same) continue;
        const bool meets = std::all_of(fields.begin(), fields.end(), [&](const auto* field) {
          return may_meet(data.entry.data_file, *item.file, *field);
        });
        if (meets) scan.delete_files.push_back(item.file->file_path);
      }
      if (scan.delete_files.empty()) continue;
      scan.columns = columns;
      scans.push_back(std::move(scan));
    }
    DIL_CHECK_OK(parallel_for(scans.size(), kScanners, [&](std::size_t i) -> Status {
      auto found = deps_.engine.find_equality_matches(scans[i]);
      if (!found.has_value()) {
        Error error = std::move(found).error();
        if (error.code() == Code::kCorruptData || error.code() == Code::kNotFound) {
          return std::move(error).with_code(Code::kInvalidArgument);
        }
        return error;
      }
      if (found->empty()) return {};
      std::lock_guard lock(mutex);
      std::vector<std::int64_t>& all = step.delta.equal_positions[scans[i].data_file];
      all.insert(all.end(), found->begin(), found->end());
      return {};
    }));
  }
  return {};
}

}  // namespace duckicelake::catalog
