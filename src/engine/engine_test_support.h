// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data_engine.h"
#include "engine/database.h"
#include "engine/sql_text.h"
#include "engine/temp_files.h"

#ifndef DIL_DUCKDB_LIBRARY  // given by the build of the tests
#define DIL_DUCKDB_LIBRARY "libduckdb.so"
#endif
#ifndef DIL_DUCKDB_EXTENSIONS
#define DIL_DUCKDB_EXTENSIONS "extensions"
#endif

namespace duckicelake::engine {

inline Deadline soon() { return Watchdog::Clock::now() + std::chrono::seconds(60); }

inline EngineConfig test_config() {
  EngineConfig config;
  config.library_path = DIL_DUCKDB_LIBRARY;
  config.extension_directory = DIL_DUCKDB_EXTENSIONS;
  config.temp_directory = std::filesystem::temp_directory_path().string();
  config.allow_local_files = true;
  return config;
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return std::move(*result);
}

inline void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().to_string());
}

using TextRows = std::vector<std::vector<std::optional<std::string>>>;

// A DuckDB of the test's own, with the ducklake extension, and a folder.
class Duck {
 public:
  Duck() : folder_(must(TempFolder::make(test_config().temp_directory))) {
    auto api = must(DuckdbApi::load(test_config().library_path));
    database_ = must(
        Database::open(std::move(api), {.extension_directory = test_config().extension_directory,
                                        .temp_directory = folder_->path(),
                                        .memory_limit_mb = 512,
                                        .threads = 2,
                                        .max_sessions = 4,
                                        .extensions = {"ducklake"},
                                        .redacted = {}}));
  }

  void run(const std::string& sql) {
    Session session = must(database_->session(soon()));
    must(session.execute(sql, {}, {sql}));
  }
  TextRows rows(const std::string& sql) {
    Session session = must(database_->session(soon()));
    Rows result = must(session.query("SELECT COLUMNS(*)::VARCHAR FROM (" + sql + ")", {}, {sql}));
    TextRows out;
    while (must(result.next())) {
      out.emplace_back();
      for (std::size_t i = 0; i < result.column_count(); ++i) {
        out.back().push_back(result.optional_text(i));
      }
    }
    return out;
  }
  std::string one(const std::string& sql) { return rows(sql).at(0).at(0).value_or("<null>"); }

  // A DuckLake whose metadata is a DuckDB file, attached as `l`.
  void attach_lake(const std::string& options = "DATA_INLINING_ROW_LIMIT 0") {
    std::filesystem::create_directories(path("data"));
    run("ATTACH 'ducklake:" + path("meta.ducklake") + "' AS l (DATA_PATH '" + path("data") +
        "/', " + options + ")");
  }
  // The full path of the only live delete file (or data file) of the lake's table t.
  std::string live_file(const std::string& kind) {
    return path("data/main/t/") + one("SELECT path FROM __ducklake_metadata_l.ducklake_" + kind +
                                      "_file WHERE end_snapshot IS NULL");
  }
  std::string path(const std::string& name) const { return folder_->path() + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  Database& database() { return *database_; }

 private:
  std::unique_ptr<TempFolder> folder_;
  std::unique_ptr<Database> database_;
};

// Fails with a clear message when the library is not there.
class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(std::filesystem::exists(DIL_DUCKDB_LIBRARY))
        << "libduckdb.so is missing: run `make deps` or set DIL_DEPS_DIR (" << DIL_DUCKDB_LIBRARY
        << ")";
  }
  Duck duck;
  DuckdbDataEngine engine{test_config()};
};

}  // namespace duckicelake::engine
