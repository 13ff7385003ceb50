// SPDX-License-Identifier: Apache-2.0
#include "app/lake_upkeep.h"

#include "engine/maintenance.h"

namespace duckicelake::app {

Result<catalog::CompactReport> LakeUpkeep::compact(const std::string& schema,
                                                   const std::string& table,
                                                   const catalog::CompactOptions& options) {
  engine::CompactOptions wanted;
  wanted.mode = options.is_dry_run ? engine::Upkeep::kDryRun : engine::Upkeep::kRun;
  wanted.delete_threshold = options.delete_threshold;
  wanted.cleanup_older_than = options.cleanup_older_than;
  DIL_TRY(const std::unique_ptr<engine::Lake> lake,
          engine::Lake::open(engine_, lake_, engine::AttachMode::kExisting));
  DIL_TRY(engine::CompactReport done, engine::compact_table(*lake, {schema, table}, wanted));
  catalog::CompactReport out;
  out.before = {done.before.data_files, done.before.delete_files};
  out.after = {done.after.data_files, done.after.delete_files};
  out.inlined_rows = done.inlined_rows;
  out.files_rewritten = done.files_rewritten;
  out.files_merged = done.files_merged;
  out.removed_objects = std::move(done.removed_objects);
  return out;
}

Result<std::vector<SnapshotId>> LakeUpkeep::expire(std::span<const SnapshotId> snapshots) {
  DIL_TRY(const std::unique_ptr<engine::Lake> lake,
          engine::Lake::open(engine_, lake_, engine::AttachMode::kExisting));
  return engine::expire_snapshots(*lake, snapshots, engine::Upkeep::kRun);
}

}  // namespace duckicelake::app
