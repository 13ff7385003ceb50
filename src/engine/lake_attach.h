// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "engine/config.h"
#include "engine/database.h"

namespace duckicelake::engine {

enum class AttachMode {
  kReadOnly,         // every PostgreSQL transaction is READ ONLY; refuses a lake that is not there
  kExisting,         // refuses a lake that is not there
  kCreateIfMissing,  // makes the PostgreSQL schema and DuckLake's tables
};

// The name that an attached lake has in SQL.
inline constexpr const char* kLakeName = "lake";

// Attaches the lake to the instance (all its sessions see it). The password travels in a DuckDB
// secret, not in the ATTACH text. kUnavailable when PostgreSQL is away.
Status attach_lake(Session& session, const LakeConfig& lake, AttachMode mode);

}  // namespace duckicelake::engine
