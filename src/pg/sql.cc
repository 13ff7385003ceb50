// SPDX-License-Identifier: Apache-2.0
#include "pg/sql.h"

#include "base/bytes.h"

namespace duckicelake::pg {

namespace {

constexpr std::size_t kMaxIdentifierBytes = 63;  // NAMEDATALEN - 1

std::string doubled(std::string_view text, char mark) {
  std::string out;
  out.reserve(text.size() + 2);
  for (char c : text) {
    if (c == mark) out.push_back(mark);
    out.push_back(c);
  }
  return out;
}

struct PartText {
  std::string operator()(const SqlIdent& ident) const { return ident.quoted(); }
  std::string operator()(const std::vector<SqlIdent>& idents) const {
    std::string out;
    for (const SqlIdent& ident : idents) {
      if (!out.empty()) out += ", ";
      out += ident.quoted();
    }
    return out;
  }
  std::string operator()(const SqlLiteral& literal) const { return literal.quoted(); }
  // In parentheses: "x -{n}" with a negative number would begin a comment.
  std::string operator()(std::int64_t number) const {
    return number < 0 ? fmt::format("({})", number) : fmt::format("{}", number);
  }
  std::string operator()(const Sql& sql) const { return std::string(sql.text()); }
};

}  // namespace

// The one place that turns run-time text into Sql.
class SqlBuilder {
 public:
  static Sql make(std::string text) { return Sql(Sql::Owned{}, std::move(text)); }

  // Uses counts per binding in `used`.
  static Sql replace(std::string_view text, std::initializer_list<SqlBinding> bindings,
                     std::vector<int>& used) {
    std::string out;
    out.reserve(text.size() + 64);
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t open = text.find('{', at);
      if (open == std::string_view::npos) break;
      out += text.substr(at, open - at);
      at = open;
      std::size_t index = 0;
      bool replaced = false;
      for (const SqlBinding& binding : bindings) {
        const std::size_t length = binding.placeholder.size();
        if (text.substr(open + 1, length) == binding.placeholder &&
            open + 1 + length < text.size() && text[open + 1 + length] == '}') {
          out += std::visit(PartText{}, binding.part);
          at = open + length + 2;
          ++used[index];
          replaced = true;
          break;
        }
        ++index;
      }
      if (!replaced) {
        out.push_back('{');
        ++at;
      }
    }
    out += text.substr(at);
    return make(std::move(out));
  }
};

Sql operator+(const Sql& a, const Sql& b) {
  std::string text(a.text());
  text += b.text();
  return SqlBuilder::make(std::move(text));
}

SqlIdent::SqlIdent(std::string_view name) : name_(name), quoted_('"' + doubled(name, '"') + '"') {}

Result<SqlIdent> SqlIdent::make(std::string_view name) {
  if (name.empty()) return invalid_argument("a database name may not be empty");
  if (name.find('\0') != std::string_view::npos) {
    return invalid_argument("a database name may not contain a NUL character");
  }
  if (!is_valid_utf8(name)) return invalid_argument("a database name must be UTF-8");
  if (name.size() > kMaxIdentifierBytes) {
    return invalid_argument("a database name may have at most {} bytes, this one has {}",
                            kMaxIdentifierBytes, name.size());
  }
  return SqlIdent(name);
}

SqlIdent SqlIdent::constant(ConstantText name) {
  Result<SqlIdent> ident = make(name.text);
  DIL_ASSERT(ident.has_value());
  return *std::move(ident);
}

SqlLiteral::SqlLiteral(std::string_view value) {
  // The escape form is right whatever standard_conforming_strings says; the blank keeps the E from
  // joining a word before it.
  const bool has_backslash = value.find('\\') != std::string_view::npos;
  std::string body = doubled(value, '\'');
  if (has_backslash) body = doubled(body, '\\');
  quoted_ = (has_backslash ? " E'" : "'") + body + "'";
}

Result<SqlLiteral> SqlLiteral::make(std::string_view value) {
  if (value.find('\0') != std::string_view::npos) {
    return invalid_argument("a database string may not contain a NUL character");
  }
  if (!is_valid_utf8(value)) return invalid_argument("a database string must be UTF-8");
  return SqlLiteral(value);
}

Sql sql_with(const Sql& text, std::initializer_list<SqlBinding> bindings) {
  std::vector<int> used(bindings.size(), 0);
  Sql out = SqlBuilder::replace(text.text(), bindings, used);
  for (int count : used) DIL_ASSERT(count > 0);
  return out;
}

Sql sql_for_schema(const SqlIdent& schema, const Sql& text) {
  std::vector<int> used(1, 0);
  return SqlBuilder::replace(text.text(), {{"schema", schema}}, used);
}

}  // namespace duckicelake::pg
