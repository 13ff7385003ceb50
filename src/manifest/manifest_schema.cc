// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest_schema.h"

namespace duckicelake::manifest {
namespace {

using avro::Kind;
using avro::NodeId;

class SchemaBuilder {
 public:
  avro::Schema schema;

  NodeId list(NodeId item, std::int32_t element_id) {
    avro::Node node(Kind::kArray);
    node.children = {item};
    node.element_id = element_id;
    return schema.add(std::move(node));
  }

  // A map with int keys is an array of key-value records (spec appendix A).
  NodeId map(std::int32_t key_id, std::int32_t value_id, Kind value) {
    avro::Node pair(Kind::kRecord);
    pair.name = fmt::format("k{}_v{}", key_id, value_id);
    add_required(pair, key_id, "key", schema.add(Kind::kInt));
    add_required(pair, value_id, "value", schema.add(value));
    avro::Node node(Kind::kArray);
    node.children = {schema.add(std::move(pair))};
    node.logical_type = "map";
    return schema.add(std::move(node));
  }

  void add_required(avro::Node& record, std::int32_t id, std::string name, NodeId type) {
    avro::RecordField field;
    field.name = std::move(name);
    field.type = type;
    field.field_id = id;
    record.fields.push_back(std::move(field));
  }
  void add_required(avro::Node& record, std::int32_t id, std::string name, Kind type) {
    add_required(record, id, std::move(name), schema.add(type));
  }

  void add_optional(avro::Node& record, std::int32_t id, std::string name, NodeId type) {
    const bool is_null = schema.node(type).kind == Kind::kNull;
    add_required(record, id, std::move(name), is_null ? type : schema.add_optional(type));
    record.fields.back().defaults_to_null = true;
  }
  void add_optional(avro::Node& record, std::int32_t id, std::string name, Kind type) {
    add_optional(record, id, std::move(name), schema.add(type));
  }
};

NodeId add_partition_record(SchemaBuilder& builder, std::span<const PartitionColumn> columns) {
  avro::Node record(Kind::kRecord);
  record.name = "r102";
  for (const PartitionColumn& column : columns) {
    builder.add_optional(record, column.field_id, column.avro_name,
                         add_partition_type(builder.schema, column));
    if (column.avro_name != column.name) record.fields.back().iceberg_name = column.name;
  }
  return builder.schema.add(std::move(record));
}

NodeId add_data_file(SchemaBuilder& builder, int format_version,
                     std::span<const PartitionColumn> columns) {
  avro::Node file(Kind::kRecord);
  file.name = "r2";
  builder.add_required(file, 134, "content", Kind::kInt);
  builder.add_required(file, 100, "file_path", Kind::kString);
  builder.add_required(file, 101, "file_format", Kind::kString);
  builder.add_required(file, 102, "partition", add_partition_record(builder, columns));
  builder.add_required(file, 103, "record_count", Kind::kLong);
  builder.add_required(file, 104, "file_size_in_bytes", Kind::kLong);
  builder.add_optional(file, 108, "column_sizes", builder.map(117, 118, Kind::kLong));
  builder.add_optional(file, 109, "value_counts", builder.map(119, 120, Kind::kLong));
  builder.add_optional(file, 110, "null_value_counts", builder.map(121, 122, Kind::kLong));
  builder.add_optional(file, 137, "nan_value_counts", builder.map(138, 139, Kind::kLong));
  builder.add_optional(file, 125, "lower_bounds", builder.map(126, 127, Kind::kBytes));
  builder.add_optional(file, 128, "upper_bounds", builder.map(129, 130, Kind::kBytes));
  builder.add_optional(file, 131, "key_metadata", Kind::kBytes);
  const NodeId offset = builder.schema.add(Kind::kLong);
  builder.add_optional(file, 132, "split_offsets", builder.list(offset, 133));
  const NodeId id = builder.schema.add(Kind::kInt);
  builder.add_optional(file, 135, "equality_ids", builder.list(id, 136));
  builder.add_optional(file, 140, "sort_order_id", Kind::kInt);
  if (format_version >= 3) builder.add_optional(file, 142, "first_row_id", Kind::kLong);
  builder.add_optional(file, 143, "referenced_data_file", Kind::kString);
  if (format_version >= 3) {
    builder.add_optional(file, 144, "content_offset", Kind::kLong);
    builder.add_optional(file, 145, "content_size_in_bytes", Kind::kLong);
  }
  return builder.schema.add(std::move(file));
}

}  // namespace

avro::Schema entry_schema(int format_version, std::span<const PartitionColumn> columns) {
  SchemaBuilder builder;
  avro::Node entry(Kind::kRecord);
  entry.name = "manifest_entry";
  builder.add_required(entry, 0, "status", Kind::kInt);
  builder.add_optional(entry, 1, "snapshot_id", Kind::kLong);
  builder.add_optional(entry, 3, "sequence_number", Kind::kLong);
  builder.add_optional(entry, 4, "file_sequence_number", Kind::kLong);
  builder.add_required(entry, 2, "data_file", add_data_file(builder, format_version, columns));
  builder.schema.set_root(builder.schema.add(std::move(entry)));
  return std::move(builder.schema);
}

avro::Schema list_schema(int format_version) {
  SchemaBuilder builder;
  avro::Node summary(Kind::kRecord);
  summary.name = "r508";
  builder.add_required(summary, 509, "contains_null", Kind::kBoolean);
  builder.add_optional(summary, 518, "contains_nan", Kind::kBoolean);
  builder.add_optional(summary, 510, "lower_bound", Kind::kBytes);
  builder.add_optional(summary, 511, "upper_bound", Kind::kBytes);
  const NodeId summaries = builder.list(builder.schema.add(std::move(summary)), 508);

  avro::Node file(Kind::kRecord);
  file.name = "manifest_file";
  builder.add_required(file, 500, "manifest_path", Kind::kString);
  builder.add_required(file, 501, "manifest_length", Kind::kLong);
  builder.add_required(file, 502, "partition_spec_id", Kind::kInt);
  builder.add_required(file, 517, "content", Kind::kInt);
  builder.add_required(file, 515, "sequence_number", Kind::kLong);
  builder.add_required(file, 516, "min_sequence_number", Kind::kLong);
  builder.add_required(file, 503, "added_snapshot_id", Kind::kLong);
  builder.add_required(file, 504, "added_files_count", Kind::kInt);
  builder.add_required(file, 505, "existing_files_count", Kind::kInt);
  builder.add_required(file, 506, "deleted_files_count", Kind::kInt);
  builder.add_required(file, 512, "added_rows_count", Kind::kLong);
  builder.add_required(file, 513, "existing_rows_count", Kind::kLong);
  builder.add_required(file, 514, "deleted_rows_count", Kind::kLong);
  builder.add_optional(file, 507, "partitions", summaries);
  builder.add_optional(file, 519, "key_metadata", Kind::kBytes);
  if (format_version >= 3) builder.add_optional(file, 520, "first_row_id", Kind::kLong);
  builder.schema.set_root(builder.schema.add(std::move(file)));
  return std::move(builder.schema);
}

}  // namespace duckicelake::manifest
