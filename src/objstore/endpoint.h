// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::objstore {

// The base URL of a service, taken apart.
struct Endpoint {
  std::string scheme;     // "http" or "https"
  std::string authority;  // host[:port], as it goes into the Host header: default ports are dropped
  std::string path;       // "" or "/base", without a slash at the end

  // kInvalidArgument for another scheme, a user, a query, a fragment, '%' in the path, or no host.
  static Result<Endpoint> parse(std::string_view url);
};

}  // namespace duckicelake::objstore
