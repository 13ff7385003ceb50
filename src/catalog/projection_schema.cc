// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "catalog/projection_run.h"

namespace duckicelake::catalog {
namespace {

constexpr std::string_view kFormatVersionProperty = "format-version";
constexpr std::string_view kNameMappingProperty = "schema.name-mapping.default";

// What DuckLake's own maintenance and ours take care of; a client's collector would remove files
// that only DuckLake or hidden snapshots refer to.
constexpr std::string_view kGcProperty = "gc.enabled";
constexpr std::string_view kHiddenColumnsProperty = "duckicelake.hidden-columns";

// No DuckLake partitioning (sort order) is live.
constexpr std::int64_t kNoBinding = -1;

std::string hidden_columns_text(const std::vector<translate::HiddenColumn>& hidden) {
  std::string out;
  for (const translate::HiddenColumn& column : hidden) {
    if (!out.empty()) out.append("; ");
    out.append(column.name).append(": ").append(translate::hidden_reason_text(column.reason));
  }
  return out;
}

}  // namespace

Status ProjectionRun::build_definition() {
  iceberg::TableMetadata& document = state_.document;
  document.table_uuid = definition_.table.uuid;
  document.location = places_.location;
  for (const ducklake::ColumnRow& column : definition_.columns) {
    document.last_column_id = std::max(document.last_column_id, column.column_id.value);
  }
  DIL_CHECK_OK(build_schemas());
  DIL_CHECK_OK(build_specs());
  return {};
}

std::int32_t ProjectionRun::register_schema(iceberg::Schema schema) {
  auto& schemas = state_.document.schemas;
  std::int32_t next = 0;
  for (const iceberg::Schema& known : schemas) {
    if (known.same_columns(schema)) return known.schema_id;
    next = std::max(next, known.schema_id + 1);
  }
  schema.schema_id = next;
  schemas.push_back(std::move(schema));
  return next;
}

const iceberg::Schema* ProjectionRun::current_schema() const {
  for (const iceberg::Schema& schema : state_.document.schemas) {
    if (schema.schema_id == state_.document.current_schema_id) return &schema;
  }
  return nullptr;
}

std::int32_t ProjectionRun::schema_id_at(std::int64_t snapshot) const {
  std::int32_t id =
      schema_points_.empty() ? state_.document.current_schema_id : schema_points_[0].second;
  for (const auto& [from, schema_id] : schema_points_) {
    if (from <= snapshot) id = schema_id;
  }
  return id;
}

Status ProjectionRun::build_schemas() {
  translate::SchemaInput input;
  input.columns = definition_.columns;
  input.tags = definition_.column_tags;
  input.table_begin = definition_.first_begin;
  input.stats = definition_.stats ? &*definition_.stats : nullptr;
  DIL_TRY(input.oldest_live_file,
          store::load_oldest_live(connection_, owner_.lake_, table_, definition_.inlined_tables));

  bool needs_v3 = false;
  std::vector<translate::HiddenColumn> hidden;
  if (!is_first_) schema_points_.emplace_back(-1, state_.document.current_schema_id);
  std::vector<SnapshotId> points = translate::schema_change_points(input);
  // The present one last, in any case: what is hidden depends on the files of now.
  points.push_back(head_.snapshot);
  for (SnapshotId point : points) {
    if (point > head_.snapshot) continue;
    if (!is_first_ && point <= state_.stored.through && point != head_.snapshot) continue;
    DIL_TRY(translate::BuiltSchema built, translate::build_schema_at(input, point));
    needs_v3 = needs_v3 || built.needs_v3;
    if (built.schema.fields.empty()) {
      if (point != head_.snapshot) continue;
      return make_error(Code::kUnsupported,
                        "none of the table's columns can be shown to Iceberg readers ({})",
                        hidden_columns_text(built.hidden));
    }
    hidden = std::move(built.hidden);
    if (const iceberg::Schema* known = current_schema()) {
      std::vector<ducklake::ColumnRow> rows;
      for (const ducklake::ColumnRow& row : definition_.columns) {
        if (row.life.live_at(point)) rows.push_back(row);
      }
      built.schema = translate::refine_schema(std::move(built.schema), *known, rows);
    }
    const std::int32_t id = register_schema(std::move(built.schema));
    // A schema that changed without a snapshot of DuckLake's (a column came out of hiding) holds
    // from the next snapshot on as well as for the table as a whole.
    schema_points_.emplace_back(point.value, id);
    state_.document.current_schema_id = id;
  }

  int version = state_.document.format_version;
  if (is_first_) version = std::max(version, owner_.config_.default_format_version);
  if (auto it = stored_properties_.find(std::string(kFormatVersionProperty));
      it != stored_properties_.end() && it->second == "3") {
    version = 3;
  }
  if (needs_v3) version = 3;
  if (!is_first_ && version > state_.document.format_version && !state_.head.manifests.empty()) {
    state_.stored.must_rewrite = true;
  }
  state_.document.format_version = std::max(version, 2);
  return build_properties(hidden);
}

Status ProjectionRun::build_properties(const std::vector<translate::HiddenColumn>& hidden) {
  std::map<std::string, std::string> properties;
  for (const auto& [key, value] : stored_properties_) {
    if (key != kFormatVersionProperty) properties[key] = value;
  }
  properties.emplace(kGcProperty, "false");
  if (definition_.comment) properties["comment"] = *definition_.comment;
  if (!hidden.empty())
    properties[std::string(kHiddenColumnsProperty)] = hidden_columns_text(hidden);
  if (!definition_.name_mappings.empty()) {
    const iceberg::TableMetadata& document = state_.document;
    const auto current = std::find_if(document.schemas.begin(), document.schemas.end(),
                                      [&](const iceberg::Schema& schema) {
                                        return schema.schema_id == document.current_schema_id;
                                      });
    std::string& property = properties[std::string(kNameMappingProperty)];
    DIL_TRY(property, translate::name_mapping_json(*current, definition_.name_mappings, property));
  }
  state_.document.properties = std::move(properties);
  return {};
}

Status ProjectionRun::build_specs() {
  iceberg::TableMetadata& document = state_.document;
  const iceberg::Schema& current = *current_schema();
  if (document.partition_specs.empty()) document.partition_specs.push_back({});
  translate::SpecHistory known;
  known.specs = document.partition_specs;
  known.last_partition_id = document.last_partition_id;
  DIL_TRY(specs_, translate::extend_spec_history(
                      std::move(known), definition_.partitions, current, definition_.columns,
                      is_first_ ? SnapshotId(-1) : state_.stored.through));
  document.partition_specs = specs_.specs;
  document.last_partition_id = specs_.last_partition_id;
  std::int64_t live = kNoBinding;
  for (const ducklake::PartitionInfo& info : definition_.partitions) {
    if (!info.life.end) live = info.partition_id;
  }
  if (state_.stored.spec_binding != live) {
    state_.stored.spec_binding.reset();
    document.default_spec_id = translate::kNoSpec;
    for (const translate::SpecBinding& binding : specs_.bindings) {
      if (binding.partition_id == live) document.default_spec_id = binding.spec_id;
    }
    if (document.default_spec_id == translate::kNoSpec) {
      document.default_spec_id = unpartitioned_spec();
    }
  }
  return build_sort_orders(current);
}

// Found, or added to a table that a client created with another one.
std::int32_t ProjectionRun::unpartitioned_spec() {
  std::vector<iceberg::PartitionSpec>& specs = state_.document.partition_specs;
  std::int32_t next = 0;
  for (const iceberg::PartitionSpec& spec : specs) {
    if (spec.is_unpartitioned()) return spec.spec_id;
    next = std::max(next, spec.spec_id + 1);
  }
  specs.push_back({next, {}});
  specs_.specs = specs;
  specs_.unpartitioned_id = next;
  return next;
}

Status ProjectionRun::build_sort_orders(const iceberg::Schema& current) {
  iceberg::TableMetadata& document = state_.document;
  std::int64_t live = kNoBinding;
  for (const ducklake::SortInfo& info : definition_.sorts) {
    if (!info.life.end) live = info.sort_id;
  }
  translate::SortHistory sorts;
  sorts.orders = document.sort_orders;
  DIL_TRY(sorts, translate::extend_sort_history(std::move(sorts), definition_.sorts, current));
  document.sort_orders = std::move(sorts.orders);
  if (state_.stored.sort_binding != live) {
    state_.stored.sort_binding.reset();
    document.default_sort_order_id = sorts.current_order_id;
  }
  return {};
}

}  // namespace duckicelake::catalog
