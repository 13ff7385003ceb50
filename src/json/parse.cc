// SPDX-License-Identifier: Apache-2.0
// The only file that sees Boost.JSON: its event parser checks the syntax, the handler builds our
// own tree. Its DOM is not used because it rounds integers over 64 bits, lets the last of two equal
// names win and does not read every double correctly rounded.
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <exception>
#include <limits>

#include "json/tree.h"
#include "json/value.h"

namespace duckicelake::json {
namespace {

namespace bj = boost::json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // offsets are 32 bits
constexpr std::size_t kMaxDepth = 256;                   // the parser recurses
constexpr std::size_t kMaxNumberLength = 1024;

class Handler {
 public:
  static constexpr std::size_t max_array_size = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t max_object_size = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::uint32_t>::max();

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) {
    move_to_tree(1);
    return true;
  }
  bool on_array_begin(bj::error_code&) { return true; }
  bool on_array_end(std::size_t n, bj::error_code&) {
    close(Kind::kArray, n, n);
    return true;
  }
  bool on_object_begin(bj::error_code&) { return true; }
  bool on_object_end(std::size_t n, bj::error_code& ec) {
    if (has_duplicate_names(n)) return refuse("an object has two members of one name", ec);
    close(Kind::kObject, n, 2 * n);
    return true;
  }
  bool on_string_part(bj::string_view s, std::size_t, bj::error_code&) {
    tree.text.append(s.data(), s.size());
    return true;
  }
  bool on_string(bj::string_view s, std::size_t n, bj::error_code&) {
    tree.text.append(s.data(), s.size());
    Node node;
    node.kind = Kind::kString;
    node.size = static_cast<std::uint32_t>(n);
    node.first = static_cast<std::uint32_t>(tree.text.size() - n);
    open_.push_back(node);
    return true;
  }
  bool on_key_part(bj::string_view s, std::size_t n, bj::error_code& ec) {
    return on_string_part(s, n, ec);
  }
  bool on_key(bj::string_view s, std::size_t n, bj::error_code& ec) { return on_string(s, n, ec); }

  bool on_number_part(bj::string_view s, bj::error_code& ec) {
    number_.append(s.data(), s.size());
    return number_.size() <= kMaxNumberLength || refuse("a number is too long", ec);
  }
  bool on_int64(std::int64_t, bj::string_view s, bj::error_code& ec) { return on_number(s, ec); }
  bool on_uint64(std::uint64_t, bj::string_view s, bj::error_code& ec) { return on_number(s, ec); }
  bool on_double(double, bj::string_view s, bj::error_code& ec) { return on_number(s, ec); }

  bool on_bool(bool b, bj::error_code&) {
    Node node;
    node.kind = Kind::kBool;
    node.boolean = b;
    open_.push_back(node);
    return true;
  }
  bool on_null(bj::error_code&) {
    open_.push_back(Node());
    return true;
  }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

  Tree tree;
  const char* refusal = nullptr;  // set when one of our own rules stopped the parse

 private:
  bool refuse(const char* why, bj::error_code& ec) {
    refusal = why;
    ec = bj::make_error_code(bj::error::syntax);
    return false;
  }

  // The parser's own conversions are ignored: they round.
  bool on_number(bj::string_view rest, bj::error_code& ec) {
    if (!on_number_part(rest, ec)) return false;
    const char* end = number_.data() + number_.size();
    Node node;
    std::from_chars_result result{};
    if (number_.find_first_of(".eE") == std::string::npos) {
      node.kind = Kind::kInteger;
      result = std::from_chars(number_.data(), end, node.integer);
      if (result.ec != std::errc()) return refuse("an integer is outside 64 bits", ec);
    } else {
      node.kind = Kind::kDouble;
      result = std::from_chars(number_.data(), end, node.number);
      if (result.ec != std::errc()) return refuse("a number is outside the range of a double", ec);
    }
    if (result.ptr != end) return refuse("a number is malformed", ec);
    number_.clear();
    open_.push_back(node);
    return true;
  }

  void move_to_tree(std::size_t count) {
    tree.nodes.insert(tree.nodes.end(), open_.end() - static_cast<std::ptrdiff_t>(count),
                      open_.end());
    open_.resize(open_.size() - count);
  }

  void close(Kind kind, std::size_t size, std::size_t node_count) {
    Node node;
    node.kind = kind;
    node.size = static_cast<std::uint32_t>(size);
    node.first = static_cast<std::uint32_t>(tree.nodes.size());
    move_to_tree(node_count);
    open_.push_back(node);
  }

  // Looks at the last `count` members on the stack.
  bool has_duplicate_names(std::size_t count) {
    if (count < 2) return false;
    auto name = [&](std::size_t i) { return tree.string(open_[open_.size() - 2 * count + 2 * i]); };
    if (count <= 16) {
      for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          if (name(i) == name(k)) return true;
        }
      }
      return false;
    }
    names_.clear();
    for (std::size_t i = 0; i < count; ++i) names_.push_back(name(i));
    std::sort(names_.begin(), names_.end());
    return std::adjacent_find(names_.begin(), names_.end()) != names_.end();
  }

  std::vector<Node> open_;  // nodes whose container is not closed yet
  std::vector<std::string_view> names_;
  std::string number_;
};

}  // namespace

Result<Document> Document::parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > std::min(limits.max_bytes, kMaxBytes)) {
    return invalid_argument("JSON text of {} bytes is over the limit of {}", text.size(),
                            std::min(limits.max_bytes, kMaxBytes));
  }
  try {
    bj::parse_options options;
    options.max_depth = std::min(limits.max_depth, kMaxDepth);
    bj::basic_parser<Handler> parser(options);
    bj::error_code ec;
    std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
    if (ec) {
      const char* refusal = parser.handler().refusal;
      return invalid_argument("malformed JSON at byte {}: {}", used,
                              refusal != nullptr ? std::string(refusal) : ec.message());
    }
    if (used < text.size()) return invalid_argument("malformed JSON at byte {}: extra text", used);
    return Document(std::make_unique<Tree>(std::move(parser.handler().tree)));
  } catch (const std::exception& failure) {
    return Error(Code::kInternal, "JSON text could not be read", failure.what());
  }
}

}  // namespace duckicelake::json
