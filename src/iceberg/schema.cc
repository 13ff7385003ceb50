// SPDX-License-Identifier: Apache-2.0
#include "iceberg/schema.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::int32_t kFirstReservedId = 2147483447;  // spec "Reserved Field IDs"
constexpr std::size_t kMaxNesting = 64;

void visit_below(const std::vector<Field>& fields, const Field* parent,
                 const std::function<void(const Field&, const Field*)>& visit) {
  for (const Field& field : fields) {
    visit(field, parent);
    visit_below(field.type.fields, &field, visit);
  }
}

const Field* find_below(const std::vector<Field>& fields, FieldId id) {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
    if (const Field* found = find_below(field.type.fields, id)) return found;
  }
  return nullptr;
}

bool append_name(const std::vector<Field>& fields, FieldId id, std::string& name) {
  std::size_t length = name.size();
  for (const Field& field : fields) {
    if (length > 0) name += '.';
    name += field.name;
    if (field.id == id || append_name(field.type.fields, id, name)) return true;
    name.resize(length);
  }
  return false;
}

std::string shown(const Field& field) {
  return fmt::format(
      "field {} \"{}\"", field.id.value,
      field.name.size() <= 64 ? field.name : fmt::format("({} bytes)", field.name.size()));
}

class Checker {
 public:
  // `required_path`: all ancestors are required structs, so the field may be an identifier.
  Status check_fields(const std::vector<Field>& fields, std::size_t depth, bool required_path) {
    if (depth > kMaxNesting) return invalid_argument("types are nested over {} deep", kMaxNesting);
    for (const Field& field : fields) {
      if (field.id.value < 0 || field.id.value >= kFirstReservedId) {
        return invalid_argument("{}: the id is outside the legal range", shown(field));
      }
      if (!ids_.insert(field.id.value).second) {
        return invalid_argument("{}: the id is used twice", shown(field));
      }
      DIL_CHECK_OK(check_type(field));
      DIL_CHECK_OK(check_default(field, field.initial_default));
      DIL_CHECK_OK(check_default(field, field.write_default));
      bool identifiable = required_path && field.required;
      if (identifiable && field.type.is_primitive()) identifiers_.emplace(field.id.value, &field);
      bool is_struct = field.type.kind == TypeKind::kStruct;
      if (is_struct) DIL_CHECK_OK(check_names(field.type.fields));
      DIL_CHECK_OK(check_fields(field.type.fields, depth + 1, identifiable && is_struct));
    }
    return {};
  }

  Status check_names(const std::vector<Field>& fields) {
    std::unordered_set<std::string_view> names;
    for (const Field& field : fields) {
      if (!names.insert(field.name).second) {
        return invalid_argument("{}: the name is used twice in one struct", shown(field));
      }
    }
    return {};
  }

  Status check_identifier(FieldId id) const {
    auto found = identifiers_.find(id.value);
    if (found == identifiers_.end()) {
      return invalid_argument(
          "identifier field {} is not a required primitive outside lists and maps", id.value);
    }
    TypeKind kind = found->second->type.kind;
    if (kind == TypeKind::kFloat || kind == TypeKind::kDouble) {
      return invalid_argument("identifier field {} is a floating-point number", id.value);
    }
    return {};
  }

 private:
  static Status check_type(const Field& field) {
    const Type& type = field.type;
    auto wrong = [&](std::string_view what) {
      return invalid_argument("{}: {}", shown(field), what);
    };
    switch (type.kind) {
      case TypeKind::kDecimal:
        if (type.precision < 1 || type.precision > 38 || type.scale < 0 ||
            type.scale > type.precision) {
          return wrong("the decimal has an illegal precision or scale");
        }
        break;
      case TypeKind::kFixed:
        if (type.length < 1) return wrong("the fixed length is not positive");
        break;
      case TypeKind::kUnknown:
        if (field.required) return wrong("an unknown field must be optional");
        break;
      case TypeKind::kList:
        if (type.fields.size() != 1) return wrong("a list must have one element");
        break;
      case TypeKind::kMap:
        if (type.fields.size() != 2) return wrong("a map must have a key and a value");
        if (!type.fields[0].required) return wrong("a map key must be required");
        break;
      default: break;
    }
    if (type.is_primitive() && !type.fields.empty()) return wrong("a primitive has parts");
    return {};
  }

  static Status check_default(const Field& field, const std::optional<ValueBytes>& value) {
    if (!value.has_value()) return {};
    switch (field.type.kind) {
      case TypeKind::kVariant:
      case TypeKind::kGeometry:
      case TypeKind::kGeography:
      case TypeKind::kUnknown:
      case TypeKind::kStruct:
      case TypeKind::kList:
      case TypeKind::kMap:
        return invalid_argument("{}: the type cannot have a default", shown(field));
      default: break;
    }
    if (!is_valid_value(field.type, *value)) {
      return invalid_argument("{}: the default is not a value of the type", shown(field));
    }
    return {};
  }

  std::unordered_set<std::int32_t> ids_;
  std::unordered_map<std::int32_t, const Field*> identifiers_;
};

}  // namespace

const Field* Schema::find(FieldId id) const { return find_below(fields, id); }

const Field* Schema::find_top_level(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string Schema::name_of(FieldId id) const {
  std::string name;
  append_name(fields, id, name);
  return name;
}

FieldId Schema::highest_field_id() const {
  FieldId highest(0);
  visit_fields(fields,
               [&](const Field& field, const Field*) { highest = std::max(highest, field.id); });
  return highest;
}

void visit_fields(const std::vector<Field>& fields,
                  const std::function<void(const Field&, const Field* parent)>& visit) {
  visit_below(fields, nullptr, visit);
}

Status check_schema(const Schema& schema) {
  Checker checker;
  DIL_CHECK_OK(checker.check_names(schema.fields));
  DIL_CHECK_OK(checker.check_fields(schema.fields, 1, true));
  for (FieldId id : schema.identifier_field_ids) DIL_CHECK_OK(checker.check_identifier(id));
  return {};
}

int required_format_version(const Schema& schema) {
  int version = 2;
  for (const Field& field : schema.fields) {
    if (field.initial_default || field.write_default) return 3;
    version = std::max(version, required_format_version(field.type));
  }
  return version;
}

}  // namespace duckicelake::iceberg
