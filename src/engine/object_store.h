// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "engine/config.h"
#include "engine/database.h"

namespace duckicelake::engine {

// Gives an instance that has loaded httpfs the keys of the object store, and makes it read object
// keys literally: no globs, no "?s3_endpoint=…" in an address.
Status configure_object_store(Session& session, const std::optional<S3Config>& s3);

}  // namespace duckicelake::engine
