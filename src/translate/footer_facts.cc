// SPDX-License-Identifier: Apache-2.0
#include "translate/footer_facts.h"

#include <bit>
#include <limits>

#include "base/bytes.h"
#include "iceberg/decimal.h"
#include "iceberg/value.h"
#include "translate/metrics_map.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::TypeKind;
using iceberg::ValueBytes;
using parquet::Leaf;
using parquet::PhysicalType;
using Kind = parquet::LogicalType::Kind;
using Unit = parquet::LogicalType::Unit;

constexpr std::size_t kMaxBoundBytes = 1024;

// Which leaf of the schema is where: ids from the top column down.
struct SchemaLeaf {
  const Field* field = nullptr;
  std::vector<std::int32_t> id_path;
};

void collect_leaves(const std::vector<Field>& fields, std::vector<std::int32_t>& way,
                    std::vector<SchemaLeaf>& out) {
  for (const Field& field : fields) {
    way.push_back(field.id.value);
    if (field.type.kind == TypeKind::kStruct) {
      collect_leaves(field.type.fields, way, out);
    } else if (!field.type.is_nested()) {
      out.push_back({&field, way});
    }
    way.pop_back();
  }
}

// Multiplies by 1000 if the result fits.
std::optional<ValueBytes> thousandfold(std::int64_t value) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000;
  if (value > kMost || value < -kMost) return std::nullopt;
  return iceberg::value_of_long(value * 1000);
}

// A whole number as the file has it; nullopt where it is none.
std::optional<std::int64_t> number_of(const Leaf& leaf, std::string_view bytes) {
  if (leaf.physical == PhysicalType::kInt32 && bytes.size() == 4) {
    return read_little_endian<std::int32_t>(bytes);
  }
  if (leaf.physical == PhysicalType::kInt64 && bytes.size() == 8) {
    return read_little_endian<std::int64_t>(bytes);
  }
  return std::nullopt;
}

bool is_plain_number(const Leaf& leaf) {
  return leaf.logical.kind == Kind::kNone || leaf.logical.kind == Kind::kInteger;
}

std::optional<ValueBytes> timestamp_value(const Leaf& leaf, TypeKind kind, std::string_view bytes) {
  const bool is_utc = kind == TypeKind::kTimestamptz || kind == TypeKind::kTimestamptzNs;
  const bool is_nanos = kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
  // Read under the other kind, its value depends on the reader's zone.
  if (leaf.physical != PhysicalType::kInt64 || leaf.logical.kind != Kind::kTimestamp ||
      leaf.logical.is_utc != is_utc) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = number_of(leaf, bytes);
  if (!number) return std::nullopt;
  if (leaf.logical.unit == (is_nanos ? Unit::kNanos : Unit::kMicros)) {
    return iceberg::value_of_long(*number);
  }
  if (leaf.logical.unit == (is_nanos ? Unit::kMicros : Unit::kMillis)) {
    return thousandfold(*number);
  }
  return std::nullopt;
}

std::optional<ValueBytes> decimal_value(const Leaf& leaf, const iceberg::Type& type,
                                        std::string_view bytes) {
  if (leaf.logical.kind != Kind::kDecimal || leaf.logical.scale != type.scale ||
      leaf.logical.precision > type.precision) {
    return std::nullopt;
  }
  if (const std::optional<std::int64_t> number = number_of(leaf, bytes)) {
    return iceberg::value_of_decimal(*number);
  }
  const std::optional<iceberg::Int128> unscaled = iceberg::decimal_from_bytes(bytes);
  if (!unscaled) return std::nullopt;
  return iceberg::value_of_decimal(*unscaled);
}

