// SPDX-License-Identifier: Apache-2.0
#include "translate/spec_history.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "iceberg/default_names.h"

namespace duckicelake::translate {
namespace {

using iceberg::PartitionField;
using iceberg::PartitionSpec;
using iceberg::Transform;
using iceberg::TransformKind;

// The types for which DuckLake's bucket numbers are Iceberg's (compared value by value with the
// reference hash).
constexpr std::array<std::string_view, 11> kSameHash = {
    "int8", "int16", "int32", "int64",     "varchar",    "json",
    "blob", "date",  "time",  "timestamp", "timestamptz"};

constexpr std::int32_t kFirstFieldId = 1000;

std::optional<Transform> parse_transform(std::string_view text) {
  const auto kind = [](TransformKind k) { return Transform{k, 0}; };
  if (text == "identity") return kind(TransformKind::kIdentity);
  if (text == "year") return kind(TransformKind::kYear);
  if (text == "month") return kind(TransformKind::kMonth);
  if (text == "day") return kind(TransformKind::kDay);
  if (text == "hour") return kind(TransformKind::kHour);
  if (text.starts_with("bucket(") && text.ends_with(")")) {
    const std::string_view digits = text.substr(7, text.size() - 8);
    std::int32_t count = 0;
    auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (ec == std::errc() && end == digits.data() + digits.size() && count > 0) {
      return Transform{TransformKind::kBucket, count};
    }
  }
  return std::nullopt;
}

// A field that a partition may name: not below a list or map.
const iceberg::Field* find_source(const std::vector<iceberg::Field>& fields, FieldId id) {
  for (const iceberg::Field& field : fields) {
    if (field.id == id) return field.type.is_nested() ? nullptr : &field;
    if (field.type.kind != iceberg::TypeKind::kStruct) continue;
    if (const iceberg::Field* found = find_source(field.type.fields, id)) return found;
  }
  return nullptr;
}

bool hashes_alike(std::span<const ducklake::ColumnRow> columns, FieldId id, SnapshotId since) {
  for (const ducklake::ColumnRow& row : columns) {
    if (row.column_id != id || (row.life.end && *row.life.end <= since)) continue;
    if (!hashes_like_iceberg(row.type)) return false;
  }
  return true;
}

class Extender {
 public:
  Extender(SpecHistory known, const iceberg::Schema& schema,
           std::span<const ducklake::ColumnRow> columns, SnapshotId seen)
      : out_(std::move(known)), schema_(schema), columns_(columns), seen_(seen) {
    if (out_.specs.empty()) out_.specs.push_back({});
    out_.bindings.clear();
    const auto plain = std::find_if(out_.specs.begin(), out_.specs.end(),
                                    [](const PartitionSpec& s) { return s.is_unpartitioned(); });
    out_.unpartitioned_id = plain == out_.specs.end() ? kNoSpec : plain->spec_id;
  }

  SpecHistory run(std::span<const ducklake::PartitionInfo> infos) {
    for (const ducklake::PartitionInfo& info : infos) bind(info);
    return std::move(out_);
  }

 private:
  void bind(const ducklake::PartitionInfo& info) {
    SpecBinding binding;
    binding.partition_id = info.partition_id;
    std::vector<PartitionField> fields;
    const bool is_old = info.life.begin <= seen_;
    const std::int32_t last_partition_id = out_.last_partition_id;
    for (const ducklake::PartitionColumn& column : info.columns) {
      const std::optional<Transform> transform = parse_transform(column.transform);
      if (!transform) continue;
      const iceberg::Field* source = find_source(schema_.fields, column.column_id);
      if (source == nullptr || !transform->result_type(source->type).has_value()) continue;
      if (transform->kind == TransformKind::kBucket &&
          !hashes_alike(columns_, column.column_id, info.life.begin)) {
        continue;
      }
      const bool is_twice =
          std::any_of(fields.begin(), fields.end(), [&](const PartitionField& field) {
            return field.source_id == column.column_id && field.transform == *transform;
          });
      if (is_twice) continue;
      fields.push_back(field_for(column.column_id, *transform, fields));
      binding.columns.push_back(column);
    }
    if (is_old && !fields.empty() && !is_known(fields)) {
      out_.last_partition_id = last_partition_id;
      fields.clear();
      binding.columns.clear();
    }
    binding.spec_id = fields.empty() ? out_.unpartitioned_id : spec_for(std::move(fields));
    out_.bindings.push_back(std::move(binding));
  }

