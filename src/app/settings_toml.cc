// SPDX-License-Identifier: Apache-2.0
// toml++ 3.3 asserts, or in builds with NDEBUG assumes, things that malformed documents break
// ("[[["); the errors that it reports behind those assertions are what we want.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "app/settings_sources.h"
#include "app/settings_table.h"

namespace duckicelake::app {
namespace {

// "[pg] host", "catalog"
std::string describe(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("[{}] {}", path, key);
}

// Length of the string that begins at text[0], a quote; up to the end of the text when it does not
// close.
std::size_t string_length(std::string_view text) {
  const char quote = text[0];
  const std::string triple(3, quote);
  const bool is_long = text.starts_with(triple);
  for (std::size_t i = is_long ? 3 : 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (is_long ? text.substr(i).starts_with(triple) : text[i] == quote) {
      i += is_long ? 3 : 1;
      // Up to two quotes may stand before the closing three.
      for (int extra = 0; is_long && extra < 2 && i < text.size() && text[i] == quote; ++extra) ++i;
      return i;
    } else if (!is_long && text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

// The parser nests as deep as keys have dots, and so does the stack when the tables are destroyed.
// No setting needs more than two levels.
bool is_shallow(std::string_view text) {
  constexpr int kDeepest = 8;
  int dots = 0;
  int brackets = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i += string_length(text.substr(i)) - 1;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '.') {
      if (++dots > kDeepest) return false;
    } else if (c == '[' || c == '{') {
      dots = 0;
      if (++brackets > kDeepest) return false;
    } else if (c == ']' || c == '}') {
      dots = 0;
      brackets = std::max(0, brackets - 1);
    } else if (c == '=' || c == ',' || c == '\n') {
      dots = 0;
    }
  }
  return true;
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "1" : "0");
  return std::nullopt;
}

std::optional<std::string> value_text(const toml::node& node) {
  const toml::array* list = node.as_array();
  if (list == nullptr) return scalar_text(node);
  std::string out;
  for (const toml::node& item : *list) {
    const auto* text = item.as_string();
    if (text == nullptr) return std::nullopt;
    if (!out.empty()) out.push_back(',');
    out += text->get();
  }
  return out;
}

struct Reader {
  std::string_view file;
  FoundValues found;

  // `prefix` is the name so far, ending in '_'. Depth is bounded by is_shallow.
  Status read(const toml::table& table, const std::string& path, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      std::string name = prefix;
      for (const char c : key.str()) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') {
          return invalid_argument("{}: {} cannot be the name of a setting", file,
                                  describe(path, key.str()));
        }
        name.push_back(c == '-' ? '_'
                                : static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
      }
      if (const toml::table* inner = node.as_table()) {
        const std::string inner_path =
            path.empty() ? std::string(key.str()) : fmt::format("{}.{}", path, key.str());
        DIL_CHECK_OK(read(*inner, inner_path, name + "_"));
        continue;
      }
      std::string origin = fmt::format("{} {}", file, describe(path, key.str()));
      std::optional<std::string> text = value_text(node);
      if (!text) {
        return invalid_argument("{} is neither text, a number, true, false nor a list of texts",
                                origin);
      }
      if (!found.emplace(name, FoundValue{Secret(std::move(*text)), origin}).second) {
        return invalid_argument("{}: {} is there twice", origin, name);
      }
    }
    return {};
  }
};

}  // namespace

Result<FoundValues> parse_toml(std::string_view text, std::string_view file) {
  if (!is_shallow(text)) return invalid_argument("{}: nested too deeply", file);
  const toml::parse_result parsed = toml::parse(text, std::string_view());
  if (!parsed) {
    // The parser's words may quote the document, and with it a secret.
    return invalid_argument("{} line {}: not well-formed TOML", file,
                            parsed.error().source().begin.line);
  }
  Reader reader{file, {}};
  DIL_CHECK_OK(reader.read(parsed.table(), "", std::string(kSettingPrefix)));
  return std::move(reader.found);
}

}  // namespace duckicelake::app