// A plain value of the file as one of the table's column; nullopt where the column reads the file's
// type otherwise than value by value in the same order.
std::optional<ValueBytes> value_of_plain(const Leaf& leaf, const iceberg::Type& type,
                                         std::string_view bytes) {
  const bool is_bytes = leaf.physical == PhysicalType::kBytes;
  const bool is_fixed = leaf.physical == PhysicalType::kFixedBytes;
  const Kind kind = leaf.logical.kind;
  switch (type.kind) {
    case TypeKind::kBoolean:
      if (leaf.physical != PhysicalType::kBoolean || bytes.size() != 1) return std::nullopt;
      return iceberg::value_of_bool(bytes[0] != '\0');
    case TypeKind::kInt:
    case TypeKind::kLong: {
      const std::optional<std::int64_t> number = number_of(leaf, bytes);
      if (!number || !is_plain_number(leaf)) return std::nullopt;
      if (type.kind == TypeKind::kLong) return iceberg::value_of_long(*number);
      if (leaf.physical != PhysicalType::kInt32) return std::nullopt;
      return iceberg::value_of_int(static_cast<std::int32_t>(*number));
    }
    case TypeKind::kFloat:
    case TypeKind::kDouble: {
      const bool is_single = leaf.physical == PhysicalType::kFloat && bytes.size() == 4;
      const bool is_double = leaf.physical == PhysicalType::kDouble && bytes.size() == 8;
      if (kind != Kind::kNone || !(is_single || is_double)) return std::nullopt;
      if (is_double != (type.kind == TypeKind::kDouble)) {
        if (is_double) return std::nullopt;
        return iceberg::value_of_double(
            std::bit_cast<float>(read_little_endian<std::int32_t>(bytes)));
      }
      return ValueBytes(bytes);
    }
    case TypeKind::kDecimal: return decimal_value(leaf, type, bytes);
    case TypeKind::kDate: {
      const std::optional<std::int64_t> days = number_of(leaf, bytes);
      if (!days || kind != Kind::kDate || leaf.physical != PhysicalType::kInt32) {
        return std::nullopt;
      }
      return iceberg::value_of_int(static_cast<std::int32_t>(*days));
    }
    case TypeKind::kTime: {
      const std::optional<std::int64_t> number = number_of(leaf, bytes);
      if (!number || kind != Kind::kTime) return std::nullopt;
      if (leaf.logical.unit == Unit::kMicros) return iceberg::value_of_long(*number);
      if (leaf.logical.unit == Unit::kMillis) return thousandfold(*number);
      return std::nullopt;
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return timestamp_value(leaf, type.kind, bytes);
    case TypeKind::kString:
      // DuckDB reads plain bytes as text in a form of its own, and text as bytes likewise.
      if (!is_bytes || kind != Kind::kText) return std::nullopt;
      return ValueBytes(bytes);
    case TypeKind::kBinary:
      if (!(is_bytes || is_fixed) || kind != Kind::kNone) return std::nullopt;
      return ValueBytes(bytes);
    case TypeKind::kFixed:
      if (!is_fixed || kind != Kind::kNone || leaf.type_length != type.length) return std::nullopt;
      return ValueBytes(bytes);
    case TypeKind::kUuid:
      if (!is_fixed || leaf.type_length != 16) return std::nullopt;
      if (kind != Kind::kUuid && kind != Kind::kNone) return std::nullopt;
      return ValueBytes(bytes);
    default: return std::nullopt;
  }
}

std::optional<ColumnBound> bound_of_leaf(const Leaf& leaf, const iceberg::Type& type,
                                         const std::optional<parquet::Bound>& bound) {
  if (!bound || bound->bytes.size() > kMaxBoundBytes) return std::nullopt;
  std::optional<ValueBytes> value = value_of_plain(leaf, type, bound->bytes);
  if (!value || !iceberg::is_valid_value(type, *value)) return std::nullopt;
  return ColumnBound{std::move(*value), bound->is_exact};
}

LeafFacts facts_of_leaf(const Leaf& leaf, const Field& field) {
  LeafFacts out;
  out.column_size = leaf.compressed_bytes;
  out.values = leaf.value_count;
  out.nulls = leaf.null_count;
  out.low = bound_of_leaf(leaf, field.type, leaf.low);
  out.high = bound_of_leaf(leaf, field.type, leaf.high);
  const bool is_usable = out.low && out.high &&
                         iceberg::compare_values(field.type, out.low->value, out.high->value) <= 0;
  if (!is_usable) {
    out.low.reset();
    out.high.reset();
  }
  return out;
}

template <class Map, class Value>
void set_in(Map& map, std::int32_t id, const std::optional<Value>& value) {
  const auto it =
      std::find_if(map.begin(), map.end(), [&](const auto& m) { return m.first == id; });
  if (it == map.end()) return;
  if (value) {
    it->second = *value;
  } else {
    map.erase(it);
  }
}

}  // namespace

