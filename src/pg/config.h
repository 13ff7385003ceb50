// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::pg {

struct Endpoint {
  std::string host;  // a name, an address, or the folder of a Unix socket (begins with '/')
  std::uint16_t port = 5432;
};

// force-generic plans each cached statement once: re-planning can cost several times the execution
// of the short statements that this project sends.
enum class PlanCacheMode { kAuto, kForceGeneric };

// What a session must be able to do; a host that cannot is skipped.
enum class SessionTarget { kAny, kReadWrite };

// How to reach PostgreSQL and how the pool behaves. Plain data; `validate` before use.
struct PgConfig {
  std::vector<Endpoint> endpoints{{"127.0.0.1", 5432}};  // tried in this order
  std::string user;
  std::string database;
  Secret password;
  std::string sslmode =
      "prefer";             // libpq's word: disable, allow, prefer, require, verify-ca, verify-full
  std::string sslrootcert;  // file; empty: libpq's default
  std::string application_name = "duckicelake";
  SessionTarget session_target = SessionTarget::kReadWrite;
  PlanCacheMode plan_cache_mode = PlanCacheMode::kForceGeneric;

  // For each endpoint. Name resolution happens inside it but has the resolver's own timeout.
  std::chrono::milliseconds connect_timeout{5'000};
  // The server's own limit for one statement; 0 switches it off. The caller's deadline holds
  // besides.
  std::chrono::milliseconds statement_timeout{30'000};
  // The server's limit for a transaction in which nothing happens: it frees the locks of a lost
  // process.
  std::chrono::milliseconds idle_in_transaction_timeout{60'000};
  std::size_t statement_cache_size = 256;  // prepared statements kept on a connection, >= 1

  std::size_t pool_min = 1;  // idle connections that are kept open
  std::size_t pool_max = 16;
  std::chrono::milliseconds acquire_timeout{10'000};  // longest wait for a free connection
  std::chrono::milliseconds idle_check_after{
      15'000};  // asked whether it lives when idle for longer
  std::chrono::milliseconds idle_close_after{
      300'000};  // closed when idle for longer (above pool_min)
  std::chrono::milliseconds max_lifetime{3'600'000};  // replaced when older, at its return
};

// kInvalidArgument names the field.
Status validate(const PgConfig& config);

// Reads libpq's "host=.. port=.. user=.." or postgresql:// form. Several hosts and ports are
// separated by commas. Only host, port, user, password, dbname, sslmode, sslrootcert,
// application_name, connect_timeout (seconds) and target_session_attrs are known; another one is
// refused by name.
Result<PgConfig> parse_conninfo(std::string_view conninfo);

}  // namespace duckicelake::pg
