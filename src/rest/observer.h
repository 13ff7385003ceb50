// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "net/http.h"
#include "rest/route.h"

namespace duckicelake::rest {

// One answered request, for the log and the metrics. The views are valid during the call only.
struct RequestRecord {
  RouteId route = kNoRoute;  // route_path(route) is the metrics' endpoint label
  net::Method method = net::Method::kGet;
  std::string_view target;  // as the client sent it: still encoded, may be long
  int status = 0;
  std::chrono::nanoseconds duration{
      0};                          // from the complete request to the answer, without its writing
  std::size_t request_bytes = 0;   // of the body
  std::size_t response_bytes = 0;  // of the body (what a HEAD or 304 leaves out counts as 0)
  std::string_view request_id;
  std::string_view caller;  // principal id
  std::string_view peer_address;
  std::optional<Code> error;  // set when the answer is an error
  std::string_view message;   // what the caller was told
  std::string_view cause;     // for the log only
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // On the I/O thread or the worker that made the answer, just before it is sent: must not block.
  // Thread-safe.
  virtual void on_request(const RequestRecord& record) noexcept = 0;
};

}  // namespace duckicelake::rest
