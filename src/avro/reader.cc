// SPDX-License-Identifier: Apache-2.0
#include "avro/reader.h"

namespace duckicelake::avro {
namespace {

constexpr int kMaxDepth = 64;

void skip_at_depth(const Schema& schema, NodeId id, Decoder& decoder, int depth);

void skip_items(const Schema& schema, const Node& node, Decoder& decoder, int depth) {
  while (decoder.ok()) {
    const std::size_t count = decoder.read_block_count(0);
    if (count == 0) return;
    for (std::size_t i = 0; i < count && decoder.ok(); ++i) {
      if (node.kind == Kind::kMap) decoder.read_bytes();
      skip_at_depth(schema, node.children[0], decoder, depth + 1);
    }
  }
}

void skip_union(const Schema& schema, const Node& node, Decoder& decoder, int depth) {
  const std::int64_t branch = decoder.read_long();
  if (branch < 0 || static_cast<std::uint64_t>(branch) >= node.children.size()) {
    return decoder.fail("a union branch that does not exist");
  }
  skip_at_depth(schema, node.children[static_cast<std::size_t>(branch)], decoder, depth + 1);
}

void skip_at_depth(const Schema& schema, NodeId id, Decoder& decoder, int depth) {
  if (depth > kMaxDepth) return decoder.fail("values nested too deeply");
  decoder.spend();
  if (!decoder.ok()) return;
  const Node& node = schema.node(id);
  switch (node.kind) {
    case Kind::kNull: return;
    case Kind::kBoolean: decoder.read_boolean(); return;
    case Kind::kInt:
    case Kind::kEnum: decoder.read_int(); return;
    case Kind::kLong: decoder.read_long(); return;
    case Kind::kFloat: decoder.read_fixed(sizeof(float)); return;
    case Kind::kDouble: decoder.read_fixed(sizeof(double)); return;
    case Kind::kBytes:
    case Kind::kString: decoder.read_bytes(); return;
    case Kind::kFixed: decoder.read_fixed(node.fixed_size); return;
    case Kind::kRecord:
      for (const RecordField& field : node.fields) {
        skip_at_depth(schema, field.type, decoder, depth + 1);
        if (!decoder.ok()) return;
      }
      return;
    case Kind::kArray:
    case Kind::kMap: return skip_items(schema, node, decoder, depth);
    case Kind::kUnion: return skip_union(schema, node, decoder, depth);
  }
}

}  // namespace

Result<Slot> resolve_slot(const Schema& schema, NodeId id) {
  const Node& node = schema.node(id);
  if (node.kind != Kind::kUnion) return Slot{.type = id};
  if (node.children.size() == 1) return Slot{.type = node.children[0], .branches = 1};
  if (node.children.size() == 2) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (schema.node(node.children[i]).kind != Kind::kNull) continue;
      return Slot{
          .type = node.children[1 - i], .branches = 2, .null_branch = static_cast<std::int64_t>(i)};
    }
  }
  return invalid_argument("an Avro union other than of null and one type");
}

bool read_presence(const Schema& schema, const Slot& slot, Decoder& decoder) {
  if (slot.branches > 0) {
    const std::int64_t branch = decoder.read_long();
    if (branch < 0 || branch >= slot.branches) {
      decoder.fail("a union branch that does not exist");
      return false;
    }
    if (branch == slot.null_branch) return false;
  }
  return decoder.ok() && schema.node(slot.type).kind != Kind::kNull;
}

bool is_integer(Kind kind) { return kind == Kind::kInt || kind == Kind::kLong; }

bool is_number(Kind kind) {
  return is_integer(kind) || kind == Kind::kFloat || kind == Kind::kDouble;
}

bool is_binary(Kind kind) {
  return kind == Kind::kBytes || kind == Kind::kString || kind == Kind::kFixed;
}

double read_number(const Node& node, Decoder& decoder) {
  if (is_integer(node.kind)) return static_cast<double>(decoder.read_long());
  if (node.kind == Kind::kFloat) return static_cast<double>(decoder.read_float());
  return decoder.read_double();
}

std::string_view read_binary(const Node& node, Decoder& decoder) {
  return node.kind == Kind::kFixed ? decoder.read_fixed(node.fixed_size) : decoder.read_bytes();
}

void skip(const Schema& schema, NodeId id, Decoder& decoder) {
  skip_at_depth(schema, id, decoder, 0);
}

}  // namespace duckicelake::avro
