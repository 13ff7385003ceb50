// SPDX-License-Identifier: Apache-2.0
#include "engine/lake.h"

#include <chrono>
#include <thread>
#include <utility>

#include "engine/database.h"
#include "engine/object_store.h"
#include "engine/temp_files.h"

namespace duckicelake::engine {

Lake::Lake(std::chrono::milliseconds timeout, std::string metadata_schema,
           std::unique_ptr<TempFolder> folder, std::unique_ptr<Database> database)
    : timeout_(timeout),
      metadata_schema_(std::move(metadata_schema)),
      folder_(std::move(folder)),
      database_(std::move(database)) {}

Lake::~Lake() = default;

Result<std::unique_ptr<Lake>> Lake::open(const EngineConfig& engine, const LakeConfig& lake,
                                         AttachMode mode) {
  DIL_TRY(auto api, DuckdbApi::load(engine.library_path));
  DIL_TRY(auto folder, TempFolder::make(engine.temp_directory));
  DatabaseConfig config{.extension_directory = engine.extension_directory,
                        .temp_directory = folder->path(),
                        .memory_limit_mb = engine.memory_limit_mb,
                        .threads = engine.threads,
                        .max_sessions = 1,
                        .extensions = {"postgres_scanner", "ducklake"},
                        .redacted = {lake.postgres.password}};
  if (engine.s3) {
    config.extensions.emplace_back("httpfs");
    config.redacted.push_back(engine.s3->secret_key);
    config.redacted.push_back(engine.s3->session_token);
  }
  DIL_TRY(auto database, Database::open(std::move(api), std::move(config)));
  {
    DIL_TRY(Session session, database->session(Watchdog::Clock::now() + engine.call_timeout));
    if (engine.s3) DIL_CHECK_OK(configure_object_store(session, engine.s3));
    DIL_CHECK_OK(attach_lake(session, lake, mode));
  }
  return std::unique_ptr<Lake>(
      new Lake(engine.call_timeout, lake.metadata_schema, std::move(folder), std::move(database)));
}

Result<Session> Lake::session() { return database_->session(Watchdog::Clock::now() + timeout_); }

Status Lake::run_statements(std::span<const std::string> statements) {
  DIL_TRY(Session session, this->session());
  // A session on which a statement failed is closed, which rolls its transaction back.
  return run_all(session, statements);
}

Status Lake::run_all(Session& session, std::span<const std::string> statements) {
  const Operation operation{"running a statement on the lake", Code::kInvalidArgument};
  for (const std::string& statement : statements) {
    DIL_CHECK_OK(session.execute(statement, {}, operation));
  }
  return {};
}

Result<std::vector<Lake::Row>> Lake::query_text(const std::string& sql) {
  constexpr std::size_t kMaxRows = 10'000;
  DIL_TRY(Session session, this->session());
  DIL_TRY(Rows rows, session.query(fmt::format("SELECT COLUMNS(*)::VARCHAR FROM ({})", sql), {},
                                   {"querying the lake", Code::kInvalidArgument}, Fetch::kAtOnce));
  std::vector<Row> out;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return out;
    if (out.size() == kMaxRows) return make_error(Code::kPayloadTooLarge, "too many rows");
    Row row;
    for (std::size_t i = 0; i < rows.column_count(); ++i) row.push_back(rows.optional_text(i));
    out.push_back(std::move(row));
  }
}

Status create_lake(const EngineConfig& engine, const LakeConfig& lake) {
  if (lake.data_path.empty()) return invalid_argument("a new lake needs a data path");
  constexpr int kAttempts = 5;
  constexpr auto kPause = std::chrono::milliseconds(300);
  for (int attempt = 1;; ++attempt) {
    auto opened = Lake::open(engine, lake, AttachMode::kCreateIfMissing);
    if (opened) return {};
    // Another process makes the same lake: when it is done, this one finds it.
    if (opened.error().code() != Code::kCommitFailed || attempt == kAttempts) {
      return std::move(opened).error();
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace duckicelake::engine
