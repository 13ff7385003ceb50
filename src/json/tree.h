// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace duckicelake::json {

// 16 bytes a node, whatever its kind. The children of a container lie side by side; an object has
// two nodes a member, name then value. Children come before their container; the root is the last
// node.
struct Node {
  Kind kind = Kind::kNull;
  std::uint32_t size = 0;  // string: bytes; array: elements; object: members
  union {
    bool boolean;
    std::int64_t integer;
    double number;
    std::uint32_t first;  // string: offset in Tree::text; containers: index of the first child
  };
  Node() : integer(0) {}
};
static_assert(sizeof(Node) == 16);

struct Tree {
  std::vector<Node> nodes;
  std::string text;  // all strings, decoded, end to end

  std::string_view string(const Node& node) const {
    return std::string_view(text).substr(node.first, node.size);
  }
};

}  // namespace duckicelake::json
