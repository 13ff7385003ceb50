// SPDX-License-Identifier: Apache-2.0
#include "translate/column_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "translate/stats_value.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::Type;
using iceberg::TypeKind;

struct LeafName {
  std::string_view ducklake;
  std::string_view duckdb;
  TypeKind kind;
};

// kUnknown: DuckDB has the type, Iceberg has not.
constexpr std::array kLeaves = {
    LeafName{"boolean", "BOOLEAN", TypeKind::kBoolean},
    LeafName{"int8", "TINYINT", TypeKind::kInt},
    LeafName{"int16", "SMALLINT", TypeKind::kInt},
    LeafName{"int32", "INTEGER", TypeKind::kInt},
    LeafName{"int64", "BIGINT", TypeKind::kLong},
    LeafName{"int128", "HUGEINT", TypeKind::kDouble},
    LeafName{"uint8", "UTINYINT", TypeKind::kInt},
    LeafName{"uint16", "USMALLINT", TypeKind::kInt},
    LeafName{"uint32", "UINTEGER", TypeKind::kLong},
    LeafName{"uint64", "UBIGINT", TypeKind::kUnknown},
    LeafName{"uint128", "UHUGEINT", TypeKind::kDouble},
    LeafName{"float32", "FLOAT", TypeKind::kFloat},
    LeafName{"float64", "DOUBLE", TypeKind::kDouble},
    LeafName{"date", "DATE", TypeKind::kDate},
    LeafName{"time", "TIME", TypeKind::kTime},
    LeafName{"time_ns", "TIME_NS", TypeKind::kUnknown},
    LeafName{"timetz", "TIME WITH TIME ZONE", TypeKind::kTime},
    LeafName{"timestamp", "TIMESTAMP", TypeKind::kTimestamp},
    LeafName{"timestamp_us", "TIMESTAMP", TypeKind::kTimestamp},
    LeafName{"timestamp_s", "TIMESTAMP_S", TypeKind::kTimestamp},
    LeafName{"timestamp_ms", "TIMESTAMP_MS", TypeKind::kTimestamp},
    LeafName{"timestamp_ns", "TIMESTAMP_NS", TypeKind::kTimestampNs},
    LeafName{"timestamptz", "TIMESTAMP WITH TIME ZONE", TypeKind::kTimestamptz},
    LeafName{"interval", "INTERVAL", TypeKind::kUnknown},
    LeafName{"varchar", "VARCHAR", TypeKind::kString},
    LeafName{"json", "JSON", TypeKind::kString},
    LeafName{"blob", "BLOB", TypeKind::kBinary},
    LeafName{"uuid", "UUID", TypeKind::kUuid},
    LeafName{"variant", "VARIANT", TypeKind::kVariant},
    LeafName{"geometry", "GEOMETRY", TypeKind::kGeometry},
};

