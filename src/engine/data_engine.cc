// SPDX-License-Identifier: Apache-2.0
#include "engine/data_engine.h"

#include <utility>

#include "engine/database.h"
#include "engine/object_store.h"
#include "engine/parquet_reader.h"
#include "engine/parquet_writer.h"
#include "engine/temp_files.h"
#include "engine/view_describer.h"

namespace duckicelake::engine {
namespace {

DatabaseConfig database_config(const EngineConfig& config, const TempFolder& folder) {
  return {.extension_directory = config.extension_directory,
          .temp_directory = folder.path(),
          .memory_limit_mb = config.memory_limit_mb,
          .threads = config.threads,
          .max_sessions = config.max_sessions,
          .extensions = {},
          .redacted = {}};
}

FileScope file_scope(const EngineConfig& config) {
  return {.allows_s3 = config.s3.has_value(),
          .s3_prefix = config.s3 ? config.s3->scope : std::string(),
          .allows_local = config.allow_local_files};
}

Deadline deadline_of(const EngineConfig& config) {
  return Watchdog::Clock::now() + config.call_timeout;
}

}  // namespace

DuckdbDataEngine::DuckdbDataEngine(EngineConfig config) : config_(std::move(config)) {}

DuckdbDataEngine::~DuckdbDataEngine() = default;

Status DuckdbDataEngine::load_library() {
  if (!api_) {
    DIL_TRY(api_, DuckdbApi::load(config_.library_path));
  }
  if (!folder_) {
    DIL_TRY(folder_, TempFolder::make(config_.temp_directory));
  }
  return {};
}

Result<std::shared_ptr<Database>> DuckdbDataEngine::files() {
  std::lock_guard lock(instances_mutex_);
  if (files_ && !files_->is_broken()) return files_;
  DIL_CHECK_OK(load_library());
  DatabaseConfig config = database_config(config_, *folder_);
  if (config_.s3) {
    config.extensions = {"httpfs"};
    config.redacted = {config_.s3->secret_key, config_.s3->session_token};
  }
  DIL_TRY(std::shared_ptr<Database> database, Database::open(api_, std::move(config)));
  {
    DIL_TRY(Session session, database->session(deadline_of(config_)));
    if (config_.s3) DIL_CHECK_OK(configure_object_store(session, config_.s3));
    DIL_CHECK_OK(session.execute("SET lock_configuration = true", {},
                                 {"locking the data engine", Code::kInternal}));
  }
  files_ = database;
  return database;
}

Result<std::shared_ptr<ViewDescriber>> DuckdbDataEngine::views() {
  std::lock_guard lock(instances_mutex_);
  if (views_ && !views_->is_broken()) return views_;
  if (!config_.view_lake) {
    return make_error(Code::kInternal, "no read-only PostgreSQL role is configured for views");
  }
  DIL_CHECK_OK(load_library());
  DIL_TRY(std::shared_ptr<ViewDescriber> describer,
          ViewDescriber::open(api_, database_config(config_, *folder_), *config_.view_lake,
                              deadline_of(config_)));
  views_ = describer;
  return describer;
}

Status DuckdbDataEngine::check() {
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return session.execute("SELECT 1", {}, {"checking the data engine", Code::kInternal});
}

void DuckdbDataEngine::release_idle() {
  std::shared_ptr<ViewDescriber> released;  // closed after the lock is gone
  std::lock_guard lock(instances_mutex_);
  if (views_.use_count() == 1) released = std::exchange(views_, nullptr);
}

Result<std::vector<catalog::DeletedPosition>> DuckdbDataEngine::read_position_deletes(
    const std::string& uri) {
  DIL_TRY(const FileReference file, resolve_file(uri, file_scope(config_)));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::read_position_deletes(session, file, config_.max_result_rows);
}

Result<std::vector<catalog::SnapshotRun>> DuckdbDataEngine::read_row_snapshots(
    const std::string& uri) {
  DIL_TRY(const FileReference file, resolve_file(uri, file_scope(config_)));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::read_row_snapshots(session, file, config_.max_result_rows);
}

Result<std::optional<std::int64_t>> DuckdbDataEngine::read_min_row_id(const std::string& uri) {
  DIL_TRY(const FileReference file, resolve_file(uri, file_scope(config_)));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::read_min_row_id(session, file);
}

Result<std::vector<catalog::DataEngine::NamedFieldId>> DuckdbDataEngine::read_field_ids(
    const std::string& uri) {
  DIL_TRY(const FileReference file, resolve_file(uri, file_scope(config_)));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::read_field_ids(session, file);
}

Result<std::vector<translate::ParquetNode>> DuckdbDataEngine::read_schema(const std::string& uri) {
  DIL_TRY(const FileReference file, resolve_file(uri, file_scope(config_)));
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::read_schema(session, file);
}

Result<catalog::WrittenParquet> DuckdbDataEngine::write_position_deletes(
    const std::string& data_file_path, std::span<const std::int64_t> positions) {
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::write_position_deletes(session, *folder_, data_file_path, positions);
}

Result<catalog::WrittenParquet> DuckdbDataEngine::write_rows(
    std::span<const catalog::ParquetColumn> columns, std::span<const catalog::TextRow> rows,
    std::span<const std::int64_t> row_ids, std::span<const std::int64_t> snapshot_ids) {
  DIL_TRY(auto database, files());
  DIL_TRY(Session session, database->session(deadline_of(config_)));
  return engine::write_rows(session, *folder_, {columns, rows, row_ids, snapshot_ids});
}

Result<std::vector<catalog::DataEngine::ViewColumn>> DuckdbDataEngine::describe_view(
    const std::string& schema_name, const std::string& view_name) {
  DIL_TRY(auto describer, views());
  auto columns = describer->describe(schema_name, view_name, deadline_of(config_));
  if (!columns && columns.error().code() == Code::kInvalidArgument) {
    if (config_.on_unbound_view) config_.on_unbound_view(columns.error());
  } else if (!columns) {
    // Its PostgreSQL connections may be dead: the next call begins with fresh ones.
    std::lock_guard lock(instances_mutex_);
    if (views_ == describer) views_.reset();
  }
  return columns;
}

}  // namespace duckicelake::engine
