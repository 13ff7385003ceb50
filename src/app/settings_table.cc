// SPDX-License-Identifier: Apache-2.0
#include "app/settings_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace duckicelake::app {
namespace {

constexpr auto kText = SettingKind::kText;
constexpr auto kSecret = SettingKind::kSecret;
constexpr auto kInteger = SettingKind::kInteger;
constexpr auto kDecimal = SettingKind::kDecimal;
constexpr auto kSwitch = SettingKind::kSwitch;
constexpr auto kChoice = SettingKind::kChoice;
constexpr auto kServer = SettingUse::kServer;
constexpr auto kLater = SettingUse::kLater;
constexpr auto kAccess = SettingUse::kAccess;
constexpr std::int64_t kGiB = 1024LL * 1024 * 1024;

// clang-format off
constexpr std::array kSpecs = {
    SettingSpec{"DUCKICELAKE_CONFIG_FILE", kText, "", "TOML file to read; unset: `duckicelake.toml` in the working folder, if there is one"},

    SettingSpec{"DUCKICELAKE_CATALOG", kText, "lake", "catalog id: the `{prefix}` of the routes and the warehouse's name"},
    SettingSpec{"DUCKICELAKE_PG_HOST", kText, "127.0.0.1", "PostgreSQL: host name, address, or folder of a Unix socket"},
    SettingSpec{"DUCKICELAKE_PG_PORT", kInteger, "55432", "its port", kServer, 1, 65535},
    SettingSpec{"DUCKICELAKE_PG_USER", kText, "ducklake", "role that owns the DuckLake tables"},
    SettingSpec{"DUCKICELAKE_PG_PASSWORD", kSecret, "", "its password; no blanks, quotes or backslashes"},
    SettingSpec{"DUCKICELAKE_PG_DATABASE", kText, "ducklake", "database"},
    SettingSpec{"DUCKICELAKE_PG_SCHEMA", kText, "public", "PostgreSQL schema of the `ducklake_*` tables (DuckLake's METADATA_SCHEMA)"},
    SettingSpec{"DUCKICELAKE_PG_SSLMODE", kChoice, "prefer", "libpq's sslmode", kServer, 0, 0, "disable|allow|prefer|require|verify-ca|verify-full"},
    SettingSpec{"DUCKICELAKE_PG_SSLROOTCERT", kText, "", "file with the certificates that PostgreSQL's is checked against; unset: libpq's default"},
    SettingSpec{"DUCKICELAKE_PG_POOL_MIN", kInteger, "2", "PostgreSQL connections that are kept open", kServer, 0, 1000},
    SettingSpec{"DUCKICELAKE_PG_POOL_MAX", kInteger, "16", "PostgreSQL connections at most; one of them belongs to the freshness probe", kServer, 2, 1000},
    SettingSpec{"DUCKICELAKE_PG_POOL_WAIT_SECONDS", kInteger, "10", "longest wait for a free connection", kServer, 1, 600},
    SettingSpec{"DUCKICELAKE_PG_CONNECT_TIMEOUT_SECONDS", kInteger, "5", "longest wait for a new connection", kServer, 1, 600},
    SettingSpec{"DUCKICELAKE_PG_STATEMENT_TIMEOUT_SECONDS", kInteger, "30", "PostgreSQL's limit for one statement", kServer, 1, 86400},
    SettingSpec{"DUCKICELAKE_RLS", kSwitch, "1", "row security, and with it PostgreSQL roles for DuckDB users; 0: nobody gets one"},
    SettingSpec{"DUCKICELAKE_READER_GROUP_ROLE", kText, "duckicelake_reader", "group of the roles that read; a suffix tells schemas other than `public` apart"},
    SettingSpec{"DUCKICELAKE_CRED_CACHE_TTL", kDecimal, "30.0", "seconds for which a repeated request gets the same role; 0: a new one each time", kServer, 0, 86400},
    SettingSpec{"DUCKICELAKE_PG_PUBLIC_HOST", kText, "", "host at which such users reach PostgreSQL; unset: `DUCKICELAKE_PG_HOST`"},
    SettingSpec{"DUCKICELAKE_PG_PUBLIC_PORT", kInteger, "0", "its port; 0: `DUCKICELAKE_PG_PORT`", kServer, 0, 65535},
    SettingSpec{"DUCKICELAKE_VIEW_USER", kText, "", "role with USAGE and SELECT only, for binding the SQL of views; unset: the one that `init` made, if it could"},
    SettingSpec{"DUCKICELAKE_VIEW_PASSWORD", kSecret, "", "its password; needed with `DUCKICELAKE_VIEW_USER`"},

    SettingSpec{"DUCKICELAKE_S3_ENDPOINT", kText, "http://127.0.0.1:9000", "URL of the object store"},
    SettingSpec{"DUCKICELAKE_S3_REGION", kText, "us-east-1", "its region"},
    SettingSpec{"DUCKICELAKE_S3_BUCKET", kText, "lakehouse", "bucket"},
    SettingSpec{"DUCKICELAKE_S3_ROOT_KEY", kText, "minioadmin", "access key of the server; it never leaves the process"},
    SettingSpec{"DUCKICELAKE_S3_ROOT_SECRET", kSecret, "minioadmin", "its secret key"},
    SettingSpec{"DUCKICELAKE_S3_PATH_STYLE", kSwitch, "1", "bucket in the path (1) or in the host name (0)"},
    SettingSpec{"DUCKICELAKE_S3_PREFIX", kText, "data/", "prefix of a new lake's data in the bucket; an existing lake keeps its own"},
    SettingSpec{"DUCKICELAKE_S3_CA_FILE", kText, "", "file with the certificates that the store's is checked against; unset: the system's"},
    SettingSpec{"DUCKICELAKE_S3_MAX_CONNECTIONS", kInteger, "64", "connections to the store in use at once", kServer, 1, 10000},
    SettingSpec{"DUCKICELAKE_STS_ENDPOINT", kText, "", "URL of the STS; unset: the object store's; `aws`: `https://sts.{region}.amazonaws.com`; `none`: there is no STS"},
    SettingSpec{"DUCKICELAKE_STS_ROLE_ARN", kText, "arn:aws:iam::duckicelake:role/IcebergClient", "role that narrow keys are made from"},
    SettingSpec{"DUCKICELAKE_STS_DURATION_SECONDS", kInteger, "3600", "life of vended keys; they are made anew at half of it", kServer, 900, 43200},
    SettingSpec{"DUCKICELAKE_STS_MAX_DURATION", kInteger, "43200", "longest life of vended keys, in seconds", kServer, 900, 43200},
    SettingSpec{"DUCKICELAKE_S3_POLICY_PRINCIPAL", kText, "", "how the store names the user of a static key in a bucket policy, with `{principal}` or `{access-key-id}`: docs/operations/static-keys.md"},
    SettingSpec{"DUCKICELAKE_HETZNER_PROJECT_ID", kText, "", "project at Hetzner; stands for `arn:aws:iam:::user/p<project>:{access-key-id}`"},
    SettingSpec{"DUCKICELAKE_S3_POLICY_DENY", kChoice, "others", "what the bucket policy denies static keys: everything beside their own, or (for stores without NotResource) certain actions only", kServer, 0, 0, "others|actions"},
    SettingSpec{"DUCKICELAKE_REMOTE_SIGNING", kSwitch, "1", "whether requests to the object store are signed for clients that ask"},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_ENABLED", kSwitch, "0", "S3 gateway: clients of stores without STS reach their tables through this process"},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_SECRET", kSecret, "", "makes the gateway's keys; the same in all processes, 32 characters at least"},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_URL", kText, "", "URL under which clients reach the gateway"},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_TTL", kInteger, "900", "life of the gateway's keys, in seconds", kServer, 1, 86400},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_HOST", kText, "127.0.0.1", "IP address that the gateway listens on"},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_PORT", kInteger, "8182", "its port; 0: any free one", kServer, 0, 65535},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_MAX_CONNECTIONS", kInteger, "256", "its connections at most; each has a thread", kServer, 1, 4096},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_TLS_CERT_FILE", kText, "", "PEM file with its certificate chain; set together with the key: HTTPS only"},
    SettingSpec{"DUCKICELAKE_S3_GATEWAY_TLS_KEY_FILE", kText, "", "PEM file with the private key; both are read again on SIGHUP"},

    SettingSpec{"DUCKICELAKE_LISTEN_HOST", kText, "127.0.0.1", "IP address to listen on"},
    SettingSpec{"DUCKICELAKE_PORT", kInteger, "8181", "port to listen on; 0: any free one", kServer, 0, 65535},
    SettingSpec{"DUCKICELAKE_PUBLIC_URL", kText, "", "URL under which clients reach the server; unset: as the request says"},
    SettingSpec{"DUCKICELAKE_TRUSTED_PROXIES", kText, "", "addresses or networks (`10.0.0.0/8`), separated by commas, whose X-Forwarded headers are believed"},
    SettingSpec{"DUCKICELAKE_TLS_CERT_FILE", kText, "", "PEM file with the certificate chain; set together with the key: HTTPS only"},
    SettingSpec{"DUCKICELAKE_TLS_KEY_FILE", kText, "", "PEM file with the private key; both are read again on SIGHUP"},
    SettingSpec{"DUCKICELAKE_IO_THREADS", kInteger, "0", "threads for connections; 0: one for each processor, at most 8", kServer, 0, 256},
    SettingSpec{"DUCKICELAKE_WORKER_THREADS", kInteger, "12", "threads for requests that need PostgreSQL, the object store or DuckDB", kServer, 1, 1000},
    SettingSpec{"DUCKICELAKE_WORKER_QUEUE", kInteger, "1024", "such requests that may wait for a thread; more are answered with 503", kServer, 1, 1000000},
    SettingSpec{"DUCKICELAKE_MAX_CONNECTIONS", kInteger, "10000", "client connections at most", kServer, 1, 1000000},
    SettingSpec{"DUCKICELAKE_MAX_HEADER_BYTES", kInteger, "32768", "request line and headers of one request", kServer, 1024, 1048576},
    SettingSpec{"DUCKICELAKE_MAX_TARGET_BYTES", kInteger, "16384", "path and query of one request", kServer, 256, 1048576},
    SettingSpec{"DUCKICELAKE_MAX_BODY_BYTES", kInteger, "67108864", "body of one request, before and after gzip", kServer, 1024, 4 * kGiB},
    SettingSpec{"DUCKICELAKE_MAX_TOTAL_BODY_BYTES", kInteger, "1073741824", "bodies of all requests in progress", kServer, 1024, 1024 * kGiB},
    SettingSpec{"DUCKICELAKE_HEADER_TIMEOUT_SECONDS", kInteger, "10", "for the head of a request, from its first byte, and for a TLS handshake", kServer, 1, 3600},
    SettingSpec{"DUCKICELAKE_BODY_TIMEOUT_SECONDS", kInteger, "30", "for a request's body, plus a second for each 8 KiB", kServer, 1, 3600},
    SettingSpec{"DUCKICELAKE_WRITE_TIMEOUT_SECONDS", kInteger, "30", "for the client to take an answer, plus a second for each 8 KiB", kServer, 1, 3600},
    SettingSpec{"DUCKICELAKE_IDLE_TIMEOUT_SECONDS", kInteger, "75", "for which an idle connection is kept", kServer, 1, 86400},
    SettingSpec{"DUCKICELAKE_REQUEST_TIMEOUT_SECONDS", kInteger, "60", "for the work on one request", kServer, 1, 3600},
    SettingSpec{"DUCKICELAKE_DRAIN_SECONDS", kInteger, "15", "for running requests to end after SIGTERM", kServer, 0, 3600},
    SettingSpec{"DUCKICELAKE_START_WAIT_SECONDS", kInteger, "30", "for which `serve` waits for PostgreSQL at its start", kServer, 0, 3600},

    SettingSpec{"DUCKICELAKE_CACHE_MAX", kInteger, "1024", "tables whose metadata is kept in memory", kServer, 1, 10000000},
    SettingSpec{"DUCKICELAKE_DEFAULT_FORMAT_VERSION", kInteger, "2", "Iceberg format of tables that do not need another one", kServer, 2, 3},
    SettingSpec{"DUCKICELAKE_ALLOW_BARE_PATHS", kSwitch, "0", "whether commits may name files by paths without a scheme, which are never opened (Iceberg's own catalog tests do)"},
    SettingSpec{"DUCKICELAKE_MAINTENANCE_TIMEOUT_SECONDS", kInteger, "600", "for one compaction, expiry or sweep", kServer, 1, 86400},
    SettingSpec{"DUCKICELAKE_SWEEP_GRACE_SECONDS", kInteger, "86400", "age below which a sweep leaves objects alone that nothing names: longer than any write takes from its first file to its commit", kServer, 0, 31536000},
    SettingSpec{"DUCKICELAKE_DUCKDB_LIBRARY", kText, "", "`libduckdb.so`; unset: beside the program, then where the build found it"},
    SettingSpec{"DUCKICELAKE_DUCKDB_EXTENSIONS", kText, "", "folder with DuckDB's extensions (holds `v1.5.5/`); unset: as above"},
    SettingSpec{"DUCKICELAKE_ENGINE_MEMORY_MB", kInteger, "512", "memory limit of the embedded DuckDB", kServer, 64, 1048576},
    SettingSpec{"DUCKICELAKE_ENGINE_THREADS", kInteger, "2", "its threads", kServer, 1, 256},
    SettingSpec{"DUCKICELAKE_TEMP_DIR", kText, "", "folder for its temporary files; unset: `TMPDIR`, then `/tmp`"},

    SettingSpec{"DUCKICELAKE_LOG_LEVEL", kChoice, "INFO", "least severe lines that are logged", kServer, 0, 0, "DEBUG|INFO|WARNING|ERROR|CRITICAL"},
    SettingSpec{"DUCKICELAKE_LOG_FORMAT", kChoice, "json", "one JSON object or one line of text each", kServer, 0, 0, "json|text"},
    SettingSpec{"DUCKICELAKE_ACCESS_LOG", kChoice, "DEBUG", "level of the line that each request makes; `OFF`: none", kServer, 0, 0, "DEBUG|INFO|OFF"},
    SettingSpec{"DUCKICELAKE_METRICS_CATALOG_LABELS", kSwitch, "0", "whether `/metrics`, which is open, names the catalog"},

    SettingSpec{"DUCKICELAKE_REQUIRE_AUTH", kSwitch, "0", "refuse to serve when nobody could authenticate; authentication is on as soon as there is a client or an issuer", kAccess},
    SettingSpec{"DUCKICELAKE_OAUTH_CLIENTS", kSecret, "", "clients: `id:secret\\|scope\\|roles\\|account,…`; without a scope: everything", kAccess},
    SettingSpec{"DUCKICELAKE_OAUTH_CLIENTS_FILE", kText, "", "JSON file with clients", kAccess},
    SettingSpec{"DUCKICELAKE_OAUTH_JWT_SECRET", kSecret, "", "signs tokens (HS256), the same in all processes; 32 bytes at least are sound", kAccess},
    SettingSpec{"DUCKICELAKE_OAUTH_JWT_PREVIOUS_SECRETS", kSecret, "", "earlier ones, separated by commas, whose tokens are still taken", kAccess},
    SettingSpec{"DUCKICELAKE_OAUTH_TTL_SECONDS", kInteger, "3600", "life of a token", kAccess, 1, 31536000},
    SettingSpec{"DUCKICELAKE_OAUTH_MAX_SESSION_SECONDS", kInteger, "604800", "for which tokens can be refreshed without the client's secret", kAccess, 1, 31536000},
    SettingSpec{"DUCKICELAKE_OAUTH_ISSUER", kText, "duckicelake", "issuer and audience in tokens", kAccess},
    SettingSpec{"DUCKICELAKE_OIDC_ISSUERS_FILE", kText, "", "JSON file with other issuers whose tokens are taken: docs/operations/access.md", kAccess},
    SettingSpec{"DUCKICELAKE_OIDC_CA_FILE", kText, "", "file with the certificates that theirs are checked against; unset: the system's", kAccess},
    SettingSpec{"DUCKICELAKE_SUPPRESS_ROOT_CREDS", kSwitch, "1", "root keys are never in an answer, whatever this says", kLater},
    SettingSpec{"DUCKICELAKE_TRANSPARENT_MASKING", kSwitch, "1", "search_path statements for masked DuckLake clients", kLater},
    SettingSpec{"DUCKICELAKE_AGENT_FILE_LAYER", kSwitch, "1", "masked files for agents", kLater},
    SettingSpec{"DUCKICELAKE_GOVERNANCE_FAIL_CLOSED", kSwitch, "0", "refuse when policies cannot be read", kLater},
    SettingSpec{"DUCKICELAKE_SIGNER_CACHE_TTL", kDecimal, "10.0", "seconds that the signer keeps a plan", kLater, 0, 86400},
    SettingSpec{"DUCKICELAKE_DISABLE_NOTIFY", kSwitch, "0", "no projection ahead of loads by this process", kServer},
    SettingSpec{"DUCKICELAKE_DISABLE_NAN_COUNTS", kSwitch, "0", "no counting by this process of NaN in files whose writers do not say", kServer},
    SettingSpec{"DUCKICELAKE_MAX_ACTIVE_CATALOGS", kInteger, "32", "catalogs kept open beside the own one", kServer, 1, 10000},
    SettingSpec{"DUCKICELAKE_CATALOG_IDLE_SECONDS", kInteger, "900", "after which one of them that nobody uses is closed, in five minutes more at most", kServer, 1, 86400},
    SettingSpec{"DUCKICELAKE_MASKED_RETAIN_SNAP_DIRS", kInteger, "2", "masked exports kept", kLater, 1, 100000},
    SettingSpec{"DUCKICELAKE_MASKED_RETAIN_GRACE_SECONDS", kInteger, "3900", "age below which a masked export is kept", kLater, 0, 31536000},
    SettingSpec{"DUCKICELAKE_MASKED_EXPORT_TTL_DAYS", kInteger, "7", "age after which an unused masked export goes", kLater, 0, 36500},
    SettingSpec{"DUCKICELAKE_MASKED_EXPORT_FILE_SIZE", kText, "256MB", "size of masked files", kLater},
    SettingSpec{"DUCKICELAKE_AUDIT_RETENTION_DAYS", kInteger, "0", "age after which audit rows go; 0: never", kAccess, 0, 36500},
    SettingSpec{"DUCKICELAKE_URL", kText, "http://127.0.0.1:8181", "the server as the MCP servers reach it", kLater},
    SettingSpec{"DUCKICELAKE_MCP_BROKER", kSecret, "", "`id:secret` of the MCP server", kLater},
    SettingSpec{"DUCKICELAKE_MCP_PRINCIPAL", kText, "agent", "principal of MCP", kLater},
    SettingSpec{"DUCKICELAKE_MCP_HOST", kText, "127.0.0.1", "address of the MCP server", kLater},
    SettingSpec{"DUCKICELAKE_MCP_PORT", kInteger, "8790", "port of the MCP server", kLater, 1, 65535},
    SettingSpec{"DUCKICELAKE_SMCP_CONFIG", kText, "", "TOML file of the SMCP server", kLater},
    SettingSpec{"DUCKICELAKE_SMCP_PRINCIPAL", kText, "smcp-guest", "principal of SMCP", kLater},
};
// clang-format on

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool is_among(std::string_view choices, std::string_view text) {
  while (true) {
    const std::size_t bar = choices.find('|');
    if (equals_ignoring_case(choices.substr(0, bar), text)) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

template <class T>
bool is_number_within(std::string_view text, T low, T high) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && value >= low &&
         value <= high;
}

// What the documents say a value looks like.
std::string kind_text(const SettingSpec& spec) {
  switch (spec.kind) {
    case kText: return "text";
    case kSecret: return "secret";
    case kInteger:
    case kDecimal: return fmt::format("{}..{}", spec.low, spec.high);
    case kSwitch: return "1 or 0";
    case kChoice: {
      std::string out(spec.choices);
      for (std::size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at + 2)) {
        out.replace(at, 1, ", ");
      }
      return out;
    }
  }
  return {};
}