std::string lower(std::string_view text) {
  std::string out(text.substr(0, 64));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

const LeafName* find_leaf(std::string_view name) {
  const std::string wanted = lower(name);
  for (const LeafName& leaf : kLeaves) {
    if (leaf.ducklake == wanted) return &leaf;
  }
  return nullptr;
}

// Files of the old type can be read under the new one (spec "Schema Evolution", promotions that all
// clients know).
bool is_readable_as(const Type& from, const Type& to) {
  if (from.kind == to.kind) {
    return from.kind != TypeKind::kDecimal ||
           (from.scale == to.scale && from.precision <= to.precision);
  }
  return (from.kind == TypeKind::kInt && to.kind == TypeKind::kLong) ||
         (from.kind == TypeKind::kFloat && to.kind == TypeKind::kDouble);
}

constexpr int kMaxDepth = 64;

class Builder {
 public:
  Builder(const SchemaInput& input, SnapshotId s) : input_(input), snapshot_(s) {
    for (const ducklake::ColumnRow& row : input.columns) {
      versions_[row.column_id.value].push_back(&row);
      if (row.life.live_at(s)) children_[row.parent ? row.parent->value : 0].push_back(&row);
    }
    for (auto& [id, rows] : versions_) {
      std::sort(rows.begin(), rows.end(),
                [](const auto* a, const auto* b) { return a->life.begin < b->life.begin; });
    }
    for (auto& [parent, rows] : children_) {
      std::sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
        return std::pair(a->order, a->column_id) < std::pair(b->order, b->column_id);
      });
    }
  }

  Result<BuiltSchema> run() {
    DIL_TRY(out_.schema.fields, fields_of(0, "", 0, false));
    return std::move(out_);
  }

 private:
  Result<std::vector<Field>> fields_of(std::int32_t parent, const std::string& prefix, int depth,
                                       bool is_nested) {
    if (depth > kMaxDepth)
      return Error(Code::kCorruptData, "a table's columns are nested too deeply");
    std::vector<Field> out;
    auto it = children_.find(parent);
    if (it == children_.end()) return out;
    for (const ducklake::ColumnRow* row : it->second) {
      if (!seen_.insert(row->column_id.value).second) {
        return make_error(Code::kCorruptData, "column id {} of a table is live twice",
                          row->column_id.value);
      }
      DIL_TRY(std::optional<Field> field, field_of(*row, prefix + row->name, depth, is_nested));
      if (field) out.push_back(std::move(*field));
    }
    return out;
  }

  Result<std::optional<Field>> field_of(const ducklake::ColumnRow& row, const std::string& name,
                                        int depth, bool is_nested) {
    Field field;
    field.id = row.column_id;
    field.name = row.name;
    // Nested ADD COLUMN writes nulls_allowed = false although older rows have no value: only the
    // top level is taken.
    field.required = !is_nested && !row.nulls_allowed;
    field.doc = comment_of(row.column_id);
    const std::string type = lower(row.type);
    if (type == "struct" || type == "list" || type == "map") {
      DIL_TRY(std::vector<Field> children,
              fields_of(row.column_id.value, name + ".", depth + 1, true));
      const std::size_t expected = type == "list" ? 1 : type == "map" ? 2 : 1;
      if (children.size() < expected) return std::optional<Field>();
      if (type == "struct") field.type = Type::structure(std::move(children));
      if (type == "list") field.type = Type::list(std::move(children[0]));
      if (type == "map") {
        children[0].required = true;
        field.type = Type::map(std::move(children[0]), std::move(children[1]));
      }
      return std::optional<Field>(std::move(field));
    }
    if (std::optional<HiddenReason> reason = hidden_reason(row)) {
      out_.hidden.push_back({row.column_id, name, *reason});
      return std::optional<Field>();
    }
    field.type = *leaf_type(row.type);
    out_.needs_v3 = out_.needs_v3 || iceberg::required_format_version(field.type) >= 3;
    add_defaults(row, field);
    return std::optional<Field>(std::move(field));
  }

  std::optional<HiddenReason> hidden_reason(const ducklake::ColumnRow& row) const {
    const std::string name = lower(row.type);
    if (name == "uint64") return HiddenReason::kUnreadableByClients;
    const std::optional<Type> type = leaf_type(row.type);
    if (!type) return HiddenReason::kNoIcebergType;
    if (name == "uint32" && !is_below_2_31(row.column_id)) return HiddenReason::kUnsignedRange;
    for (const ducklake::ColumnRow* version : versions_.at(row.column_id.value)) {
      if (version->life.begin >= row.life.begin || version->life.begin > snapshot_) continue;
      const std::optional<Type> old = leaf_type(version->type);
      if (old && is_readable_as(*old, *type)) continue;
      // Files from before the type changed are still there.
      if (input_.oldest_live_file && version->life.end &&
          *input_.oldest_live_file < *version->life.end) {
        return HiddenReason::kMixedPhysicalType;
      }
    }
    return std::nullopt;
  }

  bool is_below_2_31(FieldId id) const {
    if (input_.stats == nullptr) return true;
    auto it = input_.stats->max_values.find(id.value);
    if (it == input_.stats->max_values.end()) return false;
    if (!it->second) return true;
    std::int64_t max = 0;
    const std::string& text = *it->second;
    auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), max);
    return ec == std::errc() && end == text.data() + text.size() && max < (std::int64_t{1} << 31);
  }

  void add_defaults(const ducklake::ColumnRow& row, Field& field) {
    const auto literal =
        [&](const std::optional<std::string>& text) -> std::optional<iceberg::ValueBytes> {
      if (!text || *text == "NULL") return std::nullopt;
      if (!row.default_value_type.empty() && row.default_value_type != "literal")
        return std::nullopt;
      if (auto value = value_from_stats_text(field.type, *text)) return value;
      return value_from_partition_text(field.type, *text);
    };
    const bool is_later =
        versions_.at(row.column_id.value).front()->life.begin > input_.table_begin;
    if (is_later && input_.stats != nullptr && row.initial_default &&
        *row.initial_default != "NULL") {
      field.initial_default = literal(row.initial_default);
      if (field.initial_default) out_.needs_v3 = true;
    }
    field.write_default = literal(row.default_value);
  }

  std::optional<std::string> comment_of(FieldId id) const {
    for (const ducklake::ColumnTagRow& tag : input_.tags) {
      if (tag.column_id == id && tag.key == "comment" && tag.life.live_at(snapshot_))
        return tag.value;
    }
    return std::nullopt;
  }

  const SchemaInput& input_;
  const SnapshotId snapshot_;
  std::map<std::int32_t, std::vector<const ducklake::ColumnRow*>> versions_;
  std::map<std::int32_t, std::vector<const ducklake::ColumnRow*>> children_;
  std::set<std::int32_t> seen_;
  BuiltSchema out_;
};

