// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/result.h"
#include "iceberg/schema.h"

namespace duckicelake::iceberg {

struct FreshSchema {
  Schema schema;
  std::int32_t last_column_id = 0;
  std::unordered_map<std::int32_t, std::int32_t> new_id_of;  // by the id that the client gave
};

// The schema with ids from 1 in the order of Iceberg Java's TypeUtil.assignFreshIds: all fields of
// a struct first, then what they contain, one after the other; a list's element, a map's key and
// value likewise. Identifier fields follow. Pre-condition: check_schema. schema_id becomes 0.
FreshSchema assign_fresh_ids(const Schema& schema);

}  // namespace duckicelake::iceberg
