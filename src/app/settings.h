// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/log.h"
#include "app/settings_sources.h"
#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::app {

// Where settings come from. The environment wins over .env, .env over the TOML file.
struct SettingSources {
  const char* const* environment = nullptr;  // as `environ`
  std::string folder;  // of .env and duckicelake.toml; empty: the working folder
};

// Checked values of all settings, with their defaults. Only what is read here by name exists.
class SettingValues {
 public:
  // kInvalidArgument names the setting that is unknown or malformed and where it stands; kNotFound:
  // the TOML file that was asked for is not there.
  static Result<SettingValues> load(const SettingSources& sources);

  // Pre-condition of all: the table has the setting, with that kind (checked, ends the process).
  std::string text(std::string_view name) const;
  Secret secret(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double decimal(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string choice(std::string_view name) const;  // as the table spells it

  bool is_set(std::string_view name) const { return found_.contains(name); }
  // Names of set settings whose feature is still to come.
  std::vector<std::string> without_effect() const;
  // "DUCKICELAKE_PG_HOST=127.0.0.1  # default" for each setting; secrets are ***.
  std::string print() const;

 private:
  FoundValues found_;
};

enum class AccessLog : std::uint8_t { kOff, kDebug, kInfo };

// What the program works with; the table (settings_table.cc) says what each means.
struct Settings {
  std::string catalog_id;

  struct Postgres {
    std::string host;
    std::uint16_t port = 0;
    std::string user;
    Secret password;
    std::string database;
    std::string schema;
    std::string sslmode;
    std::string sslrootcert;
    std::size_t pool_min = 0;
    std::size_t pool_max = 0;
    std::chrono::seconds pool_wait{};
    std::chrono::seconds connect_timeout{};
    std::chrono::seconds statement_timeout{};
    std::string view_user;  // empty: the role that init makes
    Secret view_password;
    std::string public_host;  // for clients
    std::uint16_t public_port = 0;
    bool row_security = true;
    std::string reader_group;
    std::chrono::milliseconds role_cache{};
  } postgres;

  struct Store {
    std::string endpoint;
    std::string region;
    std::string bucket;
    std::string root_key;
    Secret root_secret;
    bool path_style = true;
    std::string prefix;  // ends in '/'
    std::string ca_file;
    std::size_t max_connections = 0;
    std::string sts_endpoint;  // a URL; empty: none
    std::string sts_role_arn;
    std::chrono::seconds sts_duration{};
    std::chrono::seconds sts_max_duration{};
    bool remote_signing = true;
    std::string policy_principal;      // pattern of users in bucket policies; empty: not known
    bool policy_denies_others = true;  // else certain actions only
    std::string data_path() const { return "s3://" + bucket + "/" + prefix; }
  } store;

  struct Listen {
    std::string host;
    std::uint16_t port = 0;
    std::string public_url;
    std::vector<std::string> trusted_proxies;  // addresses and networks
    std::string tls_certificate_file;
    std::string tls_key_file;
    std::size_t io_threads = 0;
    std::size_t worker_threads = 0;
    std::size_t worker_queue = 0;
    std::size_t max_connections = 0;
    std::size_t max_header_bytes = 0;
    std::size_t max_target_bytes = 0;
    std::size_t max_body_bytes = 0;
    std::size_t max_total_body_bytes = 0;
    std::chrono::seconds header_timeout{};
    std::chrono::seconds body_timeout{};
    std::chrono::seconds write_timeout{};
    std::chrono::seconds idle_timeout{};
    std::chrono::seconds request_timeout{};
    std::chrono::seconds drain{};
    std::chrono::seconds start_wait{};
  } listen;

  struct Gateway {
    bool is_enabled = false;
    Secret secret;
    std::string url;  // without a slash at its end
    std::chrono::seconds ttl{};
    std::string host;
    std::uint16_t port = 0;
    std::size_t max_connections = 0;
    std::string tls_certificate_file;
    std::string tls_key_file;
  } gateway;

  struct Engine {
    std::string library;     // of DuckDB
    std::string extensions;  // folder
    std::string temp_folder;
    std::int64_t memory_mb = 0;
    int threads = 0;
  } engine;

  struct Auth {
    bool is_required = false;
    Secret clients;  // the list of DUCKICELAKE_OAUTH_CLIENTS
    std::string clients_file;
    Secret jwt_secret;
    Secret previous_jwt_secrets;  // separated by commas
    std::string issuer;
    std::chrono::seconds ttl{};
    std::chrono::seconds max_session{};
    std::string issuers_file;      // of other issuers
    std::string issuers_ca_file;   // empty: the system's certificates
    int audit_retention_days = 0;  // 0: for ever
  } auth;

  std::size_t cache_max = 0;
  std::size_t max_active_catalogs = 0;  // beside the own one
  std::chrono::seconds catalog_idle{};  // they are closed when nobody used them for so long
  int default_format_version = 2;
  bool allow_bare_paths = false;
  std::chrono::seconds maintenance_timeout{};
  std::chrono::seconds sweep_grace{};
  bool disable_notify = false;
  bool disable_nan_counts = false;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kJson;
  AccessLog access_log = AccessLog::kDebug;
  bool metrics_name_catalogs = false;
};

// kInvalidArgument for values that contradict each other or cannot be used.
Result<Settings> make_settings(const SettingValues& values);

}  // namespace duckicelake::app
