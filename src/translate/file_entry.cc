// SPDX-License-Identifier: Apache-2.0
#include "translate/file_entry.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/bytes.h"
#include "json/value.h"
#include "json/writer.h"
#include "translate/name_mapping.h"
#include "translate/stats_value.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::TransformKind;
using iceberg::TypeKind;
using iceberg::ValueBytes;

using StatsById = std::unordered_map<std::int32_t, const ducklake::ColumnStats*>;

bool is_float(TypeKind kind) { return kind == TypeKind::kFloat || kind == TypeKind::kDouble; }
bool is_timestamp(TypeKind kind) {
  return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestamptz ||
         kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
}
bool has_no_bounds(TypeKind kind) {
  return kind == TypeKind::kVariant || kind == TypeKind::kGeometry ||
         kind == TypeKind::kGeography || kind == TypeKind::kUnknown;
}

class EntryMaker {
 public:
  EntryMaker(const ducklake::DataFileRow& row, const iceberg::Schema& schema,
             const SpecHistory& specs, const ColumnBegins& begins)
      : row_(row), schema_(schema), specs_(specs), begins_(begins) {
    for (const ducklake::ColumnStats& stats : row.stats)
      stats_.emplace(stats.column_id.value, &stats);
  }

  FileEntry run() {
    manifest::DataFile& file = out_.file;
    file.file_path = row_.path;
    file.record_count = row_.record_count;
    file.file_size_in_bytes = row_.file_size_bytes;
    file.first_row_id = row_.row_id_start;
    add_metrics(schema_.fields, false);
    const auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::sort(file.column_sizes.begin(), file.column_sizes.end(), by_id);
    std::sort(file.value_counts.begin(), file.value_counts.end(), by_id);
    std::sort(file.null_value_counts.begin(), file.null_value_counts.end(), by_id);
    std::sort(file.nan_value_counts.begin(), file.nan_value_counts.end(), by_id);
    std::sort(file.lower_bounds.begin(), file.lower_bounds.end(), by_id);
    std::sort(file.upper_bounds.begin(), file.upper_bounds.end(), by_id);
    add_partition();
    return std::move(out_);
  }

 private:
  const ducklake::ColumnStats* find_stats(FieldId id) const {
    auto it = stats_.find(id.value);
    return it == stats_.end() ? nullptr : it->second;
  }

  void add_metrics(const std::vector<Field>& fields, bool is_repeated) {
    for (const Field& field : fields) {
      if (field.type.is_nested()) {
        add_metrics(field.type.fields, is_repeated || field.type.kind != TypeKind::kStruct);
        continue;
      }
      if (const ducklake::ColumnStats* stats = find_stats(field.id)) {
        if (stats->column_size_bytes) {
          out_.file.column_sizes.emplace_back(field.id.value, *stats->column_size_bytes);
        }
        // Below lists and maps DuckLake counts empty ones as nulls.
        if (!is_repeated) add_leaf(field, *stats);
      } else if (!is_repeated && is_absent_from_file(field)) {
        out_.file.value_counts.emplace_back(field.id.value, row_.record_count);
        out_.file.null_value_counts.emplace_back(field.id.value, row_.record_count);
      }
    }
  }

  // The column was added after every row of the file was written, and reads as null there.
  bool is_absent_from_file(const Field& field) const {
    auto begin = begins_.find(field.id.value);
    if (begin == begins_.end() || field.initial_default) return false;
    const std::int64_t newest_row = std::max(
        row_.life.begin.value, row_.partial_max ? row_.partial_max->value : row_.life.begin.value);
    return begin->second > newest_row;
  }

  void add_leaf(const Field& field, const ducklake::ColumnStats& stats) {
    // DuckLake writes 0 and 0 for types it keeps no statistics of: counts that do not add up are no
    // counts.
    if (!stats.value_count || !stats.null_count ||
        *stats.value_count + *stats.null_count != row_.record_count) {
      return;
    }
    manifest::DataFile& file = out_.file;
    const std::int32_t id = field.id.value;
    file.value_counts.emplace_back(id, *stats.value_count + *stats.null_count);
    file.null_value_counts.emplace_back(id, *stats.null_count);
    const bool may_have_nan = is_float(field.type.kind) && stats.contains_nan.value_or(true);
    if (is_float(field.type.kind) && !may_have_nan) file.nan_value_counts.emplace_back(id, 0);
    if (has_no_bounds(field.type.kind)) return;
    if (stats.min_value) {
      if (auto bound = bound_from_stats_text(field.type, *stats.min_value, BoundSide::kLower)) {
        file.lower_bounds.emplace_back(id, std::move(*bound));
      }
    }
    if (stats.max_value && !may_have_nan) {
      if (auto bound = bound_from_stats_text(field.type, *stats.max_value, BoundSide::kUpper)) {
        file.upper_bounds.emplace_back(id, std::move(*bound));
      }
    }
  }

