// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/lake.h"

namespace duckicelake::engine {

struct SeedReport {
  std::int64_t customers_added = 0;
  std::int64_t orders_added = 0;
  std::int64_t customers_total = 0;
  std::int64_t orders_total = 0;
};

// Example data: schema analytics with `customers` (8 rows, one snapshot) and `orders` (15 rows, in
// two snapshots of 10 and 5). Adds what is missing and nothing else: a second run changes nothing,
// a run after an interrupted one completes it, and rows that users wrote, changed or deleted stay
// as they are.
Result<SeedReport> seed_lake(Lake& lake);

}  // namespace duckicelake::engine