FileFacts facts_of_footer(const parquet::Footer& footer, const iceberg::Schema& schema) {
  FileFacts out;
  if (footer.field_ids.empty()) return out;
  std::vector<SchemaLeaf> wanted;
  std::vector<std::int32_t> way;
  collect_leaves(schema.fields, way, wanted);
  std::unordered_map<std::int32_t, const Leaf*> leaves;
  for (const Leaf& leaf : footer.leaves) leaves.emplace(leaf.id_path.back(), &leaf);
  for (const SchemaLeaf& item : wanted) {
    const std::int32_t id = item.field->id.value;
    const auto [first, last] =
        std::equal_range(footer.field_ids.begin(), footer.field_ids.end(), id);
    if (first == last) {
      // A default of a struct's field is given or not, depending on more than the field.
      if (item.id_path.size() > 1 || item.field->initial_default) continue;
      LeafFacts& facts = out[id];
      facts.values = footer.row_count;
      facts.nulls = footer.row_count;
      continue;
    }
    const auto leaf = leaves.find(id);
    if (last - first != 1 || leaf == leaves.end()) continue;
    if (leaf->second->is_repeated || leaf->second->id_path != item.id_path) continue;
    out.emplace(id, facts_of_leaf(*leaf->second, *item.field));
  }
  return out;
}

std::size_t leaf_count(const iceberg::Schema& schema) {
  std::size_t count = 0;
  visit_leaves(schema.fields, false, [&](const Field&, bool) { ++count; });
  return count;
}

bool needs_footer(const manifest::DataFile& file, const iceberg::Schema& schema) {
  if (file.record_count == 0) return true;  // few are empty, and a count of 0 has to be true
  bool out = false;
  visit_leaves(schema.fields, false, [&](const Field& field, bool is_repeated) {
    if (is_repeated || has_no_bounds(field)) return;
    const auto values = find_in(file.value_counts, field.id.value);
    const auto nulls = find_in(file.null_value_counts, field.id.value);
    if (!values || !nulls) {
      out = true;
      return;
    }
    const std::int64_t nans =
        is_float(field) ? find_in(file.nan_value_counts, field.id.value).value_or(0) : 0;
    if (*nulls >= *values - nans) return;
    const auto low = bound_of(file.lower_bounds, field);
    const auto high = bound_of(file.upper_bounds, field);
    // Bounds of binary columns serve the file alone, which a cut one does as well.
    const bool must_be_exact = field.type.kind == TypeKind::kString;
    if (!low || !high || (must_be_exact && *low != *high)) out = true;
  });
  return out;
}

void correct_metrics(manifest::DataFile& file, const iceberg::Schema& schema,
                     const FileFacts& facts) {
  visit_leaves(schema.fields, false, [&](const Field& field, bool) {
    const std::int32_t id = field.id.value;
    const auto found = facts.find(id);
    if (found == facts.end()) return;
    const LeafFacts& leaf = found->second;
    set_in(file.value_counts, id, std::optional(leaf.values));
    if (leaf.nulls) set_in(file.null_value_counts, id, leaf.nulls);
    if (leaf.nulls == leaf.values) {
      set_in(file.lower_bounds, id, std::optional<ValueBytes>());
      set_in(file.upper_bounds, id, std::optional<ValueBytes>());
    }
    if (!leaf.low || !leaf.high) return;
    const auto low = bound_of(file.lower_bounds, field);
    if (low && iceberg::compare_values(field.type, *low, leaf.low->value) > 0) {
      set_in(file.lower_bounds, id,
             std::optional(iceberg::truncate_lower(field.type, leaf.low->value)));
    }
    const auto high = bound_of(file.upper_bounds, field);
    if (high && iceberg::compare_values(field.type, *high, leaf.high->value) < 0) {
      set_in(file.upper_bounds, id, iceberg::truncate_upper(field.type, leaf.high->value));
    }
  });
}

}  // namespace duckicelake::translate