  void add_partition() {
    out_.spec_id = specs_.unpartitioned_id;
    if (!row_.partition_id) return;
    const auto binding =
        std::find_if(specs_.bindings.begin(), specs_.bindings.end(),
                     [&](const SpecBinding& b) { return b.partition_id == *row_.partition_id; });
    if (binding == specs_.bindings.end() || binding->columns.empty()) return;
    const auto spec = std::find_if(
        specs_.specs.begin(), specs_.specs.end(),
        [&](const iceberg::PartitionSpec& s) { return s.spec_id == binding->spec_id; });
    iceberg::PartitionTuple tuple;
    for (std::size_t i = 0; i < spec->fields.size(); ++i) {
      std::optional<std::optional<ValueBytes>> value =
          partition_value(spec->fields[i], binding->columns[i].key_index);
      if (!value) return;  // not proved: the file stays unpartitioned
      tuple.push_back(std::move(*value));
    }
    out_.spec_id = binding->spec_id;
    out_.file.partition = std::move(tuple);
  }

  // nullopt: not known for all rows of the file; an inner nullopt: null.
  std::optional<std::optional<ValueBytes>> partition_value(const iceberg::PartitionField& field,
                                                           std::int64_t key_index) const {
    const Field* source = schema_.find(field.source_id);
    if (source == nullptr) return std::nullopt;
    switch (field.transform.kind) {
      case TransformKind::kIdentity:
      case TransformKind::kBucket: {
        auto stored = row_.partition_values.find(key_index);
        if (stored == row_.partition_values.end()) return std::nullopt;
        if (!stored->second) return std::optional<ValueBytes>();
        auto type = field.transform.result_type(source->type);
        if (!type.has_value()) return std::nullopt;
        std::optional<ValueBytes> value = value_from_partition_text(*type, *stored->second);
        if (!value || is_misread(*type, *value)) return std::nullopt;
        return std::optional<ValueBytes>(std::move(*value));
      }
      default: return temporal_value(field, *source);
    }
  }

  // PyIceberg reads double partition values as single precision and would prune by what it read.
  static bool is_misread(const iceberg::Type& type, const ValueBytes& value) {
    if (type.kind != TypeKind::kDouble) return false;
    const double exact = std::bit_cast<double>(read_little_endian<std::int64_t>(value));
    return static_cast<double>(static_cast<float>(exact)) != exact;
  }

  // DuckLake stores calendar parts in the zone of the session that wrote; the file's own minimum
  // and maximum tell.
  std::optional<std::optional<ValueBytes>> temporal_value(const iceberg::PartitionField& field,
                                                          const Field& source) const {
    const ducklake::ColumnStats* stats = find_stats(source.id);
    if (stats == nullptr || !stats->null_count || !stats->value_count ||
        *stats->value_count + *stats->null_count != row_.record_count) {
      return std::nullopt;
    }
    if (*stats->value_count == 0) return std::optional<ValueBytes>();
    if (*stats->null_count != 0 || !stats->min_value || !stats->max_value) return std::nullopt;
    const auto low = bound_from_stats_text(source.type, *stats->min_value, BoundSide::kLower);
    const auto high = bound_from_stats_text(source.type, *stats->max_value, BoundSide::kUpper);
    if (!low || !high) return std::nullopt;
    // DuckDB's iceberg extension computes these wrongly for timestamps before 1970 when it prunes.
    if (is_timestamp(source.type.kind) && field.transform.kind != TransformKind::kYear &&
        read_little_endian<std::int64_t>(*low) < 0) {
      return std::nullopt;
    }
    auto first = field.transform.apply(source.type, *low);
    auto last = field.transform.apply(source.type, *high);
    if (!first.has_value() || !last.has_value() || *first != *last) return std::nullopt;
    return std::move(*first);
  }

  const ducklake::DataFileRow& row_;
  const iceberg::Schema& schema_;
  const SpecHistory& specs_;
  const ColumnBegins& begins_;
  StatsById stats_;
  FileEntry out_;
};

// Names by field id, from all mappings together.
using NamesById = std::map<std::int32_t, std::set<std::string>>;

