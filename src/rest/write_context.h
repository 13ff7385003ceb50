// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "catalog/write_context.h"

namespace duckicelake::rest {

struct Call;

// For how long clients may repeat a request with its Idempotency-Key (/v1/config; ISO-8601). What
// is kept is kept longer: store::kOutcomeHours.
inline constexpr std::string_view kIdempotencyKeyLifetime = "PT30M";

// The caller and, when the request has an Idempotency-Key, what it stands for: the operation with
// exactly this target and body. kInvalidArgument when the key is no UUID of version 7.
Result<catalog::WriteContext> write_context(const Call& call);

}  // namespace duckicelake::rest
