// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/uuid.h"
#include "iceberg/table_metadata.h"

namespace duckicelake::iceberg {
namespace {

// Iceberg Java tolerates this much disorder between the clocks of writers.
constexpr std::int64_t kClockSkewMs = 60'000;

using FieldMap = std::unordered_map<std::int32_t, const Field*>;

// Fields that a partition or sort field may have as its source: not below a list or a map.
void collect_sources(const std::vector<Field>& fields, FieldMap& sources) {
  for (const Field& field : fields) {
    sources.emplace(field.id.value, &field);
    if (field.type.kind == TypeKind::kStruct) collect_sources(field.type.fields, sources);
  }
}

Status check_source(const FieldMap& sources, FieldId id, const Transform& transform,
                    std::string_view what) {
  if (transform.kind == TransformKind::kVoid) return {};  // its source may be dropped
  auto found = sources.find(id.value);
  if (found == sources.end()) {
    return invalid_argument("{}: source-id {} is not a column of the current schema", what,
                            id.value);
  }
  auto type = transform.result_type(found->second->type);
  if (!type.has_value()) return invalid_argument("{}: {}", what, type.error().message());
  return {};
}

Status check_basics(const TableMetadata& metadata) {
  if (metadata.format_version != 2 && metadata.format_version != 3) {
    return make_error(Code::kUnsupported, "format-version {} is not supported, 2 and 3 are",
                      metadata.format_version);
  }
  if (!Uuid::parse(metadata.table_uuid).has_value()) {
    return invalid_argument("table-uuid: not a UUID");
  }
  if (metadata.location.empty()) return invalid_argument("location: empty");
  if (metadata.last_sequence_number < 0) return invalid_argument("last-sequence-number: negative");
  if (metadata.format_version >= 3) {
    if (!metadata.next_row_id.has_value()) return invalid_argument("next-row-id: missing");
    if (*metadata.next_row_id < 0) return invalid_argument("next-row-id: negative");
  }
  return {};
}

Status check_schemas(const TableMetadata& metadata) {
  std::unordered_set<std::int32_t> ids;
  for (const Schema& schema : metadata.schemas) {
    if (!ids.insert(schema.schema_id).second) {
      return invalid_argument("schemas: schema-id {} is used twice", schema.schema_id);
    }
    if (auto status = check_schema(schema); !status.has_value()) {
      return invalid_argument("schemas: schema {}: {}", schema.schema_id, status.error().message());
    }
    if (schema.highest_field_id().value > metadata.last_column_id) {
      return invalid_argument("last-column-id: below field {} of schema {}",
                              schema.highest_field_id().value, schema.schema_id);
    }
    if (required_format_version(schema) > metadata.format_version) {
      return invalid_argument("schemas: schema {} needs format version {}", schema.schema_id,
                              required_format_version(schema));
    }
  }
  if (!ids.contains(metadata.current_schema_id)) {
    return invalid_argument("current-schema-id: schema {} is not listed",
                            metadata.current_schema_id);
  }
  for (const Snapshot& snapshot : metadata.snapshots) {
    if (snapshot.schema_id.has_value() && !ids.contains(*snapshot.schema_id)) {
      return invalid_argument("snapshots: snapshot {} names schema {}, which is not listed",
                              snapshot.snapshot_id, *snapshot.schema_id);
    }
  }
  return {};
}

Status check_specs(const TableMetadata& metadata, const FieldMap& sources) {
  std::unordered_set<std::int32_t> ids;
  for (const PartitionSpec& spec : metadata.partition_specs) {
    if (!ids.insert(spec.spec_id).second) {
      return invalid_argument("partition-specs: spec-id {} is used twice", spec.spec_id);
    }
    for (const PartitionField& field : spec.fields) {
      std::string what =
          fmt::format("partition-specs: spec {}, field {}", spec.spec_id, field.field_id);
      if (field.field_id < 1) return invalid_argument("{}: the field-id is missing", what);
      if (field.field_id > metadata.last_partition_id) {
        return invalid_argument("{}: above last-partition-id {}", what, metadata.last_partition_id);
      }
      if (spec.spec_id == metadata.default_spec_id) {
        DIL_CHECK_OK(check_source(sources, field.source_id, field.transform, what));
      }
    }
  }
  if (!ids.contains(metadata.default_spec_id)) {
    return invalid_argument("default-spec-id: spec {} is not listed", metadata.default_spec_id);
  }
  return {};
}

Status check_orders(const TableMetadata& metadata, const FieldMap& sources) {
  std::unordered_set<std::int32_t> ids;
  for (const SortOrder& order : metadata.sort_orders) {
    if (!ids.insert(order.order_id).second) {
      return invalid_argument("sort-orders: order-id {} is used twice", order.order_id);
    }
    if (order.order_id != metadata.default_sort_order_id) continue;
    for (const SortField& field : order.fields) {
      std::string what = fmt::format("sort-orders: order {}", order.order_id);
      DIL_CHECK_OK(check_source(sources, field.source_id, field.transform, what));
    }
  }
  // Order 0 is the unsorted one; it need not be listed.
  if (metadata.default_sort_order_id != 0 && !ids.contains(metadata.default_sort_order_id)) {
    return invalid_argument("default-sort-order-id: order {} is not listed",
                            metadata.default_sort_order_id);
  }
  return {};
}

Status check_refs(const TableMetadata& metadata) {
  std::unordered_set<std::int64_t> ids;
  for (const Snapshot& snapshot : metadata.snapshots) {
    if (!ids.insert(snapshot.snapshot_id).second) {
      return invalid_argument("snapshots: snapshot-id {} is used twice", snapshot.snapshot_id);
    }
    if (snapshot.sequence_number > metadata.last_sequence_number) {
      return invalid_argument("last-sequence-number: below that of snapshot {}",
                              snapshot.snapshot_id);
    }
  }
  for (const auto& [name, ref] : metadata.refs) {
    if (name.empty()) return invalid_argument("refs: a name is empty");
    if (!ids.contains(ref.snapshot_id)) {
      return invalid_argument("refs: snapshot {} is not listed", ref.snapshot_id);
    }
  }
  auto main = metadata.refs.find("main");
  if (metadata.current_snapshot_id.has_value() != (main != metadata.refs.end())) {
    return invalid_argument(
        "current-snapshot-id: it and refs.main must both be there or both be absent");
  }
  if (main == metadata.refs.end()) return {};
  if (main->second.type != RefType::kBranch) return invalid_argument("refs.main: not a branch");
  if (main->second.snapshot_id != *metadata.current_snapshot_id) {
    return invalid_argument("current-snapshot-id: {} differs from refs.main, {}",
                            *metadata.current_snapshot_id, main->second.snapshot_id);
  }
  return {};
}

template <class Entry>
Status check_log(std::string_view name, const std::vector<Entry>& log,
                 std::int64_t last_updated_ms) {
  auto after = [](std::int64_t a, std::int64_t b) { return a > b && a - kClockSkewMs > b; };
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (log[i].timestamp_ms < 0) return invalid_argument("{}[{}]: the time is negative", name, i);
    if (i > 0 && after(log[i - 1].timestamp_ms, log[i].timestamp_ms)) {
      return invalid_argument("{}[{}]: over a minute before the entry that precedes it", name, i);
    }
  }
  if (!log.empty() && last_updated_ms >= 0 && after(log.back().timestamp_ms, last_updated_ms)) {
    return invalid_argument("last-updated-ms: over a minute before the last entry of {}", name);
  }
  return {};
}

}  // namespace

Status check_metadata(const TableMetadata& metadata) {
  DIL_CHECK_OK(check_basics(metadata));
  DIL_CHECK_OK(check_schemas(metadata));
  FieldMap sources;
  for (const Schema& schema : metadata.schemas) {
    if (schema.schema_id == metadata.current_schema_id) collect_sources(schema.fields, sources);
  }
  DIL_CHECK_OK(check_specs(metadata, sources));
  DIL_CHECK_OK(check_orders(metadata, sources));
  DIL_CHECK_OK(check_refs(metadata));
  DIL_CHECK_OK(check_log("snapshot-log", metadata.snapshot_log, metadata.last_updated_ms));
  DIL_CHECK_OK(check_log("metadata-log", metadata.metadata_log, metadata.last_updated_ms));
  return {};
}

}  // namespace duckicelake::iceberg
