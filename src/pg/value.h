// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace duckicelake::pg {

// PostgreSQL's text forms of values. Parsers accept what the server prints and nothing wider; what
// does not parse is kCorruptData. Work and memory are linear in the length of the text.

Result<std::int64_t> parse_int64(std::string_view text);
Result<bool> parse_bool(std::string_view text);          // t, f
Result<double> parse_double(std::string_view text);      // NaN and [-]Infinity included
Result<std::string> parse_bytea(std::string_view text);  // \x...; the older escape form is refused

// One-dimensional arrays with lower bound 1. int8[]: a NULL element is refused.
Result<std::vector<std::int64_t>> parse_int64_array(std::string_view text);
Result<std::vector<std::optional<std::string>>> parse_text_array(std::string_view text);

std::string int64_array_literal(std::span<const std::int64_t> values);
std::string text_array_literal(std::span<const std::string> values);
std::string text_array_literal(std::span<const std::optional<std::string>> values);

// One row of COPY's text format, without and with the newline at its end ("File Formats" of COPY).
Result<std::vector<std::optional<std::string>>> parse_copy_row(std::string_view line);
void append_copy_row(std::string& out, std::span<const std::optional<std::string_view>> fields);

}  // namespace duckicelake::pg
