// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace duckicelake::pg {

// Text of one or several SQL statements. It can be made only from a compile-time constant, by
// joining such texts, and by `sql_with` / `sql_for_schema`; a string made at run time does not
// convert. Values travel as bound parameters ($1, $2, ...).
class Sql {
 public:
  template <class T>
    requires std::convertible_to<const T&, std::string_view> && (!std::same_as<T, std::string>)
  consteval Sql(const T& constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor)

  // Valid while this object lives and is not assigned to.
  std::string_view text() const { return owned_ ? std::string_view(*owned_) : constant_; }

  friend Sql operator+(const Sql& a, const Sql& b);

 private:
  friend class SqlBuilder;
  struct Owned {};
  Sql(Owned, std::string text) : owned_(std::move(text)) {}

  std::string_view constant_;
  std::optional<std::string> owned_;
};

// A constant string, checked by the compiler to be one.
struct ConstantText {
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  consteval ConstantText(const T& constant)
      : text(constant) {}  // NOLINT(google-explicit-constructor)
  std::string_view text;
};

// A name of a PostgreSQL object (schema, table, column, channel, role), quoted for SQL text.
class SqlIdent {
 public:
  // kInvalidArgument when empty, longer than 63 bytes (PostgreSQL would cut it short and two names
  // could meet), not UTF-8, or with a NUL.
  static Result<SqlIdent> make(std::string_view name);
  // For names known at compile time; ends the process when the name is unfit.
  static SqlIdent constant(ConstantText name);

  const std::string& name() const { return name_; }      // as PostgreSQL stores it
  const std::string& quoted() const { return quoted_; }  // with double quotes
  friend bool operator==(const SqlIdent&, const SqlIdent&) = default;

 private:
  explicit SqlIdent(std::string_view name);
  std::string name_;
  std::string quoted_;
};

// A string literal, for the places where PostgreSQL takes no parameter (role passwords, DDL, COPY).
class SqlLiteral {
 public:
  // kInvalidArgument when not UTF-8 or with a NUL.
  static Result<SqlLiteral> make(std::string_view value);
  const std::string& quoted() const { return quoted_; }

 private:
  explicit SqlLiteral(std::string_view value);
  std::string quoted_;
};

// What a placeholder may become. A list of names is joined with ", ".
using SqlPart = std::variant<SqlIdent, std::vector<SqlIdent>, SqlLiteral, std::int64_t, Sql>;

struct SqlBinding {
  std::string_view placeholder;  // without the braces
  SqlPart part;
};

// Replaces each `{placeholder}` of the text. Braces around anything else stay as they are ('{}' is
// an empty array), and what was put in is not searched again. A binding that the text does not use
// is a programming error and ends the process.
Sql sql_with(const Sql& text, std::initializer_list<SqlBinding> bindings);

// Replaces each `{schema}`; a text without it is returned as it is.
Sql sql_for_schema(const SqlIdent& schema, const Sql& text);

}  // namespace duckicelake::pg
