// SPDX-License-Identifier: Apache-2.0
#include "app/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "app/settings_table.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kConfigFile = "DUCKICELAKE_CONFIG_FILE";

// Names that are unknown or values that are malformed; the origin tells where to correct them.
Status check_found(const FoundValues& found) {
  for (const auto& [name, value] : found) {
    const SettingSpec* spec = find_setting(name);
    if (spec == nullptr) {
      return invalid_argument("{} (in {}) is not a setting that is known", name, value.origin);
    }
    Status checked = check_setting(*spec, value.text.reveal());
    if (!checked) return invalid_argument("{} (in {})", checked.error().message(), value.origin);
  }
  return {};
}

// A file that need not be there.
Result<std::optional<std::string>> read_optional(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().code() == Code::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

const SettingSpec& spec_of(std::string_view name) {
  const SettingSpec* spec = find_setting(name);
  DIL_ASSERT(spec != nullptr);
  return *spec;
}

}  // namespace

Result<SettingValues> SettingValues::load(const SettingSources& sources) {
  SettingValues out;
  out.found_ = read_environment(sources.environment);
  DIL_TRY(const auto dotenv, read_optional(in_folder(sources.folder, ".env")));
  if (dotenv) {
    DIL_TRY(FoundValues found, parse_dotenv(*dotenv, ".env"));
    out.found_.merge(found);
  }
  std::string file;
  if (auto named = out.found_.find(kConfigFile); named != out.found_.end()) {
    file = named->second.text.reveal();
  }
  if (!file.empty()) {
    DIL_TRY(const std::string text, read_small_file(file));
    DIL_TRY(FoundValues found, parse_toml(text, file));
    if (found.contains(kConfigFile)) {
      return invalid_argument("{} cannot name another file ({})", file, kConfigFile);
    }
    out.found_.merge(found);
  } else {
    DIL_TRY(const auto text, read_optional(in_folder(sources.folder, "duckicelake.toml")));
    if (text) {
      DIL_TRY(FoundValues found, parse_toml(*text, "duckicelake.toml"));
      out.found_.merge(found);
    }
  }
  DIL_CHECK_OK(check_found(out.found_));
  return out;
}

std::string SettingValues::text(std::string_view name) const {
  const SettingSpec& spec = spec_of(name);
  const auto found = found_.find(name);
  return found == found_.end() ? std::string(spec.standard) : found->second.text.reveal();
}

Secret SettingValues::secret(std::string_view name) const {
  DIL_ASSERT(spec_of(name).kind == SettingKind::kSecret);
  const auto found = found_.find(name);
  return found == found_.end() ? Secret(std::string(spec_of(name).standard)) : found->second.text;
}

std::int64_t SettingValues::integer(std::string_view name) const {
  DIL_ASSERT(spec_of(name).kind == SettingKind::kInteger);
  const std::string digits = text(name);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

double SettingValues::decimal(std::string_view name) const {
  DIL_ASSERT(spec_of(name).kind == SettingKind::kDecimal);
  const std::string digits = text(name);
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool SettingValues::flag(std::string_view name) const {
  DIL_ASSERT(spec_of(name).kind == SettingKind::kSwitch);
  const std::string word = text(name);
  return word == "1" || (word.size() == 4 && (word[0] == 't' || word[0] == 'T'));
}

std::string SettingValues::choice(std::string_view name) const {
  const SettingSpec& spec = spec_of(name);
  DIL_ASSERT(spec.kind == SettingKind::kChoice);
  const std::string word = text(name);
  std::string_view choices = spec.choices;
  while (true) {
    const std::string_view one = choices.substr(0, choices.find('|'));
    if (std::equal(
            one.begin(), one.end(), word.begin(), word.end(),
            [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); })) {
      return std::string(one);
    }
    if (one.size() == choices.size()) return std::string(spec.standard);
    choices.remove_prefix(one.size() + 1);
  }
}

std::vector<std::string> SettingValues::without_effect() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : found_) {
    if (spec_of(name).use == SettingUse::kLater) out.push_back(name);
  }
  return out;
}

std::string SettingValues::print() const {
  std::string out;
  for (const SettingSpec& spec : setting_specs()) {
    const auto found = found_.find(spec.name);
    const std::string origin = found == found_.end() ? "default" : found->second.origin;
    std::string shown = text(spec.name);
    if (spec.kind == SettingKind::kSecret && !shown.empty()) shown = "***";
    out += fmt::format("{}={}  # {}\n", spec.name, shown, origin);
  }
  return out;
}

}  // namespace duckicelake::app
