// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <unordered_map>

#include "avro/schema.h"
#include "json/value.h"

namespace duckicelake::avro {

namespace {

constexpr std::size_t kMaxJsonBytes = std::size_t{8} << 20;
// A type inside a type takes up to three JSON levels.
constexpr std::size_t kMaxJsonDepth = 96;
constexpr std::size_t kMaxNodes = 10'000;
constexpr std::size_t kMaxFixedSize = std::size_t{1} << 20;

// Attributes are read leniently, as the Avro specification has it for logical types: one of a wrong
// type counts as absent.
std::string_view text_of(const json::Object& object, std::string_view key) {
  const std::optional<json::Value> value = object.find(key);
  if (!value) return {};
  return value->as_string().value_or(std::string_view{});
}

std::optional<std::int32_t> id_of(const json::Object& object, std::string_view key) {
  const std::optional<json::Value> value = object.find(key);
  if (!value) return std::nullopt;
  const Result<std::int32_t> number = value->as_int32();
  if (!number.has_value() || *number < 0) return std::nullopt;
  return *number;
}

std::optional<Kind> primitive_of(std::string_view name) {
  if (name == "null") return Kind::kNull;
  if (name == "boolean") return Kind::kBoolean;
  if (name == "int") return Kind::kInt;
  if (name == "long") return Kind::kLong;
  if (name == "float") return Kind::kFloat;
  if (name == "double") return Kind::kDouble;
  if (name == "bytes") return Kind::kBytes;
  if (name == "string") return Kind::kString;
  return std::nullopt;
}

}  // namespace

// Builds a Schema from JSON. The depth of its recursion is that of the JSON, which the parser
// bounds.
class SchemaParser {
 public:
  Result<Schema> parse(const json::Value& root) {
    DIL_TRY(const NodeId id, parse_type(root, ""));
    schema_.set_root(id);
    return std::move(schema_);
  }

 private:
  Result<NodeId> add(Node node) {
    if (schema_.nodes_.size() >= kMaxNodes) {
      return invalid_argument("an Avro schema of more than {} types", kMaxNodes);
    }
    return schema_.add(std::move(node));
  }

  Result<NodeId> parse_type(const json::Value& type, const std::string& space) {
    switch (type.kind()) {
      case json::Kind::kString: return parse_reference(*type.as_string(), space);
      case json::Kind::kArray: return parse_union(*type.as_array(), space);
      case json::Kind::kObject: break;
      default: return type.error("an Avro type is a string, a list or an object");
    }
    const json::Object object = *type.as_object();
    DIL_TRY(const json::Value inner, object.require("type"));
    if (inner.kind() != json::Kind::kString) return parse_type(inner, space);
    return parse_object(object, *inner.as_string(), space);
  }

  Result<NodeId> parse_reference(std::string_view name, const std::string& space) {
    if (const auto kind = primitive_of(name)) return add(Node(*kind));
    auto found = names_.end();
    if (!space.empty() && name.find('.') == std::string_view::npos) {
      found = names_.find(space + "." + std::string(name));
    }
    if (found == names_.end()) found = names_.find(std::string(name));
    if (found == names_.end()) {
      return invalid_argument("the Avro type \"{}\" is not defined", name.substr(0, 64));
    }
    return NodeId{found->second};
  }

  Result<NodeId> parse_union(const json::Array& branches, const std::string& space) {
    if (branches.empty()) return branches.value().error("an Avro union without branches");
    Node node(Kind::kUnion);
    for (const json::Value branch : branches) {
      if (branch.kind() == json::Kind::kArray) {
        return branch.error("an Avro union directly inside a union");
      }
      DIL_TRY(const NodeId id, parse_type(branch, space));
      node.children.push_back(id);
    }
    return add(std::move(node));
  }

  Result<NodeId> parse_object(const json::Object& object, std::string_view type,
                              const std::string& space) {
    Node node;
    node.logical_type = text_of(object, "logicalType");
    node.precision = id_of(object, "precision").value_or(0);
    node.scale = id_of(object, "scale").value_or(0);
    if (const auto utc = object.find("adjust-to-utc"); utc && utc->kind() == json::Kind::kBool) {
      node.adjust_to_utc = *utc->as_bool();
    }
    if (type == "array" || type == "map") return parse_items(object, std::move(node), type, space);
    if (type == "record" || type == "error") return parse_record(object, std::move(node), space);
    if (type == "enum") return parse_enum(object, std::move(node), space);
    if (type == "fixed") return parse_fixed(object, std::move(node), space);
    if (const auto kind = primitive_of(type)) {
      node.kind = *kind;
      return add(std::move(node));
    }
    return parse_reference(type, space);
  }

