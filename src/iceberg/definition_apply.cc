// SPDX-License-Identifier: Apache-2.0
#include "iceberg/definition_apply.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "iceberg/reserved_names.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::int32_t kFirstPartitionFieldId = 1000;
constexpr std::int32_t kFirstReservedId = 2147483447;  // spec "Reserved Field IDs"
constexpr std::size_t kMaxWork = 20'000'000;

bool is_same_field(const PartitionField& a, const PartitionField& b) {
  return a.source_id == b.source_id && a.transform == b.transform && a.name == b.name;
}

bool is_same_spec(const PartitionSpec& a, const PartitionSpec& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    is_same_field);
}

// What makes two partition fields one and the same over time: source and transform.
using Identity = std::pair<std::int32_t, std::string>;

Identity identity_of(const PartitionField& field) {
  return {field.source_id.value, field.transform.to_text()};
}

// Gives the fields of a new spec their ids, by the rules of update_apply.h.
class FieldIds {
 public:
  explicit FieldIds(const TableMetadata& metadata) : last_(metadata.last_partition_id) {
    for (const PartitionSpec& spec : metadata.partition_specs) {
      for (const PartitionField& field : spec.fields) {
        Identity identity = identity_of(field);
        owners_[field.field_id].insert(identity);
        std::int32_t& known = known_[std::move(identity)];
        known = std::max(known, field.field_id);
      }
    }
  }

  Status assign(PartitionSpec& spec) {
    // First the ids that stay, so that no new one collides with them.
    for (PartitionField& field : spec.fields) {
      if (!may_keep(field) || !taken_.insert(field.field_id).second) field.field_id = 0;
      last_ = std::max(last_, field.field_id);
    }
    for (PartitionField& field : spec.fields) {
      if (field.field_id != 0) continue;
      auto known = known_.find(identity_of(field));
      if (known != known_.end() && known->second >= kFirstPartitionFieldId &&
          taken_.insert(known->second).second) {
        field.field_id = known->second;
        continue;
      }
      if (last_ >= kFirstReservedId - 1) {
        return invalid_argument("the table has no partition field ids left");
      }
      field.field_id = ++last_;
      taken_.insert(field.field_id);
    }
    return {};
  }

  std::int32_t last() const { return last_; }

 private:
  bool may_keep(const PartitionField& field) const {
    if (field.field_id < kFirstPartitionFieldId || field.field_id >= kFirstReservedId) return false;
    auto owners = owners_.find(field.field_id);
    return owners == owners_.end() || owners->second.contains(identity_of(field));
  }

  std::int32_t last_;
  std::unordered_map<std::int32_t, std::set<Identity>> owners_;
  std::map<Identity, std::int32_t> known_;
  std::unordered_set<std::int32_t> taken_;
};

std::size_t count_partition_fields(const TableMetadata& metadata) {
  std::size_t count = 0;
  for (const PartitionSpec& spec : metadata.partition_specs) count += 1 + spec.fields.size();
  return count;
}

Result<const Schema*> current_schema(const TableMetadata& metadata) {
  const Schema* schema = find_schema(metadata, metadata.current_schema_id);
  if (schema == nullptr) return invalid_argument("the table has no current schema yet");
  return schema;
}

// A column that takes the name of a partition field over another column would make the spec
// unreadable for Iceberg Java. One that has it already is not this commit's doing.
Status check_partition_names(const TableMetadata& metadata, const Schema& next, ApplyState& state) {
  const Schema* current = find_schema(metadata, metadata.current_schema_id);
  DIL_CHECK_OK(spend(state.work, count_partition_fields(metadata) + count_fields(next) +
                                     (current == nullptr ? 0 : count_fields(*current))));
  Schema none;
  SchemaIndex after(next);
  SchemaIndex before(current == nullptr ? none : *current);
  for (const PartitionSpec& spec : metadata.partition_specs) {
    for (const PartitionField& field : spec.fields) {
      if (after.find(field.source_id) == nullptr) continue;
      if (after.has_other_column(field.name, field.source_id) &&
          !before.has_other_column(field.name, field.source_id)) {
        return invalid_argument(
            "Cannot create identity partition sourced from different field in schema: a column "
            "takes the name of field {} of partition spec {}",
            field.field_id, spec.spec_id);
      }
    }
  }
  return {};
}

