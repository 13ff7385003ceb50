// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/writer.h"
#include "rest/call.h"
#include "store/names.h"

namespace duckicelake::rest {

// A query parameter that is a whole number; kInvalidArgument names it.
Result<std::int64_t> parse_integer(std::string_view name, std::string_view text);

// What part of a listing the caller asks for.
struct Paging {
  bool is_paged = false;
  store::PageRequest page;
};

// REST specification, parameter pageToken: without it everything is answered at once, whatever
// pageSize says.
Result<Paging> parse_paging(const Call& call, Listing listing, const catalog::Levels& levels);

// The member is absent from a whole listing, and null on the last page.
void write_next(json::Writer& json, const Call& call, Listing listing,
                const catalog::Levels& levels, const Paging& paging,
                const std::optional<std::string>& next);

}  // namespace duckicelake::rest