// write-default and initial-default exist from version 3 on only.
void drop_defaults(std::vector<Field>& fields) {
  for (Field& field : fields) {
    field.initial_default.reset();
    field.write_default.reset();
    drop_defaults(field.type.fields);
  }
}

}  // namespace

std::string_view hidden_reason_text(HiddenReason reason) {
  switch (reason) {
    case HiddenReason::kNoIcebergType: return "its type has no Iceberg counterpart";
    case HiddenReason::kUnreadableByClients:
      return "Iceberg clients cannot read unsigned 64-bit columns";
    case HiddenReason::kUnsignedRange:
      return "unsigned values of 2^31 or more would be read as negative";
    case HiddenReason::kMixedPhysicalType:
      return "older files hold another type: rewrite them to show it";
  }
  return "hidden";
}

std::optional<Type> leaf_type(std::string_view ducklake_type) {
  if (const LeafName* leaf = find_leaf(ducklake_type)) {
    if (leaf->kind == TypeKind::kUnknown) return std::nullopt;
    return Type::primitive(leaf->kind);
  }
  if (lower(ducklake_type).starts_with("decimal(")) {
    auto parsed = iceberg::parse_primitive(lower(ducklake_type));
    if (parsed.has_value() && parsed->precision >= 1 && parsed->precision <= 38) return *parsed;
  }
  return std::nullopt;
}

std::optional<std::string> duckdb_leaf_type(std::string_view ducklake_type) {
  if (const LeafName* leaf = find_leaf(ducklake_type)) return std::string(leaf->duckdb);
  if (std::optional<Type> type = leaf_type(ducklake_type);
      type && type->kind == TypeKind::kDecimal) {
    return fmt::format("DECIMAL({},{})", type->precision, type->scale);
  }
  return std::nullopt;
}

Result<BuiltSchema> build_schema_at(const SchemaInput& input, SnapshotId s) {
  DIL_TRY(BuiltSchema built, Builder(input, s).run());
  if (!built.needs_v3) drop_defaults(built.schema.fields);
  return built;
}

std::vector<SnapshotId> schema_change_points(const SchemaInput& input) {
  std::set<SnapshotId> points;
  const auto add = [&](const ducklake::Lifetime& life) {
    points.insert(life.begin);
    if (life.end) points.insert(*life.end);
  };
  for (const ducklake::ColumnRow& row : input.columns) add(row.life);
  for (const ducklake::ColumnTagRow& row : input.tags) add(row.life);
  return {points.begin(), points.end()};
}

}  // namespace duckicelake::translate
