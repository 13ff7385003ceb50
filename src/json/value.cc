// SPDX-License-Identifier: Apache-2.0
#include "json/value.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "json/tree.h"
#include "json/writer.h"

namespace duckicelake::json {
namespace {

constexpr std::size_t kMaxNameInPath = 64;

// At most 64 bytes of a name, cut on a code point, for messages.
std::string shorten(std::string_view name) {
  if (name.size() <= kMaxNameInPath) return std::string(name);
  std::size_t cut = kMaxNameInPath;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80U) --cut;
  return std::string(name.substr(0, cut)) + "…";
}

std::uint32_t child_count(const Node& node) {
  if (node.kind == Kind::kArray) return node.size;
  return node.kind == Kind::kObject ? 2 * node.size : 0;
}

void write_node(Writer& writer, const Tree& tree, const Node& node) {
  switch (node.kind) {
    case Kind::kNull: writer.null(); return;
    case Kind::kBool: writer.value(node.boolean); return;
    case Kind::kInteger: writer.value(node.integer); return;
    case Kind::kDouble: writer.value(node.number); return;
    case Kind::kString: writer.value(tree.string(node)); return;
    case Kind::kArray:
      writer.begin_array();
      for (std::uint32_t i = 0; i < node.size; ++i)
        write_node(writer, tree, tree.nodes[node.first + i]);
      writer.end_array();
      return;
    case Kind::kObject:
      writer.begin_object();
      for (std::uint32_t i = 0; i < node.size; ++i) {
        writer.key(tree.string(tree.nodes[node.first + 2 * i]));
        write_node(writer, tree, tree.nodes[node.first + 2 * i + 1]);
      }
      writer.end_object();
      return;
  }
}

}  // namespace

Document::Document(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Value Document::root() const {
  return Value(tree_.get(), static_cast<std::uint32_t>(tree_->nodes.size() - 1));
}

Result<Object> Document::root_object() const { return root().as_object(); }

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBool: return "a boolean";
    case Kind::kInteger: return "an integer";
    case Kind::kDouble: return "a number with a fraction or exponent";
    case Kind::kString: return "a string";
    case Kind::kArray: return "an array";
    case Kind::kObject: return "an object";
  }
  return "nothing";
}

Kind Value::kind() const { return tree_->nodes[node_].kind; }

Error Value::error(std::string_view what) const { return invalid_argument("{}: {}", path(), what); }

Error Value::mismatch(std::string_view expected) const {
  return error(fmt::format("expected {}, found {}", expected, kind_name(kind())));
}

Result<bool> Value::as_bool() const {
  if (kind() != Kind::kBool) return mismatch("a boolean");
  return tree_->nodes[node_].boolean;
}

Result<std::int64_t> Value::as_int64() const {
  if (kind() != Kind::kInteger) return mismatch("an integer");
  return tree_->nodes[node_].integer;
}

Result<std::int32_t> Value::as_int32() const {
  DIL_TRY(std::int64_t number, as_int64());
  if (number < std::numeric_limits<std::int32_t>::min() ||
      number > std::numeric_limits<std::int32_t>::max()) {
    return error("the integer is outside 32 bits");
  }
  return static_cast<std::int32_t>(number);
}

Result<double> Value::as_double() const {
  const Node& node = tree_->nodes[node_];
  if (node.kind == Kind::kInteger) return static_cast<double>(node.integer);
  if (node.kind != Kind::kDouble) return mismatch("a number");
  return node.number;
}

Result<std::string_view> Value::as_string() const {
  if (kind() != Kind::kString) return mismatch("a string");
  return tree_->string(tree_->nodes[node_]);
}

Result<Array> Value::as_array() const {
  const Node& node = tree_->nodes[node_];
  if (node.kind != Kind::kArray) return mismatch("an array");
  return Array(tree_, node_, node.first, node.size);
}

Result<Object> Value::as_object() const {
  const Node& node = tree_->nodes[node_];
  if (node.kind != Kind::kObject) return mismatch("an object");
  return Object(tree_, node_, node.first, node.size);
}

// A container always comes after its children, so one walk to the end meets every ancestor,
// innermost first.
std::string Value::path() const {
  std::vector<std::string> steps;
  std::uint32_t wanted = node_;
  for (std::uint32_t i = node_ + 1; i < tree_->nodes.size(); ++i) {
    const Node& node = tree_->nodes[i];
    std::uint32_t children = child_count(node);
    if (children == 0 || wanted < node.first || wanted >= node.first + children) continue;
    if (node.kind == Kind::kArray) {
      steps.push_back(fmt::format("[{}]", wanted - node.first));
    } else {
      std::uint32_t name = node.first + ((wanted - node.first) & ~1U);
      steps.push_back("." + shorten(tree_->string(tree_->nodes[name])));
    }
    wanted = i;
  }
  if (steps.empty()) return "the document";
  std::string path;
  for (std::size_t i = steps.size(); i-- > 0;) path += steps[i];
  return path.front() == '.' ? path.substr(1) : path;
}

std::string Value::to_text() const {
  std::string out;
  Writer writer(out);
  write_node(writer, *tree_, tree_->nodes[node_]);
  return out;
}

Member Object::member(std::size_t i) const {
  auto name = first_ + 2 * static_cast<std::uint32_t>(i);
  return Member{tree_->string(tree_->nodes[name]), Value(tree_, name + 1)};
}

std::optional<Value> Object::find(std::string_view name) const {
  for (std::uint32_t i = 0; i < size_; ++i) {
    std::uint32_t at = first_ + 2 * i;
    if (tree_->string(tree_->nodes[at]) != name) continue;
    Value found(tree_, at + 1);
    if (found.is_null()) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

Result<Value> Object::require(std::string_view name) const {
  if (auto found = find(name); found.has_value()) return *found;
  return value().error(fmt::format("the member \"{}\" is missing", shorten(name)));
}

// One pair per type: require_x(name) and optional_x(name), both through Value::as_x.
#define DIL_JSON_MEMBER(type, suffix)                                                  \
  Result<type> Object::require_##suffix(std::string_view name) const {                 \
    DIL_TRY(Value found, require(name));                                               \
    return found.as_##suffix();                                                        \
  }                                                                                    \
  Result<std::optional<type>> Object::optional_##suffix(std::string_view name) const { \
    auto found = find(name);                                                           \
    if (!found.has_value()) return std::optional<type>();                              \
    DIL_TRY(type content, found->as_##suffix());                                       \
    return std::optional<type>(content);                                               \
  }

DIL_JSON_MEMBER(bool, bool)
DIL_JSON_MEMBER(std::int32_t, int32)
DIL_JSON_MEMBER(std::int64_t, int64)
DIL_JSON_MEMBER(double, double)
DIL_JSON_MEMBER(std::string_view, string)
DIL_JSON_MEMBER(Array, array)
DIL_JSON_MEMBER(Object, object)

#undef DIL_JSON_MEMBER

}  // namespace duckicelake::json
