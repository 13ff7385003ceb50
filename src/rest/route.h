// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http.h"

namespace duckicelake::rest {

// A small number for each route (a method on a path template), dense from 0: an index for counters.
using RouteId = std::uint8_t;
inline constexpr RouteId kNoRoute =
    255;  // the request matched none (404, 405, a path that does not parse)

std::size_t route_count();
// "/v1/{prefix}/namespaces/{namespace}", …; "unknown" for kNoRoute.
std::string_view route_path(RouteId id);
net::Method route_method(RouteId id);
std::string_view method_name(net::Method method);  // "GET", …; "OTHER"

}  // namespace duckicelake::rest
