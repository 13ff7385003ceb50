// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "engine/duckdb_api.h"
#include "engine/error_map.h"
#include "engine/watchdog.h"

namespace duckicelake::engine {

using Deadline = Watchdog::Clock::time_point;
using Parameter = std::variant<std::nullptr_t, bool, std::int64_t, std::string>;

struct DatabaseConfig {
  std::string extension_directory;
  std::string temp_directory;  // for spilling; must exist
  std::int64_t memory_limit_mb = 512;
  int threads = 2;
  int max_sessions = 4;
  std::vector<std::string> extensions;  // LOADed at open, in order
  std::vector<Secret> redacted;         // values that must not appear in an error's cause
};

class Session;

// kAtOnce: the statement has run to its end when query() returns and its rows are in memory; needed
// for CALL and anything that commits. kStreamed: rows are made while they are read, so memory stays
// bounded.
enum class Fetch { kStreamed, kAtOnce };

// The rows of one statement. Must die before its Session. Column accessors are valid after next()
// returned true; the asked type must be the column's (BIGINT, UBIGINT, BOOLEAN, VARCHAR); the SQL
// casts.
class Rows {
 public:
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  // Advances to the next row; false at the end.
  Result<bool> next();
  std::size_t column_count() const { return types_.size(); }
  bool is_null(std::size_t column) const;
  std::int64_t int64(std::size_t column) const;
  // For UBIGINT columns, which COPY's counts are; a value above the signed range is clamped.
  std::int64_t unsigned_as_int64(std::size_t column) const;
  bool boolean(std::size_t column) const;
  // Valid until next() is called again.
  std::string_view text(std::size_t column) const;
  std::optional<std::string> optional_text(std::size_t column) const;
  // A cell of type MAP(VARCHAR, MAP(VARCHAR, VARCHAR)), as COPY's column_statistics are.
  using TextMap = std::vector<std::pair<std::string, std::string>>;
  std::vector<std::pair<std::string, TextMap>> map_of_text_maps(std::size_t column) const;

 private:
  friend class Session;
  Rows(Session* session, Operation operation, duckdb_result result);
  Status load_chunk();

  Session* session_;
  Operation operation_;
  duckdb_result result_;
  std::vector<duckdb_type> types_;
  duckdb_data_chunk chunk_ = nullptr;
  std::uint64_t chunk_size_ = 0;
  std::uint64_t row_ = 0;
  std::vector<const void*> data_;
  std::vector<const std::uint64_t*> validity_;
};

class Database;

// A connection lent to one call, with the call's deadline: when it passes, the running statement is
// interrupted and every later one refused. Used by one thread at a time; goes back to the Database
// when it dies, or is closed if a statement failed on it (temporary tables then go with it).
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  Result<Rows> query(const std::string& sql, std::span<const Parameter> parameters,
                     const Operation& operation, Fetch fetch = Fetch::kStreamed);
  // Runs one statement and drops its rows.
  Status execute(const std::string& sql, std::span<const Parameter> parameters,
                 const Operation& operation);
  // A table is filled by an appender (batch_append.h); its failure is reported here.
  Error fail(duckdb_error_type type, std::string_view message, const Operation& operation);

  const DuckdbApi& api() const;
  duckdb_connection handle() const { return connection_; }

 private:
  friend class Database;
  Session(Database* database, duckdb_connection connection, Deadline deadline);
  Status check_deadline(const Operation& operation) const;

  Database* database_;
  duckdb_connection connection_;
  Deadline deadline_;
  std::uint64_t watch_ = 0;
  bool is_reusable_ = true;
};

// One in-memory DuckDB instance: extensions are loaded, installing and autoloading are off,
// unsigned extensions refused, the configuration can be locked. Thread-safe; sessions must die
// before it.
class Database {
 public:
  static Result<std::unique_ptr<Database>> open(std::shared_ptr<const DuckdbApi> api,
                                                DatabaseConfig config);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // Waits for a free session until `deadline` (kDeadlineExceeded).
  Result<Session> session(Deadline deadline);
  // True after a fatal error: DuckDB refuses all further work, open another one.
  bool is_broken() const { return is_broken_.load(std::memory_order_relaxed); }
  const DatabaseConfig& config() const { return config_; }

 private:
  friend class Session;
  friend class Rows;
  Database(std::shared_ptr<const DuckdbApi> api, DatabaseConfig config);
  void give_back(duckdb_connection connection, bool is_reusable);
  Error error(duckdb_error_type type, std::string_view message, const Operation& operation);

  std::shared_ptr<const DuckdbApi> api_;
  DatabaseConfig config_;
  duckdb_database database_ = nullptr;
  std::atomic<bool> is_broken_{false};
  Watchdog watchdog_;

  std::mutex pool_mutex_;  // guards the two below
  std::condition_variable released_;
  std::vector<duckdb_connection> idle_;
  int in_use_ = 0;
};

}  // namespace duckicelake::engine
