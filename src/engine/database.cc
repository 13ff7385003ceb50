// SPDX-License-Identifier: Apache-2.0
#include "engine/database.h"

#include <utility>

#include "engine/redact.h"
#include "engine/signal_guard.h"

namespace duckicelake::engine {
namespace {

Status set_options(const DuckdbApi& api, duckdb_config config, const DatabaseConfig& wanted) {
  const std::pair<const char*, std::string> options[] = {
      {"extension_directory", wanted.extension_directory},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"allow_unsigned_extensions", "false"},
      {"allow_community_extensions", "false"},
      {"allow_persistent_secrets", "false"},
      {"memory_limit", fmt::format("{}MB", wanted.memory_limit_mb)},
      {"threads", std::to_string(wanted.threads)},
      {"temp_directory", wanted.temp_directory},
      {"max_temp_directory_size", "8GB"},
      // Every file is read once: a cache of its bytes would only take memory.
      {"enable_external_file_cache", "false"},
  };
  for (const auto& [name, value] : options) {
    if (api.set_config(config, name, value.c_str()) != DuckDBSuccess) {
      return make_error(Code::kInternal, "DuckDB refuses the setting {}={}", name, value);
    }
  }
  return {};
}

}  // namespace

Database::Database(std::shared_ptr<const DuckdbApi> api, DatabaseConfig config)
    : api_(std::move(api)), config_(std::move(config)) {}

Result<std::unique_ptr<Database>> Database::open(std::shared_ptr<const DuckdbApi> api,
                                                 DatabaseConfig config) {
  std::unique_ptr<Database> self(new Database(std::move(api), std::move(config)));
  const DuckdbApi& functions = *self->api_;
  duckdb_config options = nullptr;
  if (functions.create_config(&options) != DuckDBSuccess) {
    return make_error(Code::kInternal, "DuckDB cannot make a configuration");
  }
  Status configured = set_options(functions, options, self->config_);
  if (!configured) {
    functions.destroy_config(&options);
    return std::move(configured).error();
  }
  char* reason = nullptr;
  duckdb_state state = DuckDBError;
  {
    const SignalGuard no_signals;  // for DuckDB's own threads
    state = functions.open_ext(":memory:", &self->database_, options, &reason);
  }
  functions.destroy_config(&options);
  if (state != DuckDBSuccess) {
    Error error(Code::kInternal, "DuckDB cannot be opened", reason == nullptr ? "" : reason);
    functions.free(reason);
    return error;
  }
  constexpr auto kOpenTimeout = std::chrono::seconds(60);
  DIL_TRY(Session session, self->session(Watchdog::Clock::now() + kOpenTimeout));
  DIL_CHECK_OK(session.execute("SET GLOBAL TimeZone = 'UTC'", {},
                               {"setting the time zone of DuckDB", Code::kInternal}));
  for (const std::string& extension : self->config_.extensions) {
    const Operation operation{fmt::format("loading the DuckDB extension {}", extension),
                              Code::kInternal};
    // A missing file is an error of the installation, never "not found" to a caller.
    Status loaded = session.execute("LOAD " + extension, {}, operation);
    if (!loaded) return std::move(loaded).error().with_code(Code::kInternal);
  }
  return self;
}

Database::~Database() {
  for (duckdb_connection& connection : idle_) api_->disconnect(&connection);
  if (database_ != nullptr) api_->close(&database_);
}

Result<Session> Database::session(Deadline deadline) {
  duckdb_connection connection = nullptr;
  {
    std::unique_lock lock(pool_mutex_);
    const bool has_slot =
        released_.wait_until(lock, deadline, [this] { return in_use_ < config_.max_sessions; });
    if (!has_slot) {
      return make_error(Code::kDeadlineExceeded, "all {} sessions of the data engine are busy",
                        config_.max_sessions);
    }
    ++in_use_;
    if (!idle_.empty()) {
      connection = idle_.back();
      idle_.pop_back();
    }
  }
  if (connection == nullptr && api_->connect(database_, &connection) != DuckDBSuccess) {
    give_back(nullptr, false);
    return make_error(Code::kInternal, "the data engine cannot connect to its DuckDB");
  }
  return Session(this, connection, deadline);
}

void Database::give_back(duckdb_connection connection, bool is_reusable) {
  if (connection != nullptr && !is_reusable) api_->disconnect(&connection);
  {
    std::lock_guard lock(pool_mutex_);
    if (connection != nullptr && is_reusable) idle_.push_back(connection);
    --in_use_;
  }
  released_.notify_one();
}

Error Database::error(duckdb_error_type type, std::string_view message,
                      const Operation& operation) {
  if (type == DUCKDB_ERROR_FATAL || type == DUCKDB_ERROR_INTERNAL) is_broken_ = true;
  const Code code = classify_duckdb_error(type, message, operation.fallback);
  return make_engine_error(code, redact(message, config_.redacted), operation);
}

}  // namespace duckicelake::engine
