// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "net/http.h"

namespace duckicelake::net {

// The connection header that the server adds.
enum class ConnectionOption { kNone, kClose, kKeepAlive };

struct ResponseFraming {
  std::string_view date;        // IMF-fixdate
  std::string_view request_id;  // safe as a header value; empty: not sent
  ConnectionOption connection = ConnectionOption::kNone;
};

// True when a body may follow (RFC 9110 §6.4.1); for HEAD ask additionally whether the request was
// one.
bool status_allows_body(int status);

// Writes status line, the server's headers, the response's headers and the blank line into `out`
// (replaced). content-length is the size of the response's body also when that will not be sent
// (HEAD); 204 and 304 have none. False: a header of the response would break the framing; `out` is
// unspecified.
bool compose_response_head(const Response& response, const ResponseFraming& framing,
                           std::string& out);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7); English whatever the locale.
std::string format_http_date(std::time_t seconds_since_epoch);

// The name that error bodies made by the server carry as "type".
std::string_view error_type_name(int status);

}  // namespace duckicelake::net