  PartitionField field_for(FieldId source, const Transform& transform,
                           const std::vector<PartitionField>& taken) {
    for (const PartitionSpec& spec : out_.specs) {
      for (const PartitionField& field : spec.fields) {
        if (field.source_id == source && field.transform == transform) return field;
      }
    }
    PartitionField field;
    field.source_id = source;
    field.transform = transform;
    out_.last_partition_id = std::max(out_.last_partition_id, kFirstFieldId - 1) + 1;
    field.field_id = out_.last_partition_id;
    field.name = iceberg::unique_partition_name(schema_, taken, source, transform);
    return field;
  }

  bool is_known(const std::vector<PartitionField>& fields) const {
    return std::any_of(out_.specs.begin(), out_.specs.end(),
                       [&](const PartitionSpec& spec) { return spec.fields == fields; });
  }

  std::int32_t spec_for(std::vector<PartitionField> fields) {
    std::int32_t next = 0;
    for (const PartitionSpec& spec : out_.specs) {
      if (spec.fields == fields) return spec.spec_id;
      next = std::max(next, spec.spec_id + 1);
    }
    out_.specs.push_back({next, std::move(fields)});
    return next;
  }

  SpecHistory out_;
  const iceberg::Schema& schema_;
  std::span<const ducklake::ColumnRow> columns_;
  const SnapshotId seen_;
};

// A plain column name, quoted or not; nothing else is an Iceberg sort field.
std::optional<std::string> plain_column(std::string_view expression) {
  std::string out;
  if (expression.size() >= 2 && expression.front() == '"') {
    for (std::size_t i = 1; i < expression.size(); ++i) {
      if (expression[i] != '"') {
        out.push_back(expression[i]);
      } else if (i + 1 < expression.size() && expression[i + 1] == '"') {
        out.push_back('"');
        ++i;
      } else {
        return i + 1 == expression.size() ? std::optional(out) : std::nullopt;
      }
    }
    return std::nullopt;
  }
  for (char c : expression) {
    const bool is_word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_word) return std::nullopt;
    out.push_back(c);
  }
  return out;
}

std::optional<std::vector<iceberg::SortField>> sort_fields(const ducklake::SortInfo& info,
                                                           const iceberg::Schema& schema) {
  std::vector<iceberg::SortField> fields;
  for (const ducklake::SortExpression& expression : info.expressions) {
    const std::optional<std::string> name = plain_column(expression.expression);
    if (!name) return std::nullopt;
    const iceberg::Field* source = schema.find_top_level(*name);
    if (source == nullptr || source->type.is_nested()) return std::nullopt;
    iceberg::SortField field;
    field.source_id = source->id;
    if (expression.direction == "DESC") field.direction = iceberg::SortDirection::kDescending;
    field.null_order = expression.null_order == "NULLS_FIRST" ? iceberg::NullOrder::kNullsFirst
                                                              : iceberg::NullOrder::kNullsLast;
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

bool hashes_like_iceberg(std::string_view ducklake_type) {
  return std::find(kSameHash.begin(), kSameHash.end(), ducklake_type) != kSameHash.end();
}

Result<SpecHistory> extend_spec_history(SpecHistory known,
                                        std::span<const ducklake::PartitionInfo> infos,
                                        const iceberg::Schema& schema,
                                        std::span<const ducklake::ColumnRow> columns,
                                        SnapshotId seen) {
  return Extender(std::move(known), schema, columns, seen).run(infos);
}

Result<SortHistory> extend_sort_history(SortHistory known,
                                        std::span<const ducklake::SortInfo> infos,
                                        const iceberg::Schema& schema) {
  if (known.orders.empty()) known.orders.push_back({});
  known.current_order_id = 0;
  for (const ducklake::SortInfo& info : infos) {
    // An older sort may name columns that are gone; what was published of it is kept, the rest left
    // out.
    std::optional<std::vector<iceberg::SortField>> fields = sort_fields(info, schema);
    if (!fields || fields->empty()) continue;
    std::int32_t id = -1;
    std::int32_t next = 0;
    for (const iceberg::SortOrder& order : known.orders) {
      if (order.fields == *fields) id = order.order_id;
      next = std::max(next, order.order_id + 1);
    }
    if (id < 0) {
      id = next;
      known.orders.push_back({id, std::move(*fields)});
    }
    if (!info.life.end) known.current_order_id = id;
  }
  return known;
}

}  // namespace duckicelake::translate