void append_table(std::string& out, std::string_view title, auto belongs) {
  out +=
      fmt::format("## {}\n\n| Setting | Default | Value | Meaning |\n|---|---|---|---|\n", title);
  for (const SettingSpec& spec : kSpecs) {
    if (!belongs(spec)) continue;
    const std::string standard =
        spec.standard.empty() ? "unset" : fmt::format("`{}`", spec.standard);
    out += fmt::format("| `{}` | {} | {} | {} |\n", spec.name, standard, kind_text(spec),
                       spec.meaning);
  }
}

}  // namespace

std::span<const SettingSpec> setting_specs() { return kSpecs; }

const SettingSpec* find_setting(std::string_view name) {
  for (const SettingSpec& spec : kSpecs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

bool is_tool_variable(std::string_view name) {
  return name.starts_with("DUCKICELAKE_DEPS_") || name.starts_with("DUCKICELAKE_TEST_") ||
         name == "DUCKICELAKE_BIN";
}

Status check_setting(const SettingSpec& spec, std::string_view text) {
  switch (spec.kind) {
    case kText:
    case kSecret:
      if (is_plain(text)) return {};
      return invalid_argument("{} contains a control character", spec.name);
    case kInteger:
      if (is_number_within<std::int64_t>(text, spec.low, spec.high)) return {};
      return invalid_argument("{} is \"{}\", not an integer from {} to {}", spec.name, text,
                              spec.low, spec.high);
    case kDecimal:
      if (is_number_within<double>(text, static_cast<double>(spec.low),
                                   static_cast<double>(spec.high))) {
        return {};
      }
      return invalid_argument("{} is \"{}\", not a number from {} to {}", spec.name, text, spec.low,
                              spec.high);
    case kSwitch:
      if (is_among("1|0|true|false", text)) return {};
      return invalid_argument("{} is \"{}\", neither 1 nor 0", spec.name, text);
    case kChoice:
      if (is_among(spec.choices, text)) return {};
      return invalid_argument("{} is \"{}\", none of {}", spec.name, text, kind_text(spec));
  }
  return invalid_argument("{} has no kind", spec.name);
}

std::string settings_markdown() {
  std::string out;
  append_table(out, "Settings",
               [](const SettingSpec& spec) { return spec.use == SettingUse::kServer; });
  out += '\n';
  append_table(out, "Authentication",
               [](const SettingSpec& spec) { return spec.use == SettingUse::kAccess; });
  out += '\n';
  append_table(out, "Of features still to come",
               [](const SettingSpec& spec) { return spec.use == SettingUse::kLater; });
  return out;
}

}  // namespace duckicelake::app
