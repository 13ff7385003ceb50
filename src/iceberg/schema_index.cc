// SPDX-License-Identifier: Apache-2.0
#include "iceberg/schema_index.h"

#include <unordered_set>

#include "iceberg/reserved_names.h"

namespace duckicelake::iceberg {
namespace {

// FNV-1a, because it can be carried on from a prefix.
constexpr std::uint64_t kHashStart = 14695981039346656037U;
constexpr int kMaxCandidates = 64;

std::uint64_t carry_on(std::uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::string shown(std::string_view name) {
  return name.size() <= 64 ? std::string(name) : fmt::format("({} bytes)", name.size());
}

std::string type_text(const Type& type) {
  switch (type.kind) {
    case TypeKind::kStruct: return "struct";
    case TypeKind::kList: return "list";
    case TypeKind::kMap: return "map";
    default: return primitive_to_text(type);
  }
}

Status check_source(const SchemaIndex& index, FieldId source, const Transform& transform,
                    std::string_view what) {
  const SchemaIndex::Entry* found = index.find(source);
  if (found == nullptr) {
    return invalid_argument("Cannot find source column for {}: source-id {}", what, source.value);
  }
  if (found->field->type.is_nested()) {
    return invalid_argument("Cannot use non-primitive source column {} for {}",
                            shown(found->field->name), what);
  }
  if (found->below_collection) {
    return invalid_argument("Cannot use source column {} for {}: it lies in a list or map",
                            shown(found->field->name), what);
  }
  auto type = transform.result_type(found->field->type);
  if (!type.has_value()) {
    return invalid_argument("Invalid source type {} for {}: {}", type_text(found->field->type),
                            what, type.error().message());
  }
  return {};
}

}  // namespace

SchemaIndex::SchemaIndex(const Schema& schema) : schema_(schema) {
  add(schema.fields, kHashStart, true, false);
}

void SchemaIndex::add(const std::vector<Field>& fields, std::uint64_t prefix_hash, bool is_top,
                      bool below_collection) {
  if (!is_top) prefix_hash = carry_on(prefix_hash, ".");
  for (const Field& field : fields) {
    entries_.emplace(field.id.value, Entry{&field, below_collection});
    std::uint64_t hash = carry_on(prefix_hash, field.name);
    by_name_.emplace(hash, field.id);
    if (field.type.is_primitive()) continue;
    add(field.type.fields, hash, false, below_collection || field.type.kind != TypeKind::kStruct);
  }
}

const SchemaIndex::Entry* SchemaIndex::find(FieldId id) const {
  auto found = entries_.find(id.value);
  return found == entries_.end() ? nullptr : &found->second;
}

bool SchemaIndex::has_other_column(std::string_view name, FieldId source) const {
  auto [begin, end] = by_name_.equal_range(carry_on(kHashStart, name));
  int candidates = 0;
  for (auto item = begin; item != end; ++item) {
    // So many equal hashes are forged; each costs a walk over the schema.
    if (++candidates > kMaxCandidates) return true;
    if (item->second != source && schema_.name_of(item->second) == name) return true;
  }
  return false;
}

Status check_partition_spec(const SchemaIndex& index, const PartitionSpec& spec) {
  std::unordered_set<std::string_view> names;
  for (const PartitionField& field : spec.fields) {
    if (field.name.empty()) return invalid_argument("Cannot use empty partition name");
    if (!names.insert(field.name).second) {
      return invalid_argument("Cannot use partition name more than once: {}", shown(field.name));
    }
    DIL_CHECK_OK(check_unreserved_name("partition field", field.name));
    if (index.find(field.source_id) != nullptr &&
        index.has_other_column(field.name, field.source_id)) {
      return invalid_argument(
          "Cannot create identity partition sourced from different field in schema: {}",
          shown(field.name));
    }
  }
  return check_partition_sources(index, spec);
}

Status check_partition_sources(const SchemaIndex& index, const PartitionSpec& spec) {
  for (const PartitionField& field : spec.fields) {
    if (field.transform.kind == TransformKind::kVoid) continue;
    DIL_CHECK_OK(check_source(index, field.source_id, field.transform,
                              fmt::format("partition field {}", shown(field.name))));
  }
  return {};
}

Status check_sort_order(const SchemaIndex& index, const SortOrder& order) {
  for (const SortField& field : order.fields) {
    DIL_CHECK_OK(check_source(index, field.source_id, field.transform, "sort field"));
  }
  return {};
}

Status check_schema_version(const Schema& schema, int format_version) {
  if (required_format_version(schema) <= format_version) return {};
  std::string problem;
  visit_fields(schema.fields, [&](const Field& field, const Field*) {
    if (!problem.empty()) return;
    std::string name = shown(field.name);
    if (field.type.is_primitive() && required_format_version(field.type) > format_version) {
      problem = fmt::format("Invalid type for {}: {} is not supported until v{}", name,
                            type_text(field.type), required_format_version(field.type));
    } else if (field.initial_default.has_value() || field.write_default.has_value()) {
      problem = fmt::format("Invalid default for {}: defaults are not supported until v3", name);
    }
  });
  return invalid_argument("Invalid schema for v{}: {}", format_version, problem);
}

}  // namespace duckicelake::iceberg
