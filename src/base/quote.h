// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// SQL text, as PostgreSQL and DuckDB write it alike. Values are bound, never quoted, where that can
// be done.
namespace duckicelake {

// "name", with quotes doubled.
std::string quote_identifier(std::string_view name);
// 'text', with quotes doubled; for places that take no parameter.
std::string quote_literal(std::string_view text);

}  // namespace duckicelake
