// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace duckicelake::auth {

using Levels = std::vector<std::string>;  // of a namespace

// Bits: what may be done in a namespace.
enum class Right : std::uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };

constexpr Right operator&(Right a, Right b) {
  return static_cast<Right>(static_cast<std::uint8_t>(a) & static_cast<std::uint8_t>(b));
}
constexpr Right operator|(Right a, Right b) {
  return static_cast<Right>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool covers(Right have, Right need) { return (have & need) == need; }

// What a token, or a client, may do. The words of a scope, separated by spaces:
//
//   *  and  *:*:*            everything, administration included
//   *:<right>                all namespaces
//   ns:<name>:<right>        one namespace; so is <name>:<right>
//   broker                   may act for other principals (everything implies it)
//
// where right is r, w, rw or *. In a name, a byte that is not a printable ASCII character, and each
// of space " % : \ is written as %XX; the levels of a namespace are joined by %1F. A name covers
// exactly that namespace, not those below it. Words that do not parse give nothing: unknown words,
// names with a bare ':' or with a '%' that begins no escape. So does "catalog", which clients send
// by default.
class ScopeSet {
 public:
  static constexpr std::size_t kMaxBytes = 8192;
  static constexpr std::size_t kMaxWords = 256;

  ScopeSet() = default;  // nothing
  static ScopeSet superuser();
  // kInvalidArgument: over the bounds above.
  static Result<ScopeSet> parse(std::string_view text);
  // Whether a word means something here.
  static bool is_known_word(std::string_view word);

  bool empty() const;
  bool is_superuser() const { return is_superuser_; }
  bool is_broker() const { return is_broker_ || is_superuser_; }
  Right rights_in(const Levels& levels) const;
  Right rights_everywhere() const { return everywhere_; }
  // What single namespaces have beyond that.
  const std::vector<std::pair<Levels, Right>>& named() const { return named_; }
  // Whether it has rights in some namespace that is `parent` or lies below it.
  Right rights_at_or_below(const Levels& parent) const;

  // What both allow.
  ScopeSet narrowed_by(const ScopeSet& other) const;
  // In one normal form: sorted, escaped. It parses to an equal set.
  std::string to_text() const;
  friend bool operator==(const ScopeSet&, const ScopeSet&) = default;

 private:
  void add(Levels levels, Right right);
  void normalise();

  bool is_superuser_ = false;
  bool is_broker_ = false;
  Right everywhere_ = Right::kNone;
  std::vector<std::pair<Levels, Right>> named_;  // sorted by levels; those with rights of their own
};

// A namespace as a scope's name writes it.
std::string escape_scope_name(const Levels& levels);

}  // namespace duckicelake::auth
