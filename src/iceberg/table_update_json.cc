// SPDX-License-Identifier: Apache-2.0
#include "iceberg/table_update_json.h"

#include <array>
#include <utility>

#include "iceberg/ascii.h"
#include "iceberg/partition_spec_json.h"
#include "iceberg/schema_json.h"
#include "iceberg/snapshot_json.h"
#include "iceberg/sort_order_json.h"
#include "iceberg/table_metadata_json.h"

namespace duckicelake::iceberg {
namespace {

Result<std::string> require_text(const json::Object& object, std::string_view name) {
  DIL_TRY(std::string_view text, object.require_string(name));
  return std::string(text);
}

Result<std::string> require_name(const json::Object& object, std::string_view name) {
  DIL_TRY(std::string text, require_text(object, name));
  if (text.empty()) return object.value().error(fmt::format("the {} is empty", name));
  return text;
}

Result<std::vector<std::int32_t>> require_ids(const json::Object& object, std::string_view name) {
  DIL_TRY(json::Array array, object.require_array(name));
  std::vector<std::int32_t> ids;
  ids.reserve(array.size());
  for (json::Value item : array) {
    DIL_TRY(std::int32_t id, item.as_int32());
    ids.push_back(id);
  }
  return ids;
}

Result<SetCurrentSchema> read_set_current_schema(const json::Object& object) {
  SetCurrentSchema update;
  DIL_TRY(update.schema_id, object.require_int32("schema-id"));
  return update;
}

Result<AddPartitionSpec> read_add_spec(const json::Object& object) {
  AddPartitionSpec update;
  DIL_TRY(json::Value spec, object.require("spec"));
  DIL_TRY(update.spec, read_partition_spec(spec));
  return update;
}

Result<SetDefaultSpec> read_set_default_spec(const json::Object& object) {
  SetDefaultSpec update;
  DIL_TRY(update.spec_id, object.require_int32("spec-id"));
  return update;
}

Result<AddSortOrder> read_add_sort_order(const json::Object& object) {
  AddSortOrder update;
  DIL_TRY(json::Value order, object.require("sort-order"));
  DIL_TRY(update.order, read_sort_order(order));
  return update;
}

Result<SetDefaultSortOrder> read_set_default_sort_order(const json::Object& object) {
  SetDefaultSortOrder update;
  DIL_TRY(update.order_id, object.require_int32("sort-order-id"));
  return update;
}

Result<AddSnapshot> read_add_snapshot(const json::Object& object) {
  AddSnapshot update;
  DIL_TRY(json::Value snapshot, object.require("snapshot"));
  DIL_TRY(update.snapshot, read_snapshot(snapshot));
  return update;
}

Result<SetSnapshotRef> read_set_snapshot_ref(const json::Object& object) {
  SetSnapshotRef update;
  DIL_TRY(update.name, require_name(object, "ref-name"));
  DIL_TRY(update.ref, read_snapshot_ref(object.value()));  // its members lie beside the name
  return update;
}

Result<RemoveSnapshots> read_remove_snapshots(const json::Object& object) {
  RemoveSnapshots update;
  DIL_TRY(json::Array ids, object.require_array("snapshot-ids"));
  update.snapshot_ids.reserve(ids.size());
  for (json::Value item : ids) {
    DIL_TRY(std::int64_t id, item.as_int64());
    update.snapshot_ids.push_back(id);
  }
  return update;
}

Result<RemoveSnapshotRef> read_remove_snapshot_ref(const json::Object& object) {
  RemoveSnapshotRef update;
  DIL_TRY(update.name, require_name(object, "ref-name"));
  return update;
}

// The snapshot-id beside the file is deprecated; the file's own counts, as in Iceberg Java.
Result<SetStatistics> read_set_statistics(const json::Object& object) {
  SetStatistics update;
  DIL_TRY(json::Value file, object.require("statistics"));
  DIL_TRY(update.json, read_complete_statistics_file(file));
  DIL_TRY(json::Object members, file.as_object());
  DIL_TRY(update.snapshot_id, members.require_int64("snapshot-id"));
  return update;
}

Result<RemoveStatistics> read_remove_statistics(const json::Object& object) {
  RemoveStatistics update;
  DIL_TRY(update.snapshot_id, object.require_int64("snapshot-id"));
  return update;
}

Result<SetPartitionStatistics> read_set_partition_statistics(const json::Object& object) {
  SetPartitionStatistics update;
  DIL_TRY(json::Value file, object.require("partition-statistics"));
  DIL_TRY(update.json, read_complete_partition_statistics_file(file));
  DIL_TRY(json::Object members, file.as_object());
  DIL_TRY(update.snapshot_id, members.require_int64("snapshot-id"));
  return update;
}

Result<RemovePartitionStatistics> read_remove_partition_statistics(const json::Object& object) {
  RemovePartitionStatistics update;
  DIL_TRY(update.snapshot_id, object.require_int64("snapshot-id"));
  return update;
}

Result<RemovePartitionSpecs> read_remove_partition_specs(const json::Object& object) {
  RemovePartitionSpecs update;
  DIL_TRY(update.spec_ids, require_ids(object, "spec-ids"));
  return update;
}

Result<RemoveSchemas> read_remove_schemas(const json::Object& object) {
  RemoveSchemas update;
  DIL_TRY(update.schema_ids, require_ids(object, "schema-ids"));
  return update;
}

Result<AddEncryptionKey> read_add_encryption_key(const json::Object& object) {
  AddEncryptionKey update;
  DIL_TRY(json::Value key, object.require("encryption-key"));
  DIL_TRY(update.json, read_encryption_key(key));
  DIL_TRY(json::Object members, key.as_object());
  DIL_TRY(update.key_id, require_text(members, "key-id"));
  return update;
}

Result<RemoveEncryptionKey> read_remove_encryption_key(const json::Object& object) {
  RemoveEncryptionKey update;
  DIL_TRY(update.key_id, require_text(object, "key-id"));
  return update;
}

template <auto read>
Result<TableUpdate> read_as(const json::Object& object) {
  DIL_TRY(auto update, read(object));
  return TableUpdate(std::move(update));
}

struct Action {
  std::string_view name;
  Result<TableUpdate> (*read)(const json::Object&);
};

// In the order of the alternatives of TableUpdate.
constexpr std::array kActions = {
    Action{"assign-uuid", read_as<read_assign_uuid>},
    Action{"upgrade-format-version", read_as<read_upgrade_format_version>},
    Action{"add-schema", read_as<read_add_schema>},
    Action{"set-current-schema", read_as<read_set_current_schema>},
    Action{"add-spec", read_as<read_add_spec>},
    Action{"set-default-spec", read_as<read_set_default_spec>},
    Action{"add-sort-order", read_as<read_add_sort_order>},
    Action{"set-default-sort-order", read_as<read_set_default_sort_order>},
    Action{"add-snapshot", read_as<read_add_snapshot>},
    Action{"set-snapshot-ref", read_as<read_set_snapshot_ref>},
    Action{"remove-snapshots", read_as<read_remove_snapshots>},
    Action{"remove-snapshot-ref", read_as<read_remove_snapshot_ref>},
    Action{"set-location", read_as<read_set_location>},
    Action{"set-properties", read_as<read_set_properties>},
    Action{"remove-properties", read_as<read_remove_properties>},
    Action{"set-statistics", read_as<read_set_statistics>},
    Action{"remove-statistics", read_as<read_remove_statistics>},
    Action{"set-partition-statistics", read_as<read_set_partition_statistics>},
    Action{"remove-partition-statistics", read_as<read_remove_partition_statistics>},
    Action{"remove-partition-specs", read_as<read_remove_partition_specs>},
    Action{"remove-schemas", read_as<read_remove_schemas>},
    Action{"add-encryption-key", read_as<read_add_encryption_key>},
    Action{"remove-encryption-key", read_as<read_remove_encryption_key>},
};
static_assert(kActions.size() == std::variant_size_v<TableUpdate>);

}  // namespace

Result<std::string> read_action(const json::Object& object) {
  DIL_TRY(std::string_view action, object.require_string("action"));
  return lower_ascii(action);
}

Result<AssignUuid> read_assign_uuid(const json::Object& object) {
  AssignUuid update;
  DIL_TRY(update.uuid, require_text(object, "uuid"));
  return update;
}

Result<UpgradeFormatVersion> read_upgrade_format_version(const json::Object& object) {
  UpgradeFormatVersion update;
  DIL_TRY(update.format_version, object.require_int32("format-version"));
  return update;
}

Result<AddSchema> read_add_schema(const json::Object& object) {
  AddSchema update;
  DIL_TRY(json::Value schema, object.require("schema"));
  DIL_TRY(update.schema, read_schema(schema));
  DIL_TRY(update.last_column_id, object.optional_int32("last-column-id"));
  return update;
}

Result<SetLocation> read_set_location(const json::Object& object) {
  SetLocation update;
  DIL_TRY(update.location, require_name(object, "location"));
  return update;
}

Result<SetProperties> read_set_properties(const json::Object& object) {
  SetProperties update;
  DIL_TRY(json::Object updates, object.require_object("updates"));
  DIL_TRY(update.updates, read_string_map(updates));
  return update;
}

Result<RemoveProperties> read_remove_properties(const json::Object& object) {
  RemoveProperties update;
  DIL_TRY(json::Array removals, object.require_array("removals"));
  update.removals.reserve(removals.size());
  for (json::Value item : removals) {
    DIL_TRY(std::string_view key, item.as_string());
    update.removals.emplace_back(key);
  }
  return update;
}

std::string_view action_name(const TableUpdate& update) { return kActions[update.index()].name; }

Result<TableUpdate> read_table_update(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string action, read_action(object));
  for (const Action& known : kActions) {
    if (known.name == action) return known.read(object);
  }
  return value.error(
      fmt::format("unknown update of a table: \"{}\"",
                  action.size() <= 64 ? action : fmt::format("({} bytes)", action.size())));
}

Result<std::vector<TableUpdate>> read_table_updates(const json::Array& array) {
  if (array.size() > kMaxUpdates) {
    return array.value().error(
        fmt::format("{} updates are over the limit of {}", array.size(), kMaxUpdates));
  }
  std::vector<TableUpdate> updates;
  updates.reserve(array.size());
  std::size_t definitions = 0;
  for (json::Value item : array) {
    DIL_TRY(TableUpdate update, read_table_update(item));
    if (std::holds_alternative<AddSchema>(update) ||
        std::holds_alternative<AddPartitionSpec>(update) ||
        std::holds_alternative<AddSortOrder>(update) ||
        std::holds_alternative<SetCurrentSchema>(update)) {
      if (++definitions > kMaxDefinitionUpdates) {
        return item.error(
            fmt::format("over {} changes of schemas, specs and sort orders in one commit",
                        kMaxDefinitionUpdates));
      }
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace duckicelake::iceberg
