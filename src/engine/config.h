// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/secret.h"

namespace duckicelake::engine {

// The object store as the engine reaches it. One set of keys for every bucket in `scope`.
struct S3Config {
  std::string endpoint;  // "http://127.0.0.1:8333" or "https://host"; empty = AWS
  std::string region = "us-east-1";
  std::string access_key;
  Secret secret_key;
  Secret session_token;    // may be empty
  bool path_style = true;  // bucket in the path instead of the host name
  std::string ca_file;     // certificates that the store's is checked against; empty: the system's
  std::string scope;  // "s3://bucket/": the keys are used for it alone; empty = every s3:// address
};

struct PostgresConfig {
  std::string host;
  int port = 5432;
  std::string user;
  Secret password;
  std::string database;
  std::string
      options;  // further libpq keywords without secrets: "sslmode=verify-full connect_timeout=5"
};

// A DuckLake whose metadata is in PostgreSQL.
struct LakeConfig {
  PostgresConfig postgres;
  std::string metadata_schema;
  std::string data_path;  // "s3://bucket/prefix/"; needed to create a lake, else empty
};

struct EngineConfig {
  std::string library_path;         // libduckdb.so
  std::string extension_directory;  // holds v1.5.5/<platform>/*.duckdb_extension
  std::string temp_directory;       // private files are made in a fresh folder under it
  std::int64_t memory_limit_mb = 512;
  int threads = 2;
  int max_sessions = 4;  // calls that run at the same time; more wait until their deadline
  std::chrono::milliseconds call_timeout{60'000};
  std::int64_t max_result_rows = 32'000'000;  // of one file; bounds what a read may allocate
  bool allow_local_files = false;             // for tests; else only s3://, s3a://, s3n://
  std::optional<S3Config> s3;
  // How describe_view reaches the lake: its role must have USAGE and SELECT only, because a view's
  // SQL may run text of its author's choice on that connection (postgres_query).
  std::optional<LakeConfig> view_lake;
  // Told why when a view does not bind (the error names it); on the thread of describe_view.
  std::function<void(const Error&)> on_unbound_view;
};

}  // namespace duckicelake::engine
