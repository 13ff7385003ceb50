// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/result.h"

namespace duckicelake::net {

struct FetchLimits {
  std::size_t max_bytes = std::size_t{256} << 10;
  std::chrono::milliseconds connect_timeout{3'000};
  std::chrono::milliseconds timeout{10'000};
  std::string ca_file = {};  // certificates that the peer's is checked against; empty: the system's
};

// GET of a small document over http or https, in the calling thread. No redirects, no proxy from
// the environment, no credentials; the certificate and its host are checked. kUnavailable: no 200
// within the limits.
Result<std::string> fetch(const std::string& url, const FetchLimits& limits = {});

}  // namespace duckicelake::net
