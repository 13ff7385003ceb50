// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "objstore/transport.h"

namespace duckicelake::objstore {

// The Error of an exchange that is not ok. `key` is named in not-found and exists messages only;
// statuses, service codes and transport texts go to the cause. `service` is what the message calls
// the other side: "the object store", "STS".
Error error_of(const Exchange& exchange, std::string_view key,
               std::string_view service = "the object store");

// The outcome of a PUT. kUnavailable instead of kAlreadyExists when the object in the way may be
// our own: curl repeats a request by itself when a kept connection turns out to be closed.
Status put_status(const Exchange& exchange, std::string_view key);

}  // namespace duckicelake::objstore
