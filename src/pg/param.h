// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/ids.h"
#include "base/result.h"

namespace duckicelake::pg {

// Integers that fit int64 whatever their value.
template <class T>
concept BindableInteger = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                          (std::is_signed_v<T> || sizeof(T) < sizeof(std::int64_t));

// One bound parameter, in the form in which it travels. It owns its bytes. int64, bool, double,
// bytea and arrays tell the server their type; text and a plain null take the type that the
// statement implies (so text also serves uuid, jsonb, timestamptz, numeric ...). A null of
// std::optional<T> has T's type.
class Param {
 public:
  Param(std::nullopt_t) {}                                                   // NOLINT
  Param(std::same_as<bool> auto value) : Param(kBool, value ? "t" : "f") {}  // NOLINT
  template <BindableInteger T>
  Param(T value) : Param(integer(static_cast<std::int64_t>(value))) {}  // NOLINT
  template <class Tag, class Rep>
  Param(Id<Tag, Rep> id) : Param(id.value) {}                             // NOLINT
  Param(double value);                                                    // NOLINT
  Param(std::string value) : Param(kUnknown, std::move(value)) {}         // NOLINT
  Param(std::string_view value) : Param(kUnknown, std::string(value)) {}  // NOLINT
  Param(const char* value) : Param(kUnknown, std::string(value)) {}       // NOLINT
  template <class T>
  Param(const std::optional<T>& value) : Param(of_optional(value)) {}  // NOLINT

  static Param bytea(std::string bytes);
  static Param int64_array(std::span<const std::int64_t> values);
  static Param text_array(std::span<const std::string> values);
  static Param text_array(std::span<const std::optional<std::string>> values);

  std::uint32_t type_oid() const { return type_oid_; }  // 0: implied by the statement
  bool is_binary() const { return type_oid_ == kBytea; }
  const std::optional<std::string>& bytes() const { return bytes_; }  // none: SQL NULL
  friend bool operator==(const Param&, const Param&) = default;

 private:
  // Fixed in PostgreSQL's catalog (pg_type.dat).
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kBool = 16;
  static constexpr std::uint32_t kBytea = 17;
  static constexpr std::uint32_t kInt8 = 20;
  static constexpr std::uint32_t kTextArray = 1009;
  static constexpr std::uint32_t kInt8Array = 1016;
  static constexpr std::uint32_t kFloat8 = 701;

  Param(std::uint32_t type_oid, std::string bytes)
      : type_oid_(type_oid), bytes_(std::move(bytes)) {}
  static Param integer(std::int64_t value);
  template <class T>
  static Param of_optional(const std::optional<T>& value) {
    if (value) return Param(*value);
    Param null(T{});
    null.bytes_.reset();
    return null;
  }

  std::uint32_t type_oid_ = kUnknown;
  std::optional<std::string> bytes_;
};

// kInvalidArgument when a text value holds a NUL, which PostgreSQL cannot store, or there are more
// parameters than the protocol can count; an array parameter has no such limit.
Status check_params(std::span<const Param> params);

}  // namespace duckicelake::pg