// The names under which a field of one level is found in files without ids: those of the mappings,
// else its own unless a mapping uses that one for another field of the level.
std::map<std::int32_t, std::set<std::string>> names_of_level(const std::vector<Field>& fields,
                                                             const NamesById& names) {
  std::map<std::int32_t, std::set<std::string>> out;
  std::set<std::string> taken;
  for (const Field& field : fields) {
    if (auto it = names.find(field.id.value); it != names.end()) {
      out[field.id.value] = it->second;
      taken.insert(it->second.begin(), it->second.end());
    }
  }
  for (const Field& field : fields) {
    if (!out.contains(field.id.value) && !taken.contains(field.name))
      out[field.id.value] = {field.name};
  }
  return out;
}

void write_mapping(json::Writer& writer, const std::vector<Field>& fields, const NamesById& names,
                   TypeKind parent) {
  const bool is_fixed = parent == TypeKind::kList || parent == TypeKind::kMap;
  const auto level = names_of_level(fields, names);
  writer.begin_array();
  for (const Field& field : fields) {
    const auto found = level.find(field.id.value);
    if (!is_fixed && found == level.end()) continue;
    writer.begin_object();
    writer.member("field-id", field.id.value);
    writer.key("names");
    writer.begin_array();
    if (is_fixed) {
      writer.value(field.name);
    } else {
      for (const std::string& name : found->second) writer.value(name);
    }
    writer.end_array();
    if (field.type.is_nested()) {
      writer.key("fields");
      write_mapping(writer, field.type.fields, names, field.type.kind);
    }
    writer.end_object();
  }
  writer.end_array();
}

Status check_unambiguous(const std::vector<Field>& fields, const NamesById& names) {
  std::map<std::string, std::int32_t> taken;
  for (const auto& [id, own] : names_of_level(fields, names)) {
    for (const std::string& name : own) {
      if (!taken.emplace(name, id).second) {
        return make_error(
            Code::kUnsupported,
            "files that were added to the table use the column name \"{}\" for different columns",
            name);
      }
    }
  }
  for (const Field& field : fields) {
    if (field.type.kind == TypeKind::kStruct)
      DIL_CHECK_OK(check_unambiguous(field.type.fields, names));
  }
  return {};
}

Status add_names(const json::Array& entries, NamesById& names) {
  for (const json::Value item : entries) {
    DIL_TRY(const json::Object entry, item.as_object());
    DIL_TRY(const std::optional<std::int32_t> id, entry.optional_int32("field-id"));
    DIL_TRY(const json::Array own, entry.require_array("names"));
    for (const json::Value name : own) {
      DIL_TRY(const std::string_view text, name.as_string());
      if (id) names[*id].emplace(text);
    }
    DIL_TRY(const std::optional<json::Array> fields, entry.optional_array("fields"));
    if (fields) DIL_CHECK_OK(add_names(*fields, names));
  }
  return {};
}

Status add_names(std::string_view mapping_json, NamesById& names) {
  DIL_TRY(const json::Document document, json::Document::parse(mapping_json));
  DIL_TRY(const json::Array entries, document.root().as_array());
  return add_names(entries, names);
}

}  // namespace

ColumnBegins column_begins(std::span<const ducklake::ColumnRow> columns) {
  ColumnBegins out;
  for (const ducklake::ColumnRow& column : columns) {
    auto [it, is_new] = out.emplace(column.column_id.value, column.life.begin.value);
    if (!is_new) it->second = std::min(it->second, column.life.begin.value);
  }
  return out;
}

FileEntry make_file_entry(const ducklake::DataFileRow& row, const iceberg::Schema& schema,
                          const SpecHistory& specs, const ColumnBegins& begins) {
  return EntryMaker(row, schema, specs, begins).run();
}

Result<std::string> name_mapping_json(const iceberg::Schema& schema,
                                      std::span<const ducklake::NameMappingRow> rows,
                                      std::string_view clients) {
  NamesById names;
  for (const ducklake::NameMappingRow& row : rows) {
    if (row.is_partition) {
      if (row.column_id >= kFirstPathColumn) continue;
      return make_error(Code::kUnsupported,
                        "files were added to the table whose column \"{}\" is in their path only; "
                        "rewrite them to "
                        "read the table through Iceberg",
                        row.source_name);
    }
    names[row.target_field_id.value].insert(row.source_name);
  }
  DIL_CHECK_OK(check_unambiguous(schema.fields, names));
  // The client's serve files to come; where they contradict those of files that are there, they go.
  NamesById all = names;
  if (!clients.empty() && add_names(clients, all).has_value() &&
      check_unambiguous(schema.fields, all).has_value()) {
    names = std::move(all);
  }
  std::string out;
  json::Writer writer(out);
  write_mapping(writer, schema.fields, names, TypeKind::kStruct);
  return out;
}

}  // namespace duckicelake::translate
