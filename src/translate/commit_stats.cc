// SPDX-License-Identifier: Apache-2.0
#include "translate/commit_stats.h"

#include <algorithm>
#include <unordered_map>

#include "base/bytes.h"
#include "base/quote.h"
#include "iceberg/temporal.h"
#include "iceberg/value.h"
#include "translate/metrics_map.h"
#include "translate/stats_value.h"
#include "translate/value_text.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::TransformKind;
using iceberg::TypeKind;
using iceberg::ValueBytes;

// What is known of one column of one file.
struct ColumnFacts {
  std::optional<std::int64_t> values;  // nulls are counted too
  std::optional<std::int64_t> nulls;
  std::optional<bool> has_nan;
  bool has_values = true;  // may hold anything but nulls and NaN
  std::optional<ValueBytes> low;
  std::optional<ValueBytes> high;
  bool is_exact = false;  // the bounds, both
};

ColumnFacts facts_of(const ClientFile& added, const Field& field) {
  const manifest::DataFile& file = *added.entry;
  ColumnFacts out;
  out.values = find_in(file.value_counts, field.id.value);
  out.nulls = find_in(file.null_value_counts, field.id.value);
  out.low = bound_of(file.lower_bounds, field);
  out.high = bound_of(file.upper_bounds, field);
  // Equal bounds of any length are a value: nothing else lies between them.
  out.is_exact = out.low && out.high && (!may_be_cut(field) || *out.low == *out.high);
  const auto nans = find_in(file.nan_value_counts, field.id.value);
  if (added.facts != nullptr) {
    if (const auto leaf = added.facts->find(field.id.value); leaf != added.facts->end()) {
      const LeafFacts& own = leaf->second;
      out.values = own.values;
      if (own.nulls) out.nulls = own.nulls;
      if (own.low && own.high) {
        out.low = own.low->value;
        out.high = own.high->value;
        out.is_exact = own.low->is_exact && own.high->is_exact;
      }
    }
  }
  const bool is_null =
      file.record_count == 0 || (out.values && out.nulls && *out.nulls >= *out.values);
  if (is_float(field)) {
    if (nans) out.has_nan = *nans > 0;
    if (is_null) out.has_nan = false;
  }
  if (is_null) out.has_values = false;
  if (out.values && out.nulls && nans && *out.nulls + *nans >= *out.values) out.has_values = false;
  return out;
}

class Merger {
 public:
  Merger(std::span<const ducklake::TableColumnStats> current, bool is_empty,
         std::span<const ClientFile> added)
      : is_empty_(is_empty), added_(added) {
    for (const ducklake::TableColumnStats& stats : current) {
      current_.emplace(stats.column_id.value, &stats);
    }
  }

  void column(const Field& field, bool is_repeated) {
    const auto known = current_.find(field.id.value);
    if (known == current_.end() && !is_empty_) return;  // unknown, and stays so
    ducklake::TableColumnStats stats;
    if (known != current_.end()) stats = *known->second;
    stats.column_id = field.id;
    const bool may_hide_values = known != current_.end() && is_vague(*known->second, field);
    bool is_known = !is_repeated;
    for (const ClientFile& file : added_) {
      is_known = is_known && join(stats, field, facts_of(file, field), may_hide_values);
    }
    if (is_known) {
      out_.changed.push_back(std::move(stats));
    } else if (known != current_.end()) {
      out_.forgotten.push_back(field.id.value);
    }
  }

  void hidden_column(FieldId id) {
    const auto known = current_.find(id.value);
    if (known == current_.end()) return;
    ducklake::TableColumnStats stats = *known->second;
    stats.contains_null = true;
    out_.changed.push_back(std::move(stats));
  }

  MergedStats take() { return std::move(out_); }

 private:
  // A column without bounds has no values yet, but where DuckDB's writer gives none for some:
  // strings with NUL, NaN.
  static bool is_vague(const ducklake::TableColumnStats& stats, const Field& field) {
    if (stats.min_value && stats.max_value) return false;
    return field.type.kind == TypeKind::kString ||
           (is_float(field) && stats.contains_nan.value_or(true));
  }

  static bool join(ducklake::TableColumnStats& stats, const Field& field, const ColumnFacts& facts,
                   bool may_hide_values) {
    if (!facts.nulls) return false;
    if (is_float(field) && !facts.has_nan) return false;
    stats.contains_null = stats.contains_null.value_or(false) || *facts.nulls > 0;
    if (is_float(field)) stats.contains_nan = stats.contains_nan.value_or(false) || *facts.has_nan;
    if (!facts.has_values) return true;
    // DuckDB writes bounds of binary columns in two forms that cannot be told apart.
    const bool is_binary =
        field.type.kind == TypeKind::kBinary || field.type.kind == TypeKind::kFixed;
    if (!facts.is_exact || may_hide_values || is_binary) return false;
    return widen(stats.min_value, field, *facts.low, true) &&
           widen(stats.max_value, field, *facts.high, false);
  }

  static bool widen(std::optional<std::string>& text, const Field& field, const ValueBytes& bound,
                    bool is_low) {
    std::optional<std::string> joined = stats_text_from_value(field.type, bound);
    if (!joined) return false;
    if (text) {
      const std::optional<ValueBytes> known = value_from_stats_text(field.type, *text);
      if (!known) return false;
      const int order = iceberg::compare_values(field.type, bound, *known);
      if (is_low ? order >= 0 : order <= 0) return true;
    }
    text = std::move(joined);
    return true;
  }

  const bool is_empty_;
  const std::span<const ClientFile> added_;
  std::unordered_map<std::int32_t, const ducklake::TableColumnStats*> current_;
  MergedStats out_;
};

