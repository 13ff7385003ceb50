// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/sign_request.h"

namespace duckicelake::rest {

// RemoteSignRequest, in the specification's form and in that of older clients. kInvalidArgument
// names the member that is wrong.
Result<catalog::SignRequest> read_sign_request(std::string_view body);

// RemoteSignResult.
std::string sign_body(const catalog::SignedRequest& signed_request);

}  // namespace duckicelake::rest
