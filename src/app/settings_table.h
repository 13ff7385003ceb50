// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::app {

enum class SettingKind : std::uint8_t {
  kText,     // any text without control characters
  kSecret,   // the same, shown as *** everywhere
  kInteger,  // within [low, high]
  kDecimal,  // a number >= low, <= high
  kSwitch,   // 1, 0, true, false
  kChoice,   // one of `choices`, in any case of letters
};

enum class SettingUse : std::uint8_t {
  kServer,  // has an effect
  kLater,   // of a feature that is not there yet: checked, then one notice
  kAccess,  // has an effect: who may come in
};

// One row of the table that is the only place where a setting is described: parsing, checking,
// --print-config and docs/operations/settings.md are all made from it.
struct SettingSpec {
  std::string_view name;  // "DUCKICELAKE_PG_HOST"
  SettingKind kind;
  std::string_view standard;  // the default, as text; empty: not set
  std::string_view meaning;   // one clause, Markdown
  SettingUse use = SettingUse::kServer;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string_view choices = {};  // "json|text"
};

inline constexpr std::string_view kSettingPrefix = "DUCKICELAKE_";

// All settings, in the order in which they are documented.
std::span<const SettingSpec> setting_specs();
// nullptr: there is no such setting.
const SettingSpec* find_setting(std::string_view name);
// True for variables of the project's tools, which the server ignores: DUCKICELAKE_DEPS_*, _TEST_*,
// _BIN.
bool is_tool_variable(std::string_view name);

// kInvalidArgument, naming the setting; the text itself is quoted only when it is no secret.
Status check_setting(const SettingSpec& spec, std::string_view text);

// The tables of docs/operations/settings.md.
std::string settings_markdown();

}  // namespace duckicelake::app
