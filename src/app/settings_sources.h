// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::app {

// A value as it was found and where: "the environment", ".env line 3", "duckicelake.toml [pg]
// host". Any may be a secret, so all are kept like one.
struct FoundValue {
  Secret text;
  std::string origin;
};
using FoundValues = std::map<std::string, FoundValue, std::less<>>;  // by the setting's name

// Longer files are refused.
inline constexpr std::size_t kMaxSettingsFileBytes = std::size_t{1} << 20;

// The DUCKICELAKE_* entries of a NULL-terminated list of "name=value", as `environ` is; those of
// the tools are left out.
FoundValues read_environment(const char* const* entries);

// The DUCKICELAKE_* lines of a .env file: NAME=value, with or without "export ", the value bare
// (cut at " #"), in single quotes (verbatim) or in double quotes (\n \t \" \\ \$ known). Lines of
// other names, comments and blank lines are skipped without being looked into. kInvalidArgument
// names `file` and line, and never quotes a value.
Result<FoundValues> parse_dotenv(std::string_view text, std::string_view file);

// A TOML document: [section] key = value is DUCKICELAKE_SECTION_KEY, a key outside of sections is
// DUCKICELAKE_KEY. Strings, integers, floats, booleans, and lists of strings (joined with commas).
// kInvalidArgument names `file` and the key.
Result<FoundValues> parse_toml(std::string_view text, std::string_view file);

// The file's bytes. kNotFound; kPayloadTooLarge; kInvalidArgument when it cannot be read.
Result<std::string> read_small_file(const std::string& path);

}  // namespace duckicelake::app
