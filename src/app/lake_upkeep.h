// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/maintenance_engine.h"
#include "engine/config.h"
#include "engine/lake.h"

namespace duckicelake::app {

// Maintenance by an instance of DuckDB that is opened for each call and closed after it: calls are
// rare, and the instance holds memory and connections.
class LakeUpkeep final : public catalog::MaintenanceEngine {
 public:
  // `engine.call_timeout` is for all of one call. Without views: nobody's SQL gets here.
  LakeUpkeep(engine::EngineConfig engine, engine::LakeConfig lake)
      : engine_(std::move(engine)), lake_(std::move(lake)) {}

  Result<catalog::CompactReport> compact(const std::string& schema, const std::string& table,
                                         const catalog::CompactOptions& options) override;
  Result<std::vector<SnapshotId>> expire(std::span<const SnapshotId> snapshots) override;

 private:
  const engine::EngineConfig engine_;
  const engine::LakeConfig lake_;
};

}  // namespace duckicelake::app
