// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace duckicelake::engine {

// "name", with quotes doubled. Values are bound, never quoted, where DuckDB can bind them.
std::string quote_identifier(std::string_view name);
// 'text', with quotes doubled; for places that take no parameter (paths of COPY, keys of
// FIELD_IDS).
std::string quote_literal(std::string_view text);
// A local path with the glob characters escaped, so that it names one file.
std::string escape_local_glob(std::string_view path);

}  // namespace duckicelake::engine
