// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http.h"

namespace duckicelake::rest {

struct ErrorKind {
  int status;
  std::string_view type;  // Iceberg's exception name
};
ErrorKind error_kind(Code code);

// {"error":{"message","type","code"}} (REST specification, ErrorModel) and, for 503 and 429,
// Retry-After. `invalid_type`, unless it is empty, stands for BadRequestException. The message of a
// 500 names the request, so that its cause can be found in the log; the cause itself stays there.
net::Response error_response(const Error& error, std::string_view request_id,
                             std::string_view invalid_type = {});

}  // namespace duckicelake::rest
