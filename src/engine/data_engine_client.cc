// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "engine/client_deletes.h"
#include "engine/data_engine.h"
#include "engine/database.h"
#include "engine/nan_count.h"
#include "engine/watchdog.h"

// The duties of the DataEngine port on files that clients wrote.
namespace duckicelake::engine {

Result<FileReference> DuckdbDataEngine::resolve(const std::string& uri) const {
  return resolve_file(uri, {.allows_s3 = config_.s3.has_value(),
                            .s3_prefix = config_.s3 ? config_.s3->scope : std::string(),
                            .allows_local = config_.allow_local_files});
}

Deadline DuckdbDataEngine::deadline() const {
  return Watchdog::Clock::now() + config_.call_timeout;
}

Result<catalog::DataEngine::PositionsByFile> DuckdbDataEngine::read_client_position_deletes(
    const std::string& uri) {
  DIL_TRY(const FileReference file, resolve(uri));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline()));
  return engine::read_client_position_deletes(session, file, config_.max_result_rows);
}

Result<std::vector<std::int64_t>> DuckdbDataEngine::find_equality_matches(
    const catalog::EqualityScan& scan) {
  EqualityFiles wanted;
  DIL_TRY(wanted.data_file, resolve(scan.data_file));
  for (const std::string& uri : scan.delete_files) {
    DIL_TRY(FileReference file, resolve(uri));
    wanted.delete_files.push_back(std::move(file));
  }
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline()));
  return engine::find_equality_matches(session, wanted, scan.columns, config_.max_result_rows);
}

Result<std::vector<std::optional<std::int64_t>>> DuckdbDataEngine::count_nans(
    const std::string& uri, std::span<const FieldId> columns, std::chrono::milliseconds limit) {
  DIL_TRY(const FileReference file, resolve(uri));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(std::min(deadline(), Watchdog::Clock::now() + limit)));
  return engine::count_nans(session, file, columns);
}

}  // namespace duckicelake::engine
