// SPDX-License-Identifier: Apache-2.0
#include "iceberg/update_apply.h"

#include <algorithm>
#include <charconv>

#include "base/uuid.h"
#include "iceberg/definition_apply.h"
#include "iceberg/reserved_names.h"
#include "iceberg/schema_index.h"
#include "iceberg/table_metadata_json.h"
#include "json/writer.h"

namespace duckicelake::iceberg {
namespace {

constexpr int kLowestFormatVersion = 2;
constexpr int kHighestFormatVersion = 3;

// Position of the object of `list` whose id is `id`, or the size. Only texts that have the id's
// JSON text in them are parsed.
template <class Id>
Result<std::size_t> find_object(const std::vector<std::string>& list, const Id& id,
                                Result<Id> (*read_id)(const std::string&), ApplyState& state) {
  std::string needle;
  json::Writer(needle).value(id);
  for (std::size_t i = 0; i < list.size(); ++i) {
    DIL_CHECK_OK(spend(state.work, 1 + list[i].size() / 256));
    if (list[i].find(needle) == std::string::npos) continue;
    DIL_TRY(Id found, read_id(list[i]));
    if (found == id) return i;
  }
  return list.size();
}

Status set_statistics(std::vector<std::string>& list, std::int64_t snapshot_id,
                      const std::string& json, ApplyState& state) {
  DIL_TRY(std::size_t at, find_object(list, snapshot_id, statistics_snapshot_id, state));
  if (at == list.size()) {
    list.push_back(json);
  } else {
    list[at] = json;
  }
  return {};
}

Status remove_statistics(std::vector<std::string>& list, std::int64_t snapshot_id,
                         ApplyState& state) {
  DIL_TRY(std::size_t at, find_object(list, snapshot_id, statistics_snapshot_id, state));
  if (at < list.size()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

Status upgrade(TableMetadata& metadata, int version) {
  DIL_CHECK_OK(check_format_version(version));
  if (version < metadata.format_version) {
    return invalid_argument("Cannot downgrade v{} table to v{}", metadata.format_version, version);
  }
  metadata.format_version = version;
  if (version >= 3 && !metadata.next_row_id.has_value()) metadata.next_row_id = 0;
  return {};
}

Error server_property(const std::string& key) {
  return make_error(Code::kPermissionDenied, "the property \"{}\" belongs to the server",
                    key.size() <= 128 ? key : fmt::format("({} bytes)", key.size()));
}

struct Applier {
  TableMetadata& metadata;
  ApplyState& state;

  Status operator()(const AssignUuid& update) const {
    DIL_TRY(Uuid uuid, Uuid::parse(update.uuid));
    std::string text = uuid.to_string();
    if (metadata.table_uuid.empty()) {
      metadata.table_uuid = std::move(text);
      return {};
    }
    auto current = Uuid::parse(metadata.table_uuid);
    if (current.has_value() && *current == uuid) return {};
    return invalid_argument("Cannot reassign the uuid of a table: it is {}", metadata.table_uuid);
  }
  Status operator()(const UpgradeFormatVersion& update) const {
    return upgrade(metadata, update.format_version);
  }
  Status operator()(const SetLocation& update) const {
    if (update.location.empty()) return invalid_argument("the location is empty");
    metadata.location = update.location;
    return {};
  }
  Status operator()(const SetProperties& update) const {
    for (const auto& [key, value] : update.updates) {
      if (key == kFormatVersionProperty && state.creates_table) {
        DIL_TRY(int version, parse_format_version(value));
        DIL_CHECK_OK(upgrade(metadata, version));
        continue;
      }
      if (is_metadata_property(key)) {
        return invalid_argument("the property \"{}\" is reserved: it stands for metadata", key);
      }
      if (is_server_property(key)) {
        auto current = metadata.properties.find(key);
        if (current == metadata.properties.end() || current->second != value) {
          return server_property(key);
        }
        continue;
      }
      metadata.properties[key] = value;
    }
    return {};
  }
  Status operator()(const RemoveProperties& update) const {
    for (const std::string& key : update.removals) {
      if (is_server_property(key)) return server_property(key);
      metadata.properties.erase(key);
    }
    return {};
  }
  Status operator()(const SetStatistics& update) const {
    return set_statistics(metadata.statistics, update.snapshot_id, update.json, state);
  }
  Status operator()(const RemoveStatistics& update) const {
    return remove_statistics(metadata.statistics, update.snapshot_id, state);
  }
  Status operator()(const SetPartitionStatistics& update) const {
    return set_statistics(metadata.partition_statistics, update.snapshot_id, update.json, state);
  }
  Status operator()(const RemovePartitionStatistics& update) const {
    return remove_statistics(metadata.partition_statistics, update.snapshot_id, state);
  }
  // A key id that is there already keeps its key, as in Iceberg Java.
  Status operator()(const AddEncryptionKey& update) const {
    std::vector<std::string>& keys = metadata.encryption_keys;
    DIL_TRY(std::size_t at, find_object(keys, update.key_id, encryption_key_id, state));
    if (at == keys.size()) keys.push_back(update.json);
    return {};
  }
  Status operator()(const RemoveEncryptionKey& update) const {
    std::vector<std::string>& keys = metadata.encryption_keys;
    DIL_TRY(std::size_t at, find_object(keys, update.key_id, encryption_key_id, state));
    if (at < keys.size()) keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
  }

  Status operator()(const AddSchema& update) const { return add_schema(metadata, update, state); }
  Status operator()(const SetCurrentSchema& update) const {
    return set_current_schema(metadata, update, state);
  }
  Status operator()(const AddPartitionSpec& update) const {
    return add_partition_spec(metadata, update, state);
  }
  Status operator()(const SetDefaultSpec& update) const {
    return set_default_spec(metadata, update, state);
  }
  Status operator()(const AddSortOrder& update) const {
    return add_sort_order(metadata, update, state);
  }
  Status operator()(const SetDefaultSortOrder& update) const {
    return set_default_sort_order(metadata, update, state);
  }
  Status operator()(const RemovePartitionSpecs& update) const {
    return remove_partition_specs(metadata, update, state);
  }
  Status operator()(const RemoveSchemas& update) const {
    return remove_schemas(metadata, update, state);
  }

  Status operator()(const AddSnapshot&) const { return not_a_definition(); }
  Status operator()(const SetSnapshotRef&) const { return not_a_definition(); }
  Status operator()(const RemoveSnapshots&) const { return not_a_definition(); }
  Status operator()(const RemoveSnapshotRef&) const { return not_a_definition(); }

  static Status not_a_definition() {
    return Error(Code::kInternal, "an update of snapshots is no update of a table's definition");
  }
};

}  // namespace

Status check_format_version(int version) {
  if (version >= kLowestFormatVersion && version <= kHighestFormatVersion) return {};
  return invalid_argument("format-version {} is not supported, 2 and 3 are", version);
}

Result<int> parse_format_version(std::string_view text) {
  int version = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), version);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    return invalid_argument("the property format-version is not a number");
  }
  DIL_CHECK_OK(check_format_version(version));
  return version;
}

