// SPDX-License-Identifier: Apache-2.0
// make_settings: what depends on more than one value, or on more than its form.
#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "app/settings.h"
#include "catalog/direct.h"
#include "catalog/key_policy.h"
#include "objstore/endpoint.h"
#include "pg/sql.h"
#include "rest/forwarded.h"

namespace duckicelake::app {
namespace {

std::chrono::seconds seconds_of(const SettingValues& values, std::string_view name) {
  return std::chrono::seconds(values.integer(name));
}

std::size_t size_of(const SettingValues& values, std::string_view name) {
  return static_cast<std::size_t>(values.integer(name));
}

Error about(std::string_view name, const Error& error) {
  return invalid_argument("{}: {}", name, error.message());
}

// The id is a path segment of every route, part of object keys and of advisory locks.
Status check_catalog_id(std::string_view id) {
  const bool is_fit = !id.empty() && id.size() <= 63 && id.front() != '.' &&
                      std::all_of(id.begin(), id.end(), [](unsigned char c) {
                        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                               (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
                      });
  if (is_fit) return {};
  return invalid_argument(
      "DUCKICELAKE_CATALOG is \"{}\"; it may have 1 to 63 letters, digits and _ - . (no leading .)",
      id);
}

// A bucket's root is refused: files that only Iceberg metadata names lie beside the prefix.
Status check_prefix(std::string_view prefix) {
  std::string_view rest = prefix;
  bool is_fit = !prefix.empty() && prefix.size() <= 512;
  while (is_fit && !rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    is_fit = !segment.empty() && segment != "." && segment != "..";
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  if (is_fit) return {};
  return invalid_argument("DUCKICELAKE_S3_PREFIX is \"{}\"; it must be a path like \"data/\"",
                          prefix);
}

Status read_postgres(const SettingValues& values, Settings::Postgres& out) {
  out.host = values.text("DUCKICELAKE_PG_HOST");
  out.port = static_cast<std::uint16_t>(values.integer("DUCKICELAKE_PG_PORT"));
  out.user = values.text("DUCKICELAKE_PG_USER");
  out.password = values.secret("DUCKICELAKE_PG_PASSWORD");
  out.database = values.text("DUCKICELAKE_PG_DATABASE");
  out.schema = values.text("DUCKICELAKE_PG_SCHEMA");
  out.sslmode = values.choice("DUCKICELAKE_PG_SSLMODE");
  out.sslrootcert = values.text("DUCKICELAKE_PG_SSLROOTCERT");
  out.pool_min = size_of(values, "DUCKICELAKE_PG_POOL_MIN");
  out.pool_max = size_of(values, "DUCKICELAKE_PG_POOL_MAX");
  out.pool_wait = seconds_of(values, "DUCKICELAKE_PG_POOL_WAIT_SECONDS");
  out.connect_timeout = seconds_of(values, "DUCKICELAKE_PG_CONNECT_TIMEOUT_SECONDS");
  out.statement_timeout = seconds_of(values, "DUCKICELAKE_PG_STATEMENT_TIMEOUT_SECONDS");
  out.view_user = values.text("DUCKICELAKE_VIEW_USER");
  out.view_password = values.secret("DUCKICELAKE_VIEW_PASSWORD");
  out.public_host = values.text("DUCKICELAKE_PG_PUBLIC_HOST");
  if (out.public_host.empty()) out.public_host = out.host;
  out.public_port = static_cast<std::uint16_t>(values.integer("DUCKICELAKE_PG_PUBLIC_PORT"));
  if (out.public_port == 0) out.public_port = out.port;
  out.row_security = values.flag("DUCKICELAKE_RLS");
  out.reader_group = values.text("DUCKICELAKE_READER_GROUP_ROLE");
  out.role_cache = std::chrono::milliseconds(
      static_cast<std::int64_t>(values.decimal("DUCKICELAKE_CRED_CACHE_TTL") * 1000));
  for (const std::string_view name :
       {"DUCKICELAKE_PG_HOST", "DUCKICELAKE_PG_USER", "DUCKICELAKE_PG_DATABASE"}) {
    if (values.text(name).empty()) return invalid_argument("{} is empty", name);
  }
  // The password goes through connection strings of other programs too.
  for (const Secret* password : {&out.password, &out.view_password}) {
    if (password->reveal().find_first_of(" \t\"'\\") != std::string::npos) {
      return invalid_argument(
          "{} contains a blank, a quote or a backslash",
          password == &out.password ? "DUCKICELAKE_PG_PASSWORD" : "DUCKICELAKE_VIEW_PASSWORD");
    }
  }
  if (out.sslrootcert.find_first_of(" '\\") != std::string::npos) {
    return invalid_argument("DUCKICELAKE_PG_SSLROOTCERT contains a blank, a quote or a backslash");
  }
  if (auto schema = pg::SqlIdent::make(out.schema); !schema) {
    return about("DUCKICELAKE_PG_SCHEMA", schema.error());
  }
  if (out.schema.starts_with("pg_") || out.schema == "duckicelake") {
    return invalid_argument("DUCKICELAKE_PG_SCHEMA is \"{}\", which is taken", out.schema);
  }
  if (auto groups = catalog::direct_groups(out.reader_group, *pg::SqlIdent::make(out.schema));
      !groups) {
    return about("DUCKICELAKE_READER_GROUP_ROLE", groups.error());
  }
  if (out.pool_min > out.pool_max) {
    return invalid_argument("DUCKICELAKE_PG_POOL_MIN is above DUCKICELAKE_PG_POOL_MAX");
  }
  if (!out.view_user.empty() && out.view_user == out.user) {
    return invalid_argument("DUCKICELAKE_VIEW_USER must be another role than DUCKICELAKE_PG_USER");
  }
  return {};
}

Status read_policy(const SettingValues& values, Settings::Store& out) {
  constexpr std::string_view kPattern = "DUCKICELAKE_S3_POLICY_PRINCIPAL";
  constexpr std::string_view kProject = "DUCKICELAKE_HETZNER_PROJECT_ID";
  out.policy_denies_others = values.choice("DUCKICELAKE_S3_POLICY_DENY") == "others";
  out.policy_principal = values.text(kPattern);
  const std::string project = values.text(kProject);
  if (!project.empty()) {
    if (!out.policy_principal.empty()) {
      return invalid_argument("{} and {} say the same; set one", kPattern, kProject);
    }
    const bool is_number =
        std::all_of(project.begin(), project.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return invalid_argument("{} must be a number", kProject);
    out.policy_principal = "arn:aws:iam:::user/p" + project + ":{access-key-id}";
  }
  if (out.policy_principal.empty()) return {};
  if (auto tried = catalog::store_principal(out.policy_principal, "x", "x"); !tried) {
    return about(kPattern, tried.error());
  }
  return {};
}

Status read_store(const SettingValues& values, Settings::Store& out) {
  out.endpoint = values.text("DUCKICELAKE_S3_ENDPOINT");
  out.region = values.text("DUCKICELAKE_S3_REGION");
  out.bucket = values.text("DUCKICELAKE_S3_BUCKET");
  out.root_key = values.text("DUCKICELAKE_S3_ROOT_KEY");
  out.root_secret = values.secret("DUCKICELAKE_S3_ROOT_SECRET");
  out.path_style = values.flag("DUCKICELAKE_S3_PATH_STYLE");
  out.prefix = values.text("DUCKICELAKE_S3_PREFIX");
  out.ca_file = values.text("DUCKICELAKE_S3_CA_FILE");
  out.max_connections = size_of(values, "DUCKICELAKE_S3_MAX_CONNECTIONS");
  out.sts_role_arn = values.text("DUCKICELAKE_STS_ROLE_ARN");
  out.sts_duration = std::min(seconds_of(values, "DUCKICELAKE_STS_DURATION_SECONDS"),
                              seconds_of(values, "DUCKICELAKE_STS_MAX_DURATION"));
  out.sts_max_duration = seconds_of(values, "DUCKICELAKE_STS_MAX_DURATION");
  out.remote_signing = values.flag("DUCKICELAKE_REMOTE_SIGNING");
  DIL_CHECK_OK(read_policy(values, out));
  DIL_CHECK_OK(check_prefix(out.prefix));
  if (!out.prefix.ends_with('/')) out.prefix.push_back('/');
  if (auto url = objstore::Endpoint::parse(out.endpoint); !url) {
    return about("DUCKICELAKE_S3_ENDPOINT", url.error());
  }
  out.sts_endpoint = values.text("DUCKICELAKE_STS_ENDPOINT");
  if (out.sts_endpoint == "none") {
    out.sts_endpoint.clear();
  } else if (out.sts_endpoint.empty()) {
    out.sts_endpoint = out.endpoint;
  } else if (out.sts_endpoint == "aws") {
    out.sts_endpoint = fmt::format("https://sts.{}.amazonaws.com", out.region);
  } else if (auto url = objstore::Endpoint::parse(out.sts_endpoint); !url) {
    return about("DUCKICELAKE_STS_ENDPOINT", url.error());
  }
  return {};
}

Status read_gateway(const SettingValues& values, Settings::Gateway& out) {
  constexpr std::size_t kLeastSecret = 32;
  out.is_enabled = values.flag("DUCKICELAKE_S3_GATEWAY_ENABLED");
  out.secret = values.secret("DUCKICELAKE_S3_GATEWAY_SECRET");
  out.url = values.text("DUCKICELAKE_S3_GATEWAY_URL");
  out.ttl = seconds_of(values, "DUCKICELAKE_S3_GATEWAY_TTL");
  out.host = values.text("DUCKICELAKE_S3_GATEWAY_HOST");
  out.port = static_cast<std::uint16_t>(values.integer("DUCKICELAKE_S3_GATEWAY_PORT"));
  out.max_connections = size_of(values, "DUCKICELAKE_S3_GATEWAY_MAX_CONNECTIONS");
  out.tls_certificate_file = values.text("DUCKICELAKE_S3_GATEWAY_TLS_CERT_FILE");
  out.tls_key_file = values.text("DUCKICELAKE_S3_GATEWAY_TLS_KEY_FILE");
  if (!out.is_enabled) return {};
  if (out.tls_certificate_file.empty() != out.tls_key_file.empty()) {
    return invalid_argument(
        "DUCKICELAKE_S3_GATEWAY_TLS_CERT_FILE and DUCKICELAKE_S3_GATEWAY_TLS_KEY_FILE must be set "
        "together");
  }
  if (out.secret.reveal().size() < kLeastSecret) {
    return invalid_argument("DUCKICELAKE_S3_GATEWAY_SECRET needs {} characters at least",
                            kLeastSecret);
  }
  if (out.url.empty()) return invalid_argument("DUCKICELAKE_S3_GATEWAY_URL is not set");
  auto url = objstore::Endpoint::parse(out.url);
  if (!url) return about("DUCKICELAKE_S3_GATEWAY_URL", url.error());
  if (!url->path.empty()) {
    return invalid_argument("DUCKICELAKE_S3_GATEWAY_URL has a path, which no S3 client can sign");
  }
  while (out.url.ends_with('/')) out.url.pop_back();
  if (!out.tls_certificate_file.empty() && url->scheme != "https") {
    return invalid_argument(
        "DUCKICELAKE_S3_GATEWAY_URL begins with {}://, and the gateway has a certificate",
        url->scheme);
  }
  unsigned char address[sizeof(::in6_addr)];
  if (::inet_pton(AF_INET, out.host.c_str(), address) != 1 &&
      ::inet_pton(AF_INET6, out.host.c_str(), address) != 1) {
    return invalid_argument("DUCKICELAKE_S3_GATEWAY_HOST is \"{}\", which is no IP address",
                            out.host);
  }
  return {};
}

Result<std::vector<std::string>> read_proxies(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view one = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.empty()) continue;
    if (auto range = rest::AddressRange::parse(one); !range) {
      return about("DUCKICELAKE_TRUSTED_PROXIES", range.error());
    }
    out.emplace_back(one);
  }
  return out;
}

Status read_listen(const SettingValues& values, Settings::Listen& out) {
  out.host = values.text("DUCKICELAKE_LISTEN_HOST");
  out.port = static_cast<std::uint16_t>(values.integer("DUCKICELAKE_PORT"));
  out.public_url = values.text("DUCKICELAKE_PUBLIC_URL");
  out.tls_certificate_file = values.text("DUCKICELAKE_TLS_CERT_FILE");
  out.tls_key_file = values.text("DUCKICELAKE_TLS_KEY_FILE");
  out.io_threads = size_of(values, "DUCKICELAKE_IO_THREADS");
  if (out.io_threads == 0) {
    out.io_threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
  }
  out.worker_threads = size_of(values, "DUCKICELAKE_WORKER_THREADS");
  out.worker_queue = size_of(values, "DUCKICELAKE_WORKER_QUEUE");
  out.max_connections = size_of(values, "DUCKICELAKE_MAX_CONNECTIONS");
  out.max_header_bytes = size_of(values, "DUCKICELAKE_MAX_HEADER_BYTES");
  out.max_target_bytes = size_of(values, "DUCKICELAKE_MAX_TARGET_BYTES");
  out.max_body_bytes = size_of(values, "DUCKICELAKE_MAX_BODY_BYTES");
  out.max_total_body_bytes = size_of(values, "DUCKICELAKE_MAX_TOTAL_BODY_BYTES");
  out.header_timeout = seconds_of(values, "DUCKICELAKE_HEADER_TIMEOUT_SECONDS");
  out.body_timeout = seconds_of(values, "DUCKICELAKE_BODY_TIMEOUT_SECONDS");
  out.write_timeout = seconds_of(values, "DUCKICELAKE_WRITE_TIMEOUT_SECONDS");
  out.idle_timeout = seconds_of(values, "DUCKICELAKE_IDLE_TIMEOUT_SECONDS");
  out.request_timeout = seconds_of(values, "DUCKICELAKE_REQUEST_TIMEOUT_SECONDS");
  out.drain = seconds_of(values, "DUCKICELAKE_DRAIN_SECONDS");
  out.start_wait = seconds_of(values, "DUCKICELAKE_START_WAIT_SECONDS");
  if (!out.public_url.empty()) {
    if (auto url = rest::check_public_url(out.public_url); !url) {
      return about("DUCKICELAKE_PUBLIC_URL", url.error());
    }
  }
  DIL_TRY(out.trusted_proxies, read_proxies(values.text("DUCKICELAKE_TRUSTED_PROXIES")));
  if (out.tls_certificate_file.empty() != out.tls_key_file.empty()) {
    return invalid_argument(
        "DUCKICELAKE_TLS_CERT_FILE and DUCKICELAKE_TLS_KEY_FILE must be set together");
  }
  unsigned char address[sizeof(::in6_addr)];
  if (::inet_pton(AF_INET, out.host.c_str(), address) != 1 &&
      ::inet_pton(AF_INET6, out.host.c_str(), address) != 1) {
    return invalid_argument("DUCKICELAKE_LISTEN_HOST is \"{}\", which is no IP address", out.host);
  }
  return {};
}

// The first that exists, else the last.
std::string first_that_exists(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return paths.back();
}

std::string folder_of_program() {
  std::error_code failure;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failure);
  return failure ? std::string(".") : program.parent_path().string();
}

void read_engine(const SettingValues& values, Settings::Engine& out) {
  const std::string beside = folder_of_program();
  out.library = values.text("DUCKICELAKE_DUCKDB_LIBRARY");
  if (out.library.empty()) {
    out.library = first_that_exists({beside + "/libduckdb.so", beside + "/duckdb/lib/libduckdb.so",
                                     DIL_DEPS_FOLDER "/duckdb/lib/libduckdb.so"});
  }
  out.extensions = values.text("DUCKICELAKE_DUCKDB_EXTENSIONS");
  if (out.extensions.empty()) {
    out.extensions = first_that_exists({beside + "/extensions", beside + "/duckdb/extensions",
                                        DIL_DEPS_FOLDER "/duckdb/extensions"});
  }
  out.memory_mb = values.integer("DUCKICELAKE_ENGINE_MEMORY_MB");
  out.threads = static_cast<int>(values.integer("DUCKICELAKE_ENGINE_THREADS"));
  out.temp_folder = values.text("DUCKICELAKE_TEMP_DIR");
  if (out.temp_folder.empty()) {
    const char* folder = std::getenv("TMPDIR");
    out.temp_folder = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  }
}

Status read_auth(const SettingValues& values, Settings::Auth& out) {
  out.is_required = values.flag("DUCKICELAKE_REQUIRE_AUTH");
  out.clients = values.secret("DUCKICELAKE_OAUTH_CLIENTS");
  out.clients_file = values.text("DUCKICELAKE_OAUTH_CLIENTS_FILE");
  out.jwt_secret = values.secret("DUCKICELAKE_OAUTH_JWT_SECRET");
  out.previous_jwt_secrets = values.secret("DUCKICELAKE_OAUTH_JWT_PREVIOUS_SECRETS");
  out.issuer = values.text("DUCKICELAKE_OAUTH_ISSUER");
  out.ttl = seconds_of(values, "DUCKICELAKE_OAUTH_TTL_SECONDS");
  out.max_session = seconds_of(values, "DUCKICELAKE_OAUTH_MAX_SESSION_SECONDS");
  out.issuers_file = values.text("DUCKICELAKE_OIDC_ISSUERS_FILE");
  out.issuers_ca_file = values.text("DUCKICELAKE_OIDC_CA_FILE");
  out.audit_retention_days = static_cast<int>(values.integer("DUCKICELAKE_AUDIT_RETENTION_DAYS"));
  if (out.issuer.empty()) return invalid_argument("DUCKICELAKE_OAUTH_ISSUER is empty");
  return {};
}

}  // namespace

Result<Settings> make_settings(const SettingValues& values) {
  Settings out;
  out.catalog_id = values.text("DUCKICELAKE_CATALOG");
  DIL_CHECK_OK(check_catalog_id(out.catalog_id));
  DIL_CHECK_OK(read_postgres(values, out.postgres));
  DIL_CHECK_OK(read_store(values, out.store));
  DIL_CHECK_OK(read_listen(values, out.listen));
  DIL_CHECK_OK(read_gateway(values, out.gateway));
  read_engine(values, out.engine);
  out.cache_max = size_of(values, "DUCKICELAKE_CACHE_MAX");
  out.max_active_catalogs = size_of(values, "DUCKICELAKE_MAX_ACTIVE_CATALOGS");
  out.catalog_idle = seconds_of(values, "DUCKICELAKE_CATALOG_IDLE_SECONDS");
  out.default_format_version =
      static_cast<int>(values.integer("DUCKICELAKE_DEFAULT_FORMAT_VERSION"));
  const std::string level = values.choice("DUCKICELAKE_LOG_LEVEL");
  for (const LogLevel one : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                             LogLevel::kError, LogLevel::kCritical}) {
    if (level == level_name(one)) out.log_level = one;
  }
  out.log_format =
      values.choice("DUCKICELAKE_LOG_FORMAT") == "text" ? LogFormat::kText : LogFormat::kJson;
  const std::string access = values.choice("DUCKICELAKE_ACCESS_LOG");
  out.access_log = access == "OFF"    ? AccessLog::kOff
                   : access == "INFO" ? AccessLog::kInfo
                                      : AccessLog::kDebug;
  out.disable_notify = values.flag("DUCKICELAKE_DISABLE_NOTIFY");
  out.disable_nan_counts = values.flag("DUCKICELAKE_DISABLE_NAN_COUNTS");
  out.allow_bare_paths = values.flag("DUCKICELAKE_ALLOW_BARE_PATHS");
  out.maintenance_timeout =
      std::chrono::seconds(values.integer("DUCKICELAKE_MAINTENANCE_TIMEOUT_SECONDS"));
  out.sweep_grace = std::chrono::seconds(values.integer("DUCKICELAKE_SWEEP_GRACE_SECONDS"));
  out.metrics_name_catalogs = values.flag("DUCKICELAKE_METRICS_CATALOG_LABELS");
  DIL_CHECK_OK(read_auth(values, out.auth));
  return out;
}

}  // namespace duckicelake::app
