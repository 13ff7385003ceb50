// SPDX-License-Identifier: Apache-2.0
#include "translate/column_change.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "iceberg/ascii.h"
#include "translate/column_types.h"
#include "translate/value_text.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::Schema;
using iceberg::Type;
using iceberg::TypeKind;

constexpr std::string_view kNoDefault = "NULL";

using RowsById = std::unordered_map<std::int32_t, const ducklake::ColumnRow*>;

RowsById by_id(std::span<const ducklake::ColumnRow> rows) {
  RowsById out;
  for (const ducklake::ColumnRow& row : rows) out[row.column_id.value] = &row;
  return out;
}

// Spec "Schema Evolution": what every reader does with files of the old type.
bool is_promotion(const Type& from, const Type& to) {
  if (from.kind == to.kind) {
    if (from.kind == TypeKind::kDecimal) {
      return from.scale == to.scale && from.precision <= to.precision;
    }
    return from.kind != TypeKind::kFixed || from.length == to.length;
  }
  return (from.kind == TypeKind::kInt && to.kind == TypeKind::kLong) ||
         (from.kind == TypeKind::kFloat && to.kind == TypeKind::kDouble);
}

// The type without what lies below it.
bool is_same_node(const Type& a, const Type& b) {
  return a.kind == b.kind && a.precision == b.precision && a.scale == b.scale &&
         a.length == b.length && a.crs == b.crs && a.algorithm == b.algorithm;
}

class Differ {
 public:
  Differ(std::span<const ducklake::ColumnRow> live, std::span<const ducklake::ColumnTagRow> tags,
         const Schema& before, Retype retype)
      : rows_(by_id(live)), before_(before), retype_(retype), is_new_(live.empty()) {
    for (const ducklake::ColumnTagRow& tag : tags) {
      if (tag.key == "comment" && tag.value) comments_[tag.column_id.value] = *tag.value;
    }
  }

  Result<ColumnChange> run(const Schema& after) {
    // DuckDB could attach the lake no more, with all its tables.
    if (after.fields.empty()) return invalid_argument("a table needs a column at least");
    DIL_CHECK_OK(level(after.fields, std::nullopt));
    iceberg::visit_fields(before_.fields, [&](const Field& field, const Field*) {
      if (!wanted_.contains(field.id.value)) end(field.id);
    });
    return std::move(out_);
  }

 private:
  void end(FieldId id) {
    if (rows_.contains(id.value)) out_.ended.push_back(id);
    if (comments_.contains(id.value)) out_.comments_ended.push_back(id);
  }

  // Orders that already rise stay; others are moved behind the column before them.
  std::vector<std::int64_t> orders_of(const std::vector<Field>& fields) const {
    std::vector<std::int64_t> out;
    std::int64_t last = 0;
    for (const Field& field : fields) {
      const auto it = rows_.find(field.id.value);
      const bool stays = it != rows_.end() && it->second->order > last;
      last = stays ? it->second->order : last + 1;
      out.push_back(last);
    }
    return out;
  }

