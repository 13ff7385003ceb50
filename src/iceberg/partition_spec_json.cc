// SPDX-License-Identifier: Apache-2.0
#include "iceberg/partition_spec_json.h"

#include <unordered_set>

#include "iceberg/table_metadata.h"

namespace duckicelake::iceberg {
namespace {

Result<PartitionField> read_partition_field(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  PartitionField field;
  DIL_TRY(field.source_id, read_source_id(object));
  DIL_TRY(auto field_id, object.optional_int32("field-id"));
  if (field_id.has_value() && *field_id < 1) return value.error("the field-id is not positive");
  field.field_id = field_id.value_or(0);
  DIL_TRY(std::string_view name, object.require_string("name"));
  if (name.empty()) return value.error("the name is empty");
  field.name = name;
  DIL_TRY(field.transform, read_transform(object));
  return field;
}

}  // namespace

Result<FieldId> read_source_id(const json::Object& object) {
  DIL_TRY(auto single, object.optional_int32("source-id"));
  if (single.has_value()) return FieldId(*single);
  DIL_TRY(auto several, object.optional_array("source-ids"));
  if (!several.has_value() || several->empty()) {
    return object.value().error("the member \"source-id\" is missing");
  }
  if (several->size() > 1) {
    return object.value()
        .error("transforms of several columns are not supported")
        .with_code(Code::kUnsupported);
  }
  DIL_TRY(std::int32_t id, (*several)[0].as_int32());
  return FieldId(id);
}

Result<Transform> read_transform(const json::Object& object) {
  DIL_TRY(json::Value value, object.require("transform"));
  DIL_TRY(std::string_view text, value.as_string());
  auto transform = Transform::parse(text);
  if (!transform.has_value()) return value.error(transform.error().message());
  return transform;
}

void write_partition_fields(json::Writer& writer, const PartitionSpec& spec) {
  writer.begin_array();
  for (const PartitionField& field : spec.fields) {
    writer.begin_object();
    writer.member("source-id", field.source_id.value);
    writer.member("field-id", field.field_id);
    writer.member("name", field.name);
    writer.member("transform", field.transform.to_text());
    writer.end_object();
  }
  writer.end_array();
}

void write_partition_spec(json::Writer& writer, const PartitionSpec& spec) {
  writer.begin_object();
  writer.member("spec-id", spec.spec_id);
  writer.key("fields");
  write_partition_fields(writer, spec);
  writer.end_object();
}

Result<PartitionSpec> read_partition_spec(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  PartitionSpec spec;
  DIL_TRY(auto spec_id, object.optional_int32("spec-id"));
  spec.spec_id = spec_id.value_or(0);
  DIL_TRY(json::Array fields, object.require_array("fields"));
  std::unordered_set<std::string_view> names;
  std::unordered_set<std::int32_t> ids;
  spec.fields.reserve(fields.size());
  for (json::Value item : fields) {
    DIL_TRY(PartitionField field, read_partition_field(item));
    if (field.field_id != 0 && !ids.insert(field.field_id).second) {
      return item.error("the field-id is used twice in the spec");
    }
    spec.fields.push_back(std::move(field));
    // The vector never grows past its reserve, so views of its names stay valid.
    if (!names.insert(spec.fields.back().name).second) {
      return item.error("the name is used twice in the spec");
    }
  }
  return spec;
}

void partition_spec_to_json(const PartitionSpec& spec, std::string& out) {
  json::Writer writer(out);
  write_partition_spec(writer, spec);
}

void partition_fields_to_json(const PartitionSpec& spec, std::string& out) {
  json::Writer writer(out);
  write_partition_fields(writer, spec);
}

Result<PartitionSpec> partition_spec_from_json(std::string_view json) {
  DIL_TRY(json::Document document, json::Document::parse(json));
  return read_partition_spec(document.root());
}

}  // namespace duckicelake::iceberg
