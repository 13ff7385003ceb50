// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "catalog/authorize.h"
#include "store/idempotency.h"

namespace duckicelake::catalog {

// What every use case that changes something is told about its request.
struct WriteContext {
  Caller caller;
  std::optional<store::IdempotencyRecord> idempotency;  // when the request carried a key
};

}  // namespace duckicelake::catalog