Status apply_definition_update(TableMetadata& metadata, const TableUpdate& update,
                               ApplyState& state) {
  return std::visit(Applier{metadata, state}, update);
}

Status check_definitions(const TableMetadata& metadata) {
  if (!Uuid::parse(metadata.table_uuid).has_value()) {
    return invalid_argument("the table has no uuid: the update assign-uuid is missing");
  }
  if (metadata.location.empty()) return invalid_argument("the table has no location");
  const Schema* schema = find_schema(metadata, metadata.current_schema_id);
  if (schema == nullptr) return invalid_argument("the table has no current schema");
  DIL_CHECK_OK(check_schema_version(*schema, metadata.format_version));
  SchemaIndex index(*schema);
  const PartitionSpec* spec = find_spec(metadata, metadata.default_spec_id);
  if (spec == nullptr) return invalid_argument("the table has no default partition spec");
  DIL_CHECK_OK(check_partition_sources(index, *spec));
  const SortOrder* order = find_order(metadata, metadata.default_sort_order_id);
  if (order == nullptr) {
    if (metadata.default_sort_order_id == 0) return {};  // the unsorted one need not be listed
    return invalid_argument("the table has no default sort order");
  }
  return check_sort_order(index, *order);
}

}  // namespace duckicelake::iceberg
