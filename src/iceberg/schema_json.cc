// SPDX-License-Identifier: Apache-2.0
#include "iceberg/schema_json.h"

#include "iceberg/table_metadata.h"
#include "iceberg/value_json.h"

namespace duckicelake::iceberg {
namespace {

void write_default(json::Writer& writer, std::string_view name, const Type& type,
                   const std::optional<ValueBytes>& value) {
  if (!value.has_value()) return;
  writer.key(name);
  write_value(writer, type, *value);
}

void write_fields(json::Writer& writer, const std::vector<Field>& fields) {
  writer.key("fields");
  writer.begin_array();
  for (const Field& field : fields) {
    writer.begin_object();
    writer.member("id", field.id.value);
    writer.member("name", field.name);
    writer.member("required", field.required);
    writer.key("type");
    write_type(writer, field.type);
    writer.member("doc", field.doc);
    write_default(writer, "initial-default", field.type, field.initial_default);
    write_default(writer, "write-default", field.type, field.write_default);
    writer.end_object();
  }
  writer.end_array();
}

Result<std::optional<ValueBytes>> read_default(const json::Object& object, std::string_view name,
                                               const Type& type) {
  auto found = object.find(name);
  if (!found.has_value()) return std::optional<ValueBytes>();
  DIL_TRY(ValueBytes value, read_value(type, *found));
  return std::optional(std::move(value));
}

Result<Field> read_field(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  Field field;
  DIL_TRY(std::int32_t id, object.require_int32("id"));
  field.id = FieldId(id);
  DIL_TRY(std::string_view name, object.require_string("name"));
  field.name = name;
  DIL_TRY(field.required, object.require_bool("required"));
  DIL_TRY(json::Value type, object.require("type"));
  DIL_TRY(field.type, read_type(type));
  DIL_TRY(auto doc, object.optional_string("doc"));
  if (doc.has_value()) field.doc = std::string(*doc);
  DIL_TRY(field.initial_default, read_default(object, "initial-default", field.type));
  DIL_TRY(field.write_default, read_default(object, "write-default", field.type));
  return field;
}

Result<std::vector<Field>> read_fields(const json::Object& object) {
  DIL_TRY(json::Array array, object.require_array("fields"));
  std::vector<Field> fields;
  fields.reserve(array.size());
  for (json::Value item : array) {
    DIL_TRY(Field field, read_field(item));
    fields.push_back(std::move(field));
  }
  return fields;
}

// A list element, map key or map value: "<part>-id", "<part>" and, but for keys, "<part>-required".
Result<Field> read_part(const json::Object& object, const std::string& part) {
  Field field;
  DIL_TRY(std::int32_t id, object.require_int32(part + "-id"));
  field.id = FieldId(id);
  field.required = true;
  if (part != "key") {
    DIL_TRY(field.required, object.require_bool(part + "-required"));
  }
  DIL_TRY(json::Value type, object.require(part));
  DIL_TRY(field.type, read_type(type));
  return field;
}

Result<Type> read_nested(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string_view kind, object.require_string("type"));
  if (kind == "struct") {
    DIL_TRY(std::vector<Field> fields, read_fields(object));
    return Type::structure(std::move(fields));
  }
  if (kind == "list") {
    DIL_TRY(Field element, read_part(object, "element"));
    return Type::list(std::move(element));
  }
  if (kind == "map") {
    DIL_TRY(Field key, read_part(object, "key"));
    DIL_TRY(Field item, read_part(object, "value"));
    return Type::map(std::move(key), std::move(item));
  }
  return value.error("the type is not struct, list or map");
}

}  // namespace

void write_type(json::Writer& writer, const Type& type) {
  switch (type.kind) {
    case TypeKind::kStruct:
      writer.begin_object();
      writer.member("type", "struct");
      write_fields(writer, type.fields);
      writer.end_object();
      return;
    case TypeKind::kList: {
      DIL_ASSERT(type.fields.size() == 1);
      const Field& element = type.fields[0];
      writer.begin_object();
      writer.member("type", "list");
      writer.member("element-id", element.id.value);
      writer.key("element");
      write_type(writer, element.type);
      writer.member("element-required", element.required);
      writer.end_object();
      return;
    }
    case TypeKind::kMap: {
      DIL_ASSERT(type.fields.size() == 2);
      const Field& key = type.fields[0];
      const Field& value = type.fields[1];
      writer.begin_object();
      writer.member("type", "map");
      writer.member("key-id", key.id.value);
      writer.key("key");
      write_type(writer, key.type);
      writer.member("value-id", value.id.value);
      writer.key("value");
      write_type(writer, value.type);
      writer.member("value-required", value.required);
      writer.end_object();
      return;
    }
    default: writer.value(primitive_to_text(type));
  }
}

Result<Type> read_type(const json::Value& value) {
  if (value.kind() == json::Kind::kObject) return read_nested(value);
  DIL_TRY(std::string_view text, value.as_string());
  auto type = parse_primitive(text);
  if (!type.has_value()) return value.error(type.error().message());
  return type;
}

void write_schema(json::Writer& writer, const Schema& schema) {
  writer.begin_object();
  writer.member("type", "struct");
  writer.member("schema-id", schema.schema_id);
  if (!schema.identifier_field_ids.empty()) {
    writer.key("identifier-field-ids");
    writer.begin_array();
    for (FieldId id : schema.identifier_field_ids) writer.value(id.value);
    writer.end_array();
  }
  write_fields(writer, schema.fields);
  writer.end_object();
}

Result<Schema> read_schema(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string_view type, object.require_string("type"));
  if (type != "struct") return value.error("a schema must be of type struct");
  Schema schema;
  DIL_TRY(auto id, object.optional_int32("schema-id"));
  schema.schema_id = id.value_or(0);
  DIL_TRY(auto identifiers, object.optional_array("identifier-field-ids"));
  if (identifiers.has_value()) {
    for (json::Value item : *identifiers) {
      DIL_TRY(std::int32_t field_id, item.as_int32());
      schema.identifier_field_ids.emplace_back(field_id);
    }
  }
  DIL_TRY(schema.fields, read_fields(object));
  if (auto status = check_schema(schema); !status.has_value()) {
    return value.error(status.error().message());
  }
  return schema;
}

void schema_to_json(const Schema& schema, std::string& out) {
  json::Writer writer(out);
  write_schema(writer, schema);
}

Result<Schema> schema_from_json(std::string_view json) {
  json::ParseLimits limits;
  limits.max_depth = kSchemaJsonDepth;
  DIL_TRY(json::Document document, json::Document::parse(json, limits));
  return read_schema(document.root());
}

}  // namespace duckicelake::iceberg