template <class Item>
void remove_listed(std::vector<Item>& items, std::int32_t Item::* id,
                   const std::vector<std::int32_t>& ids) {
  std::unordered_set<std::int32_t> wanted(ids.begin(), ids.end());
  std::erase_if(items, [&](const Item& item) { return wanted.contains(item.*id); });
}

}  // namespace

const Schema* find_schema(const TableMetadata& metadata, std::int32_t id) {
  for (const Schema& schema : metadata.schemas) {
    if (schema.schema_id == id) return &schema;
  }
  return nullptr;
}

const PartitionSpec* find_spec(const TableMetadata& metadata, std::int32_t id) {
  for (const PartitionSpec& spec : metadata.partition_specs) {
    if (spec.spec_id == id) return &spec;
  }
  return nullptr;
}

const SortOrder* find_order(const TableMetadata& metadata, std::int32_t id) {
  for (const SortOrder& order : metadata.sort_orders) {
    if (order.order_id == id) return &order;
  }
  return nullptr;
}

bool is_same_schema(const Schema& a, const Schema& b) {
  auto identifiers = [](const Schema& schema) {
    return std::set<FieldId>(schema.identifier_field_ids.begin(),
                             schema.identifier_field_ids.end());
  };
  return a.fields == b.fields && identifiers(a) == identifiers(b);
}

std::size_t count_fields(const Schema& schema) {
  std::size_t count = 0;
  visit_fields(schema.fields, [&](const Field&, const Field*) { ++count; });
  return count;
}

Status check_column_names(const Schema& schema, const std::vector<Schema>& known) {
  Status status;
  visit_fields(schema.fields, [&](const Field& field, const Field*) {
    if (!status.has_value()) return;
    // DuckDB has no name for such a column, and could not read the table any more.
    if (field.name.empty() || field.name.find('\0') != std::string::npos) {
      status = invalid_argument("field {} has an empty name, or one with a NUL", field.id.value);
      return;
    }
    if (!is_reserved_name(field.name)) return;
    for (const Schema& other : known) {
      const Field* same = other.find(field.id);
      if (same != nullptr && same->name == field.name) return;
    }
    status = check_unreserved_name("column", field.name);
  });
  return status;
}

Status spend(std::size_t& work, std::size_t units) {
  work += units;
  if (work <= kMaxWork) return {};
  return invalid_argument("the commit changes too many definitions at once");
}

Status add_schema(TableMetadata& metadata, const AddSchema& update, ApplyState& state) {
  DIL_CHECK_OK(check_schema(update.schema));
  DIL_CHECK_OK(check_schema_version(update.schema, metadata.format_version));
  DIL_CHECK_OK(check_column_names(update.schema, metadata.schemas));
  metadata.last_column_id =
      std::max(metadata.last_column_id, update.schema.highest_field_id().value);
  std::size_t size = count_fields(update.schema);
  for (const Schema& schema : metadata.schemas) {
    if (schema.fields.size() != update.schema.fields.size()) continue;
    DIL_CHECK_OK(spend(state.work, size));
    if (!is_same_schema(schema, update.schema)) continue;
    state.last_added_schema = schema.schema_id;
    return {};
  }
  Schema schema = update.schema;
  DIL_TRY(schema.schema_id, next_id(metadata.schemas, &Schema::schema_id, 0));
  state.last_added_schema = schema.schema_id;
  metadata.schemas.push_back(std::move(schema));
  return {};
}

Status set_current_schema(TableMetadata& metadata, const SetCurrentSchema& update,
                          ApplyState& state) {
  std::int32_t id = update.schema_id;
  if (id == kLastAdded) {
    if (!state.last_added_schema.has_value()) {
      return invalid_argument("Cannot set last added schema: no schema has been added");
    }
    id = *state.last_added_schema;
  }
  const Schema* schema = find_schema(metadata, id);
  if (schema == nullptr) {
    return invalid_argument("Cannot set current schema to unknown schema: {}", id);
  }
  if (id == metadata.current_schema_id) return {};
  DIL_CHECK_OK(check_partition_names(metadata, *schema, state));
  metadata.current_schema_id = id;
  return {};
}