  Result<NodeId> parse_items(const json::Object& object, Node node, std::string_view type,
                             const std::string& space) {
    node.kind = type == "array" ? Kind::kArray : Kind::kMap;
    node.element_id = id_of(object, "element-id");
    node.key_id = id_of(object, "key-id");
    node.value_id = id_of(object, "value-id");
    DIL_TRY(const json::Value item, object.require(type == "array" ? "items" : "values"));
    DIL_TRY(const NodeId child, parse_type(item, space));
    node.children.push_back(child);
    return add(std::move(node));
  }

  // Registers the node under its full name before its fields are read: they may refer to it.
  Result<NodeId> add_named(const json::Object& object, Node node, const std::string& space) {
    DIL_TRY(const std::string_view name, object.require_string("name"));
    if (name.empty()) return object.value().error("an Avro type with an empty name");
    if (name.find('.') != std::string_view::npos) {
      node.name = name;
    } else {
      const std::string prefix =
          object.has("namespace") ? std::string(text_of(object, "namespace")) : space;
      node.name = prefix.empty() ? std::string(name) : prefix + "." + std::string(name);
    }
    std::string full_name = node.name;
    DIL_TRY(const NodeId id, add(std::move(node)));
    if (!names_.emplace(std::move(full_name), id).second) {
      return object.value().error("an Avro type that is defined twice");
    }
    return NodeId{id};
  }

  Result<NodeId> parse_record(const json::Object& object, Node node, const std::string& space) {
    node.kind = Kind::kRecord;
    DIL_TRY(const NodeId id, add_named(object, std::move(node), space));
    const std::string& full_name = schema_.node(id).name;
    const std::size_t dot = full_name.rfind('.');
    const std::string inner = dot == std::string::npos ? std::string() : full_name.substr(0, dot);
    DIL_TRY(const json::Array members, object.require_array("fields"));
    std::vector<RecordField> fields;
    for (const json::Value value : members) {
      DIL_TRY(const json::Object member, value.as_object());
      RecordField field;
      DIL_TRY(const json::Value type, member.require("type"));
      DIL_TRY(field.name, member.require_string("name"));
      field.iceberg_name = text_of(member, "iceberg-field-name");
      field.field_id = id_of(member, "field-id");
      for (const json::Member& entry : member) {
        if (entry.name == "default") field.defaults_to_null = entry.value.is_null();
      }
      DIL_TRY(field.type, parse_type(type, inner));
      fields.push_back(std::move(field));
    }
    schema_.nodes_[id].fields = std::move(fields);
    return NodeId{id};
  }

  Result<NodeId> parse_enum(const json::Object& object, Node node, const std::string& space) {
    node.kind = Kind::kEnum;
    DIL_TRY(const json::Array symbols, object.require_array("symbols"));
    for (const json::Value symbol : symbols) {
      DIL_TRY(const std::string_view text, symbol.as_string());
      node.symbols.emplace_back(text);
    }
    return add_named(object, std::move(node), space);
  }

  Result<NodeId> parse_fixed(const json::Object& object, Node node, const std::string& space) {
    node.kind = Kind::kFixed;
    DIL_TRY(const std::int32_t size, object.require_int32("size"));
    if (size < 0 || static_cast<std::size_t>(size) > kMaxFixedSize) {
      return object.value().error("an Avro fixed type without a usable size");
    }
    node.fixed_size = static_cast<std::size_t>(size);
    return add_named(object, std::move(node), space);
  }

  Schema schema_;
  std::unordered_map<std::string, NodeId> names_;
};

Result<Schema> Schema::parse(std::string_view text) {
  DIL_TRY(const json::Document document,
          json::Document::parse(text, {.max_bytes = kMaxJsonBytes, .max_depth = kMaxJsonDepth}));
  auto schema = SchemaParser().parse(document.root());
  if (!schema.has_value()) return std::move(schema).error().with_context("Avro schema");
  return schema;
}

}  // namespace duckicelake::avro
