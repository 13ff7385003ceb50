// SPDX-License-Identifier: Apache-2.0
#include "avro/schema.h"

#include <array>
#include <unordered_set>

#include "json/writer.h"

namespace duckicelake::avro {
namespace {

constexpr std::array<std::string_view, 14> kKindNames = {
    "null",   "boolean", "int",  "long",  "float", "double", "bytes",
    "string", "record",  "enum", "array", "map",   "union",  "fixed"};

using json::append_string;

class SchemaWriter {
 public:
  explicit SchemaWriter(const Schema& schema) : schema_(schema) {}

  std::string write() {
    append_type(schema_.root());
    return std::move(out_);
  }

 private:
  void append_member(std::string_view name, std::string_view value) {
    out_ += ",\"";
    out_ += name;
    out_ += "\":";
    append_string(out_, value);
  }

  void append_member(std::string_view name, std::int64_t value) {
    out_ += fmt::format(",\"{}\":{}", name, value);
  }

  void append_type(NodeId id) {
    const Node& node = schema_.node(id);
    if (!node.name.empty() && !defined_.insert(id).second) return append_string(out_, node.name);
    if (node.kind == Kind::kUnion) return append_union(node);
    if (node.kind < Kind::kRecord && node.logical_type.empty()) {
      return append_string(out_, kKindNames[static_cast<std::size_t>(node.kind)]);
    }
    out_ += "{\"type\":";
    append_string(out_, kKindNames[static_cast<std::size_t>(node.kind)]);
    if (!node.name.empty()) append_name(node.name);
    append_shape(node);
    append_attributes(node);
    out_.push_back('}');
  }

  void append_name(const std::string& full_name) {
    const std::size_t dot = full_name.rfind('.');
    const std::string_view space =
        dot == std::string::npos ? std::string_view{} : std::string_view(full_name).substr(0, dot);
    append_member("name", dot == std::string::npos ? std::string_view(full_name)
                                                   : std::string_view(full_name).substr(dot + 1));
    if (!space.empty() || uses_namespaces_) append_member("namespace", space);
    uses_namespaces_ = uses_namespaces_ || !space.empty();
  }

  void append_union(const Node& node) {
    out_.push_back('[');
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0) out_.push_back(',');
      append_type(node.children[i]);
    }
    out_.push_back(']');
  }

  void append_shape(const Node& node) {
    switch (node.kind) {
      case Kind::kRecord: append_fields(node); break;
      case Kind::kArray:
        out_ += ",\"items\":";
        append_type(node.children[0]);
        break;
      case Kind::kMap:
        out_ += ",\"values\":";
        append_type(node.children[0]);
        break;
      case Kind::kFixed: append_member("size", static_cast<std::int64_t>(node.fixed_size)); break;
      case Kind::kEnum:
        out_ += ",\"symbols\":[";
        for (std::size_t i = 0; i < node.symbols.size(); ++i) {
          if (i > 0) out_.push_back(',');
          append_string(out_, node.symbols[i]);
        }
        out_.push_back(']');
        break;
      default: break;
    }
  }

  void append_fields(const Node& node) {
    out_ += ",\"fields\":[";
    for (std::size_t i = 0; i < node.fields.size(); ++i) {
      const RecordField& field = node.fields[i];
      out_ += i > 0 ? ",{\"name\":" : "{\"name\":";
      append_string(out_, field.name);
      out_ += ",\"type\":";
      append_type(field.type);
      if (field.defaults_to_null) out_ += ",\"default\":null";
      if (!field.iceberg_name.empty()) append_member("iceberg-field-name", field.iceberg_name);
      if (field.field_id) append_member("field-id", std::int64_t{*field.field_id});
      out_.push_back('}');
    }
    out_.push_back(']');
  }

  void append_attributes(const Node& node) {
    if (!node.logical_type.empty()) append_member("logicalType", node.logical_type);
    if (node.logical_type == "decimal") {
      append_member("precision", std::int64_t{node.precision});
      append_member("scale", std::int64_t{node.scale});
    }
    if (node.adjust_to_utc) {
      out_ += *node.adjust_to_utc ? ",\"adjust-to-utc\":true" : ",\"adjust-to-utc\":false";
    }
    if (node.element_id) append_member("element-id", std::int64_t{*node.element_id});
    if (node.key_id) append_member("key-id", std::int64_t{*node.key_id});
    if (node.value_id) append_member("value-id", std::int64_t{*node.value_id});
  }

  const Schema& schema_;
  std::string out_;
  std::unordered_set<NodeId> defined_;
  bool uses_namespaces_ = false;
};

}  // namespace

std::string Schema::to_json() const { return SchemaWriter(*this).write(); }

NodeId Schema::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Schema::add_optional(NodeId type) {
  const NodeId null = add(Kind::kNull);
  Node node(Kind::kUnion);
  node.children = {null, type};
  return add(std::move(node));
}

}  // namespace duckicelake::avro