// DuckLake keeps calendar parts where Iceberg counts from 1970.
std::optional<std::string> calendar_part(TransformKind kind, const ValueBytes& value) {
  if (value.size() != sizeof(std::int32_t)) return std::nullopt;
  const std::int64_t count = read_little_endian<std::int32_t>(value);
  switch (kind) {
    case TransformKind::kYear: return std::to_string(1970 + count);
    case TransformKind::kMonth:
      return std::to_string(count - iceberg::floor_divide(count, 12) * 12 + 1);
    case TransformKind::kDay: return std::to_string(iceberg::civil_from_days(count).day);
    case TransformKind::kHour: return std::to_string(count - iceberg::floor_divide(count, 24) * 24);
    default: return std::nullopt;
  }
}

std::optional<std::string> native_transform(const iceberg::Transform& transform) {
  switch (transform.kind) {
    case TransformKind::kIdentity: return "identity";
    case TransformKind::kYear: return "year";
    case TransformKind::kMonth: return "month";
    case TransformKind::kDay: return "day";
    case TransformKind::kHour: return "hour";
    case TransformKind::kBucket: return fmt::format("bucket({})", transform.parameter);
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<ducklake::ColumnStats> file_stats(const ClientFile& added,
                                              const iceberg::Schema& schema) {
  std::vector<ducklake::ColumnStats> out;
  visit_leaves(schema.fields, false, [&](const Field& field, bool is_repeated) {
    ducklake::ColumnStats stats;
    stats.column_id = field.id;
    stats.column_size_bytes = find_in(added.entry->column_sizes, field.id.value);
    if (!stats.column_size_bytes && added.facts != nullptr) {
      const auto leaf = added.facts->find(field.id.value);
      if (leaf != added.facts->end()) stats.column_size_bytes = leaf->second.column_size;
    }
    if (!is_repeated) {
      const ColumnFacts facts = facts_of(added, field);
      stats.null_count = facts.nulls;
      if (facts.values && facts.nulls)
        stats.value_count = std::max<std::int64_t>(*facts.values - *facts.nulls, 0);
      stats.contains_nan = facts.has_nan;
      if (facts.low) stats.min_value = stats_text_from_value(field.type, *facts.low);
      if (facts.high) stats.max_value = stats_text_from_value(field.type, *facts.high);
    }
    if (stats.column_size_bytes || stats.null_count || stats.min_value || stats.max_value) {
      out.push_back(std::move(stats));
    }
  });
  return out;
}

MergedStats merge_table_stats(std::span<const ducklake::TableColumnStats> current, bool is_empty,
                              const iceberg::Schema& schema, std::span<const FieldId> hidden,
                              std::span<const ClientFile> added) {
  Merger merger(current, is_empty, added);
  visit_leaves(schema.fields, false,
               [&](const Field& field, bool is_repeated) { merger.column(field, is_repeated); });
  for (const FieldId id : hidden) merger.hidden_column(id);
  return merger.take();
}

std::optional<std::vector<std::optional<std::string>>> partition_texts(
    const manifest::DataFile& file, const iceberg::PartitionSpec& spec,
    const iceberg::Schema& schema) {
  std::vector<std::optional<std::string>> out;
  for (std::size_t i = 0; i < spec.fields.size() && i < file.partition.size(); ++i) {
    const iceberg::PartitionField& field = spec.fields[i];
    if (!file.partition[i]) {
      out.emplace_back();
      continue;
    }
    const Field* source = schema.find(field.source_id);
    if (source == nullptr) return std::nullopt;
    std::optional<std::string> text;
    if (field.transform.kind == TransformKind::kIdentity) {
      text = partition_text_from_value(source->type, *file.partition[i]);
    } else if (field.transform.kind == TransformKind::kBucket) {
      text = stats_text_from_value(iceberg::Type::primitive(TypeKind::kInt), *file.partition[i]);
    } else {
      text = calendar_part(field.transform.kind, *file.partition[i]);
    }
    if (!text) return std::nullopt;
    out.push_back(std::move(text));
  }
  if (out.size() != spec.fields.size()) return std::nullopt;
  return out;
}

std::optional<std::vector<ducklake::PartitionColumn>> native_partitioning(
    const iceberg::PartitionSpec& spec, const iceberg::Schema& schema,
    std::span<const ducklake::ColumnRow> columns) {
  std::vector<ducklake::PartitionColumn> out;
  for (const iceberg::PartitionField& field : spec.fields) {
    const std::optional<std::string> transform = native_transform(field.transform);
    const Field* source = schema.find(field.source_id);
    const bool is_top = source != nullptr && schema.find_top_level(source->name) == source;
    if (!transform || !is_top) return std::nullopt;
    if (field.transform.kind == TransformKind::kBucket) {
      for (const ducklake::ColumnRow& row : columns) {
        if (row.column_id != field.source_id || row.life.end) continue;
        if (!hashes_like_iceberg(row.type)) return std::nullopt;
      }
    }
    out.push_back({static_cast<std::int64_t>(out.size()), field.source_id, *transform});
  }
  return out;
}

std::optional<std::vector<ducklake::SortExpression>> native_sort(const iceberg::SortOrder& order,
                                                                 const iceberg::Schema& schema) {
  std::vector<ducklake::SortExpression> out;
  for (const iceberg::SortField& field : order.fields) {
    const Field* source = schema.find(field.source_id);
    const bool is_top = source != nullptr && schema.find_top_level(source->name) == source;
    if (!is_top || field.transform.kind != TransformKind::kIdentity) return std::nullopt;
    out.push_back(
        {quote_identifier(source->name),
         field.direction == iceberg::SortDirection::kAscending ? "ASC" : "DESC",
         field.null_order == iceberg::NullOrder::kNullsFirst ? "NULLS_FIRST" : "NULLS_LAST"});
  }
  return out;
}

}  // namespace duckicelake::translate
