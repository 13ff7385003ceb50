// SPDX-License-Identifier: Apache-2.0
#include "iceberg/new_table.h"

#include <array>
#include <charconv>

#include "iceberg/definition_apply.h"
#include "iceberg/fresh_ids.h"
#include "iceberg/reserved_names.h"
#include "iceberg/schema_index.h"
#include "iceberg/update_apply.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::int32_t kFirstPartitionFieldId = 1000;

// Iceberg Java's clients read these as numbers in every commit and fail on anything else.
constexpr std::array<std::string_view, 4> kCommitProperties = {
    "commit.retry.num-retries", "commit.retry.min-wait-ms", "commit.retry.max-wait-ms",
    "commit.retry.total-timeout-ms"};

Status check_commit_properties(const std::map<std::string, std::string>& properties) {
  for (std::string_view key : kCommitProperties) {
    auto found = properties.find(std::string(key));
    if (found == properties.end()) continue;
    const std::string& text = found->second;
    std::int32_t number = 0;
    auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
      return invalid_argument("Table property {} must have integer value", key);
    }
    if (number < 0) {
      return invalid_argument("Table property {} must have non negative integer value", key);
    }
  }
  return {};
}

Status move_properties(std::map<std::string, std::string> properties, TableMetadata& metadata) {
  if (auto version = properties.find(std::string(kFormatVersionProperty));
      version != properties.end()) {
    DIL_TRY(metadata.format_version, parse_format_version(version->second));
  }
  for (auto& [key, value] : properties) {
    if (is_server_property(key)) {
      return make_error(Code::kPermissionDenied, "the property \"{}\" belongs to the server",
                        key.size() <= 128 ? key : fmt::format("({} bytes)", key.size()));
    }
  }
  std::erase_if(properties, [](const auto& item) { return is_metadata_property(item.first); });
  DIL_CHECK_OK(check_commit_properties(properties));
  metadata.properties = std::move(properties);
  return {};
}

Result<FieldId> moved(const FreshSchema& fresh, FieldId id, std::string_view what) {
  auto found = fresh.new_id_of.find(id.value);
  if (found == fresh.new_id_of.end()) {
    return invalid_argument("Cannot find source column for {}: source-id {}", what, id.value);
  }
  return FieldId(found->second);
}

}  // namespace

Result<TableMetadata> new_table_metadata(NewTable request) {
  TableMetadata metadata;
  metadata.format_version = request.format_version;
  DIL_CHECK_OK(move_properties(std::move(request.properties), metadata));
  DIL_CHECK_OK(check_format_version(metadata.format_version));
  if (metadata.format_version >= 3) metadata.next_row_id = 0;
  metadata.table_uuid = std::move(request.uuid);
  metadata.location = std::move(request.location);
  metadata.last_updated_ms = request.now_ms;

  DIL_CHECK_OK(check_schema(request.schema));
  DIL_CHECK_OK(check_schema_version(request.schema, metadata.format_version));
  DIL_CHECK_OK(check_column_names(request.schema, {}));
  FreshSchema fresh = assign_fresh_ids(request.schema);
  metadata.last_column_id = fresh.last_column_id;
  metadata.schemas.push_back(fresh.schema);
  SchemaIndex index(metadata.schemas.front());

  PartitionSpec spec = std::move(request.spec).value_or(PartitionSpec{});
  spec.spec_id = 0;
  std::int32_t next_field_id = kFirstPartitionFieldId;
  for (PartitionField& field : spec.fields) {
    DIL_TRY(field.source_id, moved(fresh, field.source_id, "partition field"));
    field.field_id = next_field_id++;
  }
  DIL_CHECK_OK(check_partition_spec(index, spec));
  metadata.last_partition_id = next_field_id - 1;
  metadata.partition_specs.push_back(std::move(spec));

  SortOrder order = std::move(request.order).value_or(SortOrder{});
  order.order_id = order.fields.empty() ? 0 : 1;
  for (SortField& field : order.fields) {
    DIL_TRY(field.source_id, moved(fresh, field.source_id, "sort field"));
  }
  DIL_CHECK_OK(check_sort_order(index, order));
  metadata.default_sort_order_id = order.order_id;
  metadata.sort_orders.push_back(std::move(order));

  DIL_CHECK_OK(check_definitions(metadata));
  return metadata;
}

}  // namespace duckicelake::iceberg
