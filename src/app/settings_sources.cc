// SPDX-License-Identifier: Apache-2.0
#include "app/settings_sources.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/settings_table.h"
#include "base/bytes.h"

namespace duckicelake::app {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// What follows a closing quote: nothing, or a comment.
bool is_end_of_line(std::string_view rest) {
  rest = trimmed(rest);
  return rest.empty() || rest.starts_with('#');
}

std::optional<std::string> parse_double_quoted(std::string_view text) {
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      if (!is_end_of_line(text.substr(i + 1))) return std::nullopt;
      return out;
    }
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case 'n': out.push_back('\n'); break;
      case 't': out.push_back('\t'); break;
      case '"':
      case '\\':
      case '$': out.push_back(text[i]); break;
      default: return std::nullopt;
    }
  }
  return std::nullopt;
}

// The value behind NAME=; nullopt when its quotes do not close on the line.
std::optional<std::string> parse_value(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('"')) return parse_double_quoted(text);
  if (text.starts_with('\'')) {
    const std::size_t close = text.find('\'', 1);
    if (close == std::string_view::npos || !is_end_of_line(text.substr(close + 1))) {
      return std::nullopt;
    }
    return std::string(text.substr(1, close - 1));
  }
  if (text.starts_with('#')) return std::string();
  for (const std::string_view mark : {" #", "\t#"}) {
    text = text.substr(0, text.find(mark));
  }
  return std::string(trimmed(text));
}

}  // namespace

FoundValues read_environment(const char* const* entries) {
  FoundValues out;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry(*entries);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (!name.starts_with(kSettingPrefix) || is_tool_variable(name)) continue;
    out.insert_or_assign(
        std::string(name),
        FoundValue{Secret(std::string(entry.substr(equals + 1))), "the environment"});
  }
  return out;
}

Result<FoundValues> parse_dotenv(std::string_view text, std::string_view file) {
  FoundValues out;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    for (const std::string_view word : {"export ", "export\t"}) {
      if (line.starts_with(word)) line = trimmed(line.substr(word.size()));
    }
    if (!line.starts_with(kSettingPrefix)) continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    if (equals == std::string_view::npos || !is_name(name)) {
      return invalid_argument("{} line {}: not NAME=value", file, number);
    }
    if (is_tool_variable(name)) continue;
    std::optional<std::string> value = parse_value(line.substr(equals + 1));
    if (!value || !is_valid_utf8(*value)) {
      return invalid_argument("{} line {}: the value of {} is not well quoted", file, number, name);
    }
    const bool is_new =
        out.emplace(std::string(name),
                    FoundValue{Secret(std::move(*value)), fmt::format("{} line {}", file, number)})
            .second;
    if (!is_new) return invalid_argument("{} line {}: {} is there twice", file, number, name);
  }
  return out;
}

Result<std::string> read_small_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    if (errno == ENOENT) return make_error(Code::kNotFound, "there is no file {}", path);
    return invalid_argument("the file {} cannot be read", path);
  }
  std::string out(kMaxSettingsFileBytes + 1, '\0');
  const std::size_t count = std::fread(out.data(), 1, out.size(), file.get());
  if (std::ferror(file.get()) != 0) return invalid_argument("the file {} cannot be read", path);
  if (count > kMaxSettingsFileBytes) {
    return make_error(Code::kPayloadTooLarge, "the file {} is longer than {} bytes", path,
                      kMaxSettingsFileBytes);
  }
  out.resize(count);
  return out;
}

}  // namespace duckicelake::app
