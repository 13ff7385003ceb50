// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::json {

class Array;
class Object;
class Value;
struct Tree;  // tree.h: the parsed nodes and their text

// Bounds of a parse. Both are checked before or while reading, never after.
struct ParseLimits {
  std::size_t max_bytes = std::size_t{64} << 20;  // at most 1 GiB is honoured
  std::size_t max_depth = 64;                     // nested arrays and objects
};

// A parsed JSON text (RFC 8259). Move-only; values, arrays and objects are views into it and must
// not outlive it. Reading is const and safe from several threads.
//
// Refused with kInvalidArgument: text over the limits, invalid UTF-8, lone surrogates, anything
// after the value, duplicate member names, integers outside int64, numbers outside double. Nothing
// is rounded: a number without '.' or exponent is an integer, any other is a double (correctly
// rounded).
class Document {
 public:
  static Result<Document> parse(std::string_view text, const ParseLimits& limits = {});
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  Value root() const;
  // parse(...) whose text must be an object. The Document must be kept: `doc.root_object()`.
  Result<Object> root_object() const;

 private:
  explicit Document(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

enum class Kind : std::uint8_t { kNull, kBool, kInteger, kDouble, kString, kArray, kObject };

// "a string", "an object", … for messages.
std::string_view kind_name(Kind kind);

// A view of one value. The `as_` functions fail with kInvalidArgument and a message that begins
// with the value's path ("schemas[0].fields[2].name: expected a string, found null"). The path is
// worked out only when it is asked for, so that reading costs nothing for it.
class Value {
 public:
  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }

  Result<bool> as_bool() const;
  Result<std::int64_t> as_int64() const;
  Result<std::int32_t> as_int32() const;
  Result<double> as_double() const;  // integers too
  Result<std::string_view> as_string() const;
  Result<Array> as_array() const;
  Result<Object> as_object() const;

  // Where the value stands: "refs.main.snapshot-id"; "the document" for the root. Long names are
  // cut.
  std::string path() const;
  // kInvalidArgument "<path>: <what>".
  Error error(std::string_view what) const;
  // Compact JSON of the value: same members in the same order.
  std::string to_text() const;

 private:
  friend class Document;
  friend class Array;
  friend class Object;
  Value(const Tree* tree, std::uint32_t node) : tree_(tree), node_(node) {}
  Error mismatch(std::string_view expected) const;
  const Tree* tree_;
  std::uint32_t node_;
};

// A view of an array. Name it before looping over it: in `for (x : *object.require_array("d"))` the
// Result is gone when the loop begins.
class Array {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value operator[](std::size_t i) const {
    return Value(tree_, first_ + static_cast<std::uint32_t>(i));
  }
  Value value() const { return Value(tree_, self_); }

  class Iterator {
   public:
    Iterator(const Array* array, std::size_t i) : array_(array), i_(i) {}
    Value operator*() const { return (*array_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i_ == b.i_; }

   private:
    const Array* array_;
    std::size_t i_;
  };
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size_); }

 private:
  friend class Value;
  Array(const Tree* tree, std::uint32_t self, std::uint32_t first, std::uint32_t size)
      : tree_(tree), self_(self), first_(first), size_(size) {}
  const Tree* tree_;
  std::uint32_t self_;
  std::uint32_t first_;
  std::uint32_t size_;
};

struct Member;

// A view of an object. Everywhere here a member whose value is null counts as absent (case A-14);
// only `member` and iteration show it. Lookup is linear in the number of members.
class Object {
 public:
  std::size_t size() const { return size_; }
  Member member(std::size_t i) const;  // in the order of the text
  Value value() const { return Value(tree_, self_); }
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::optional<Value> find(std::string_view name) const;

  // Missing: kInvalidArgument that names the object's path and the member.
  Result<Value> require(std::string_view name) const;
  Result<bool> require_bool(std::string_view name) const;
  Result<std::int32_t> require_int32(std::string_view name) const;
  Result<std::int64_t> require_int64(std::string_view name) const;
  Result<double> require_double(std::string_view name) const;
  Result<std::string_view> require_string(std::string_view name) const;
  Result<Array> require_array(std::string_view name) const;
  Result<Object> require_object(std::string_view name) const;

  // nullopt when absent; an error when present with another type.
  Result<std::optional<bool>> optional_bool(std::string_view name) const;
  Result<std::optional<std::int32_t>> optional_int32(std::string_view name) const;
  Result<std::optional<std::int64_t>> optional_int64(std::string_view name) const;
  Result<std::optional<double>> optional_double(std::string_view name) const;
  Result<std::optional<std::string_view>> optional_string(std::string_view name) const;
  Result<std::optional<Array>> optional_array(std::string_view name) const;
  Result<std::optional<Object>> optional_object(std::string_view name) const;

  class Iterator {
   public:
    Iterator(const Object* object, std::size_t i) : object_(object), i_(i) {}
    Member operator*() const;
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i_ == b.i_; }

   private:
    const Object* object_;
    std::size_t i_;
  };
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size_); }

 private:
  friend class Value;
  Object(const Tree* tree, std::uint32_t self, std::uint32_t first, std::uint32_t size)
      : tree_(tree), self_(self), first_(first), size_(size) {}
  const Tree* tree_;
  std::uint32_t self_;
  std::uint32_t first_;
  std::uint32_t size_;
};

struct Member {
  std::string_view name;
  Value value;
};

inline Member Object::Iterator::operator*() const { return object_->member(i_); }

}  // namespace duckicelake::json
