// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace duckicelake::net {

// Percent-coding of request targets (RFC 3986). Every part is decoded exactly once, after the split
// at raw delimiters: `a%2Fb` is one segment that reads "a/b", `a%252Fb` reads "a%2Fb". All errors
// are kInvalidArgument: a '%' without two hex digits, a NUL, bytes that are not UTF-8.

// The views point into the target. has_query tells "/p?" from "/p".
struct SplitTarget {
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};
SplitTarget split_target(std::string_view target);

// '+' stands for itself.
Result<std::string> decode_segment(std::string_view raw);
// '+' is a space, as HTML forms have it.
Result<std::string> decode_query_component(std::string_view raw);

// "/v1/a%2Fb" -> {"v1", "a/b"}; "/" -> {}. Refused: no leading '/', empty segments ("//", a
// trailing
// '/'), segments that read "." or ".." (encoded dots too: RFC 3986 §6.2.2.2 makes them the same),
// more than kMaxPathSegments segments.
inline constexpr std::size_t kMaxPathSegments = 64;
Result<std::vector<std::string>> decode_path(std::string_view raw_path);

// Pairs in the order given; "a" and "a=" both read ("a", ""); empty pieces ("&&") are skipped;
// names may repeat. Also reads application/x-www-form-urlencoded bodies.
using QueryPairs = std::vector<std::pair<std::string, std::string>>;
struct QueryLimits {
  std::size_t max_bytes = 64 * 1024;
  std::size_t max_pairs = 256;
};
Result<QueryPairs> parse_query(std::string_view raw, QueryLimits limits = {});

// Everything but the unreserved characters of RFC 3986 §2.3 is encoded, upper-case hex; safe for
// path segments and query components alike.
std::string encode_component(std::string_view text);

}  // namespace duckicelake::net
