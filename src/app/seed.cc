// SPDX-License-Identifier: Apache-2.0
#include "engine/seed.h"

#include <cstdio>

#include "app/backends.h"
#include "app/commands.h"

namespace duckicelake::app {
namespace {

Result<engine::SeedReport> seed(const Settings& settings) {
  DIL_TRY(auto lake, engine::Lake::open(engine_config(settings, std::nullopt),
                                        lake_config(settings, ""), engine::AttachMode::kExisting));
  return engine::seed_lake(*lake);
}

}  // namespace

int run_seed(const Settings& settings) {
  const Result<engine::SeedReport> report = seed(settings);
  if (!report) {
    fmt::print(stderr, "seed: failed: {}\nseed: is there a lake? `duckicelake init` makes one\n",
               report.error().to_string());
    return 1;
  }
  fmt::print("seed: analytics.customers has {} rows ({} added), analytics.orders {} ({} added)\n",
             report->customers_total, report->customers_added, report->orders_total,
             report->orders_added);
  return 0;
}

}  // namespace duckicelake::app
