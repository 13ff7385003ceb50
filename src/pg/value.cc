// SPDX-License-Identifier: Apache-2.0
#include "pg/value.h"

#include <charconv>
#include <limits>

#include "base/bytes.h"

namespace duckicelake::pg {

namespace {

Error bad_value(std::string_view kind) {
  return make_error(Code::kCorruptData, "a value of the database is not a valid {}", kind);
}

struct ArrayElement {
  std::string text;
  bool quoted = false;
};

// Reads the element that begins at `at` and leaves `at` behind it.
Result<ArrayElement> read_element(std::string_view text, std::size_t& at) {
  ArrayElement element;
  if (at < text.size() && text[at] == '"') {
    element.quoted = true;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && ++at == text.size()) return bad_value("array");
      element.text.push_back(text[at]);
    }
    if (at == text.size()) return bad_value("array");
    ++at;
    return element;
  }
  for (; at < text.size() && text[at] != ',' && text[at] != '}'; ++at) {
    if (text[at] == '\\' && ++at == text.size()) return bad_value("array");
    if (text[at] == '{' || text[at] == '"') return bad_value("array");
    element.text.push_back(text[at]);
  }
  if (element.text.empty()) return bad_value("array");
  return element;
}

Result<std::vector<ArrayElement>> read_array(std::string_view text) {
  std::vector<ArrayElement> out;
  if (text.size() < 2 || text.front() != '{') return bad_value("array");
  if (text == "{}") return out;
  std::size_t at = 1;
  for (;;) {
    DIL_TRY(ArrayElement element, read_element(text, at));
    out.push_back(std::move(element));
    if (at >= text.size()) return bad_value("array");
    const char next = text[at++];
    if (next == '}') break;
    if (next != ',') return bad_value("array");
  }
  if (at != text.size()) return bad_value("array");
  return out;
}

void append_array_text(std::string& out, std::string_view value) {
  out.push_back('"');
  for (char c : value) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

bool is_null_word(std::string_view text) {
  return text.size() == 4 && (text[0] | 0x20) == 'n' && (text[1] | 0x20) == 'u' &&
         (text[2] | 0x20) == 'l' && (text[3] | 0x20) == 'l';
}

char unescaped_copy_char(char c) {
  switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return c;
  }
}

char escaped_copy_char(char c) {
  switch (c) {
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    case '\v': return 'v';
    case '\\': return '\\';
    default: return '\0';
  }
}

}  // namespace

Result<std::int64_t> parse_int64(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return bad_value("integer");
  return value;
}

Result<bool> parse_bool(std::string_view text) {
  if (text == "t") return true;
  if (text == "f") return false;
  return bad_value("boolean");
}

Result<double> parse_double(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return bad_value("number");
  return value;
}

Result<std::string> parse_bytea(std::string_view text) {
  if (text.substr(0, 2) != "\\x") return bad_value("bytea");
  Result<std::string> bytes = from_hex(text.substr(2));
  if (!bytes) return bad_value("bytea");
  return bytes;
}

Result<std::vector<std::int64_t>> parse_int64_array(std::string_view text) {
  DIL_TRY(std::vector<ArrayElement> elements, read_array(text));
  std::vector<std::int64_t> out;
  out.reserve(elements.size());
  for (const ArrayElement& element : elements) {
    DIL_TRY(std::int64_t value, parse_int64(element.text));
    out.push_back(value);
  }
  return out;
}

Result<std::vector<std::optional<std::string>>> parse_text_array(std::string_view text) {
  DIL_TRY(std::vector<ArrayElement> elements, read_array(text));
  std::vector<std::optional<std::string>> out;
  out.reserve(elements.size());
  for (ArrayElement& element : elements) {
    if (!element.quoted && is_null_word(element.text)) {
      out.emplace_back(std::nullopt);
    } else {
      out.emplace_back(std::move(element.text));
    }
  }
  return out;
}

std::string int64_array_literal(std::span<const std::int64_t> values) {
  std::string out = "{";
  for (std::int64_t value : values) {
    if (out.size() > 1) out.push_back(',');
    out += fmt::format_int(value).str();
  }
  out.push_back('}');
  return out;
}

std::string text_array_literal(std::span<const std::string> values) {
  std::string out = "{";
  for (const std::string& value : values) {
    if (out.size() > 1) out.push_back(',');
    append_array_text(out, value);
  }
  out.push_back('}');
  return out;
}

std::string text_array_literal(std::span<const std::optional<std::string>> values) {
  std::string out = "{";
  for (const std::optional<std::string>& value : values) {
    if (out.size() > 1) out.push_back(',');
    if (value) {
      append_array_text(out, *value);
    } else {
      out += "NULL";
    }
  }
  out.push_back('}');
  return out;
}

Result<std::vector<std::optional<std::string>>> parse_copy_row(std::string_view line) {
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  std::vector<std::optional<std::string>> out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t tab = line.find('\t', at);
    const std::string_view field = line.substr(at, tab == std::string_view::npos ? tab : tab - at);
    if (field == "\\N") {
      out.emplace_back(std::nullopt);
    } else {
      std::string value;
      value.reserve(field.size());
      for (std::size_t i = 0; i < field.size(); ++i) {
        if (field[i] != '\\') {
          value.push_back(field[i]);
        } else if (++i < field.size()) {
          value.push_back(unescaped_copy_char(field[i]));
        } else {
          return bad_value("row of COPY");
        }
      }
      out.emplace_back(std::move(value));
    }
    if (tab == std::string_view::npos) return out;
    at = tab + 1;
  }
}

void append_copy_row(std::string& out, std::span<const std::optional<std::string_view>> fields) {
  bool first = true;
  for (const std::optional<std::string_view>& field : fields) {
    if (!first) out.push_back('\t');
    first = false;
    if (!field) {
      out += "\\N";
      continue;
    }
    for (char c : *field) {
      const char escaped = escaped_copy_char(c);
      if (escaped != '\0') {
        out.push_back('\\');
        out.push_back(escaped);
      } else {
        out.push_back(c);
      }
    }
  }
  out.push_back('\n');
}

}  // namespace duckicelake::pg
