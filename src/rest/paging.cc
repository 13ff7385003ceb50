// SPDX-License-Identifier: Apache-2.0
#include "rest/paging.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace duckicelake::rest {
namespace {

constexpr std::int64_t kDefaultPageSize = 100;
constexpr std::int64_t kMaxPageSize = 1000;

}  // namespace

Result<std::int64_t> parse_integer(std::string_view name, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    return invalid_argument("{} must be a whole number of at most {}", name,
                            std::numeric_limits<std::int64_t>::max());
  }
  return value;
}

Result<Paging> parse_paging(const Call& call, Listing listing, const catalog::Levels& levels) {
  DIL_TRY(std::optional<std::string_view> token, call.parameter("pageToken"));
  DIL_TRY(std::optional<std::string_view> size, call.parameter("pageSize"));
  Paging out;
  std::int64_t limit = kDefaultPageSize;
  if (size) {
    DIL_TRY(limit, parse_integer("pageSize", *size));
    if (limit == 0) return invalid_argument("pageSize must be at least 1");
    limit = std::min(limit, kMaxPageSize);
  }
  if (!token) return out;
  out.is_paged = true;
  out.page.limit = limit;
  if (!token->empty()) {
    DIL_TRY(out.page.after, call.at->page_tokens.read(listing, levels, *token));
  }
  return out;
}

void write_next(json::Writer& json, const Call& call, Listing listing,
                const catalog::Levels& levels, const Paging& paging,
                const std::optional<std::string>& next) {
  if (!paging.is_paged) return;
  json.key("next-page-token");
  if (next) {
    json.value(call.at->page_tokens.make(listing, levels, *next));
  } else {
    json.null();
  }
}

}  // namespace duckicelake::rest