  Status level(const std::vector<Field>& fields, std::optional<FieldId> parent) {
    DIL_CHECK_OK(check_names(fields, parent));
    const std::vector<std::int64_t> orders = orders_of(fields);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      DIL_CHECK_OK(column(fields[i], parent, orders[i]));
      DIL_CHECK_OK(level(fields[i].type.fields, fields[i].id));
    }
    return {};
  }

  // DuckDB does not tell cases apart: it could not read the table any more. Columns that Iceberg
  // does not see have their names, too.
  Status check_names(const std::vector<Field>& fields, std::optional<FieldId> parent) const {
    std::unordered_set<std::string> taken;
    for (const auto& [id, row] : rows_) {
      const bool is_hidden = row->parent == parent && before_.find(row->column_id) == nullptr;
      if (is_hidden) taken.insert(iceberg::lower_ascii(row->name));
    }
    for (const Field& field : fields) {
      if (taken.insert(iceberg::lower_ascii(field.name)).second) continue;
      return invalid_argument(
          "column \"{}\": there is another one of this name, or of one that "
          "differs in case only",
          field.name);
    }
    return {};
  }

  Status column(const Field& field, std::optional<FieldId> parent, std::int64_t order) {
    wanted_.insert(field.id.value);
    if (field.name.empty()) return invalid_argument("column {} has no name", field.id.value);
    if (field.type.kind == TypeKind::kStruct && field.type.fields.empty()) {
      return invalid_argument("column \"{}\": a struct needs a field at least", field.name);
    }
    const Field* old = before_.find(field.id);
    const auto found = rows_.find(field.id.value);
    const ducklake::ColumnRow* live =
        old != nullptr && found != rows_.end() ? found->second : nullptr;
    if (live == nullptr && found != rows_.end()) {
      return invalid_argument("field id {} belongs to a column that is not part of the schema",
                              field.id.value);
    }
    ducklake::ColumnRow row;
    row.column_id = field.id;
    row.order = order;
    row.name = field.name;
    row.parent = parent;
    row.nulls_allowed = parent.has_value() || !field.required;
    DIL_TRY(row.type, type_of(field, old, live));
    if (live == nullptr) {
      DIL_CHECK_OK(check_added(field, parent));
      DIL_TRY(row.initial_default, default_text(field, field.initial_default));
      DIL_TRY(std::optional<std::string> value, default_text(field, field.write_default));
      row.default_value = value.value_or(std::string(kNoDefault));
      row.default_value_type = "literal";
    } else {
      DIL_CHECK_OK(check_kept(field, *old, parent, *live));
      row.initial_default = live->initial_default;
      row.default_value = live->default_value;
      row.default_value_type = live->default_value_type;
      if (parent) row.nulls_allowed = live->nulls_allowed;
      if (old->write_default != field.write_default) {
        DIL_TRY(std::optional<std::string> value, default_text(field, field.write_default));
        row.default_value = value.value_or(std::string(kNoDefault));
        row.default_value_type = "literal";
      }
    }
    if (live == nullptr || differs(*live, row)) {
      if (live != nullptr) out_.ended.push_back(field.id);
      out_.inserted.push_back(std::move(row));
    }
    comment(field);
    return {};
  }

  static bool differs(const ducklake::ColumnRow& a, const ducklake::ColumnRow& b) {
    return a.name != b.name || a.type != b.type || a.order != b.order || a.parent != b.parent ||
           a.nulls_allowed != b.nulls_allowed || a.default_value != b.default_value ||
           a.initial_default != b.initial_default;
  }

  Result<std::string> type_of(const Field& field, const Field* old,
                              const ducklake::ColumnRow* live) const {
    if (live == nullptr) return ducklake_type_of(field.type);
    if (is_same_node(old->type, field.type)) return live->type;
    if (retype_ == Retype::kRefuse && !is_promotion(old->type, field.type)) {
      return invalid_argument("column \"{}\" cannot change its type: that is no promotion",
                              field.name);
    }
    return ducklake_type_of(field.type);
  }

  Status check_added(const Field& field, std::optional<FieldId> parent) const {
    if (is_new_ || retype_ == Retype::kAllow || !field.required || field.initial_default) return {};
    // Below a column that is new itself nothing is missing from older rows.
    if (parent && !rows_.contains(parent->value)) return {};
    return invalid_argument("required column \"{}\" needs a default for the rows that are there",
                            field.name);
  }

  Status check_kept(const Field& field, const Field& old, std::optional<FieldId> parent,
                    const ducklake::ColumnRow& live) const {
    if (live.parent != parent) {
      return invalid_argument("column \"{}\" cannot move to another place in the tree", field.name);
    }
    if (retype_ == Retype::kAllow || old.required || !field.required) return {};
    return invalid_argument("column \"{}\" cannot become required: rows that are there may be null",
                            field.name);
  }

  static Result<std::optional<std::string>> default_text(
      const Field& field, const std::optional<iceberg::ValueBytes>& value) {
    if (!value) return std::optional<std::string>();
    std::optional<std::string> text = stats_text_from_value(field.type, *value);
    if (!text) {
      return make_error(Code::kUnsupported,
                        "the default of column \"{}\" cannot be kept in DuckLake", field.name);
    }
    return text;
  }

  void comment(const Field& field) {
    const auto known = comments_.find(field.id.value);
    const std::optional<std::string> now =
        known == comments_.end() ? std::nullopt : std::optional(known->second);
    if (now == field.doc) return;
    if (now) out_.comments_ended.push_back(field.id);
    if (field.doc) out_.comments_inserted.emplace_back(field.id, *field.doc);
  }

  const RowsById rows_;
  const Schema& before_;
  const Retype retype_;
  const bool is_new_;
  std::unordered_map<std::int32_t, std::string> comments_;
  std::unordered_set<std::int32_t> wanted_;
  ColumnChange out_;
};

// The Iceberg type that a DuckLake reader of the field's row would show.
std::optional<Type> shown_type(const Type& type) {
  auto name = ducklake_type_of(type);
  if (!name.has_value()) return std::nullopt;
  return leaf_type(*name);
}

void refine(std::vector<Field>& fields, const Schema& known, const RowsById& rows,
            const Field* parent) {
  for (Field& field : fields) {
    const Field* match = known.find(field.id);
    if (match == nullptr) {
      refine(field.type.fields, known, rows, &field);
      continue;
    }
    if (field.type.is_nested()) {
      refine(field.type.fields, known, rows, &field);
    } else if (const std::optional<Type> shown = shown_type(match->type);
               shown && shown->kind == field.type.kind &&
               shown->precision == field.type.precision && shown->scale == field.type.scale) {
      field.type = match->type;
    }
    if (parent != nullptr && match->type.kind == field.type.kind) field.required = match->required;
    const auto row = rows.find(field.id.value);
    if (row == rows.end() || !field.type.is_primitive()) continue;
    const auto is_kept = [&](const std::optional<iceberg::ValueBytes>& value,
                             const std::optional<std::string>& text) {
      return value && text && stats_text_from_value(field.type, *value) == text;
    };
    if (is_kept(match->initial_default, row->second->initial_default)) {
      field.initial_default = match->initial_default;
    }
    if (is_kept(match->write_default, row->second->default_value)) {
      field.write_default = match->write_default;
    }
  }
}

}  // namespace

Result<ColumnChange> change_columns(std::span<const ducklake::ColumnRow> live,
                                    std::span<const ducklake::ColumnTagRow> tags,
                                    const Schema& before, const Schema& after, Retype retype) {
  return Differ(live, tags, before, retype).run(after);
}

Schema refine_schema(Schema built, const Schema& known, std::span<const ducklake::ColumnRow> rows) {
  refine(built.fields, known, by_id(rows), nullptr);
  for (const FieldId id : known.identifier_field_ids) {
    const Field* field = built.find(id);
    if (field != nullptr && field->required) built.identifier_field_ids.push_back(id);
  }
  return built;
}

}  // namespace duckicelake::translate
