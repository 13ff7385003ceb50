// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "pg/param.h"
#include "pg/sql.h"

namespace duckicelake::pg {

// kCached: prepared at its first use on a connection and kept there. kOnce: for texts that hardly
// come back (DDL, names of one table).
enum class Prepare { kCached, kOnce };

// kCommit marks a COMMIT: when the connection is lost before its answer, the outcome is unknown.
// kReadOnlyCommit: that of a transaction which cannot have changed anything.
enum class Effect { kPlain, kCommit, kReadOnlyCommit };

// One SQL statement (not several) with its parameters.
struct Statement {
  Sql sql;
  std::vector<Param> params = {};
  Prepare prepare = Prepare::kCached;
  std::string_view name = {};  // a constant, for the log
  Effect effect = Effect::kPlain;
};

}  // namespace duckicelake::pg