Status add_partition_spec(TableMetadata& metadata, const AddPartitionSpec& update,
                          ApplyState& state) {
  for (const PartitionSpec& spec : metadata.partition_specs) {
    if (spec.fields.size() != update.spec.fields.size()) continue;
    DIL_CHECK_OK(spend(state.work, 1 + spec.fields.size()));
    if (!is_same_spec(spec, update.spec)) continue;
    state.last_added_spec = spec.spec_id;
    return {};
  }
  PartitionSpec spec = update.spec;
  DIL_TRY(spec.spec_id, next_id(metadata.partition_specs, &PartitionSpec::spec_id, 0));
  if (!spec.fields.empty()) {
    DIL_TRY(const Schema* schema, current_schema(metadata));
    DIL_CHECK_OK(spend(state.work, count_fields(*schema) + count_partition_fields(metadata)));
    DIL_CHECK_OK(check_partition_spec(SchemaIndex(*schema), spec));
    FieldIds ids(metadata);
    DIL_CHECK_OK(ids.assign(spec));
    metadata.last_partition_id = ids.last();
  }
  state.last_added_spec = spec.spec_id;
  metadata.partition_specs.push_back(std::move(spec));
  return {};
}

Status set_default_spec(TableMetadata& metadata, const SetDefaultSpec& update, ApplyState& state) {
  std::int32_t id = update.spec_id;
  if (id == kLastAdded) {
    if (!state.last_added_spec.has_value()) {
      return invalid_argument("Cannot set last added spec: no spec has been added");
    }
    id = *state.last_added_spec;
  }
  if (find_spec(metadata, id) == nullptr) {
    return invalid_argument("Cannot set default partition spec to unknown spec: {}", id);
  }
  metadata.default_spec_id = id;
  return {};
}

Status add_sort_order(TableMetadata& metadata, const AddSortOrder& update, ApplyState& state) {
  for (const SortOrder& order : metadata.sort_orders) {
    if (order.fields.size() != update.order.fields.size()) continue;
    DIL_CHECK_OK(spend(state.work, 1 + order.fields.size()));
    if (order.fields != update.order.fields) continue;
    state.last_added_order = order.order_id;
    return {};
  }
  SortOrder order = update.order;
  order.order_id = 0;
  if (!order.fields.empty()) {
    DIL_TRY(order.order_id, next_id(metadata.sort_orders, &SortOrder::order_id, 1));
    DIL_TRY(const Schema* schema, current_schema(metadata));
    DIL_CHECK_OK(spend(state.work, count_fields(*schema)));
    DIL_CHECK_OK(check_sort_order(SchemaIndex(*schema), order));
  }
  state.last_added_order = order.order_id;
  metadata.sort_orders.push_back(std::move(order));
  return {};
}

Status set_default_sort_order(TableMetadata& metadata, const SetDefaultSortOrder& update,
                              ApplyState& state) {
  std::int32_t id = update.order_id;
  if (id == kLastAdded) {
    if (!state.last_added_order.has_value()) {
      return invalid_argument("Cannot set last added sort order: no sort order has been added");
    }
    id = *state.last_added_order;
  }
  if (id != 0 && find_order(metadata, id) == nullptr) {
    return invalid_argument("Cannot set default sort order to unknown order: {}", id);
  }
  metadata.default_sort_order_id = id;
  return {};
}

Status remove_partition_specs(TableMetadata& metadata, const RemovePartitionSpecs& update,
                              ApplyState& state) {
  const std::vector<std::int32_t>& ids = update.spec_ids;
  if (std::find(ids.begin(), ids.end(), metadata.default_spec_id) != ids.end()) {
    return invalid_argument("Cannot remove the default partition spec");
  }
  DIL_CHECK_OK(spend(state.work, ids.size() + metadata.partition_specs.size()));
  remove_listed(metadata.partition_specs, &PartitionSpec::spec_id, ids);
  if (state.last_added_spec.has_value() && find_spec(metadata, *state.last_added_spec) == nullptr) {
    state.last_added_spec.reset();
  }
  return {};
}

Status remove_schemas(TableMetadata& metadata, const RemoveSchemas& update, ApplyState& state) {
  const std::vector<std::int32_t>& ids = update.schema_ids;
  if (std::find(ids.begin(), ids.end(), metadata.current_schema_id) != ids.end()) {
    return invalid_argument("Cannot remove the current schema");
  }
  DIL_CHECK_OK(spend(state.work, ids.size() + metadata.schemas.size()));
  remove_listed(metadata.schemas, &Schema::schema_id, ids);
  if (state.last_added_schema.has_value() &&
      find_schema(metadata, *state.last_added_schema) == nullptr) {
    state.last_added_schema.reset();
  }
  return {};
}

}  // namespace duckicelake::iceberg
