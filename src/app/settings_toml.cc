// SPDX-License-Identifier: Apache-2.0
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

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

  // `prefix` is the name so far, ending in '_'. Depth is bounded by the parser's own limit.
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
