// SPDX-License-Identifier: Apache-2.0
#include "pg/config.h"

#include <libpq-fe.h>

#include <array>
#include <memory>

#include "pg/value.h"

namespace duckicelake::pg {

namespace {

constexpr std::array<std::string_view, 6> kSslModes = {"disable", "allow",     "prefer",
                                                       "require", "verify-ca", "verify-full"};

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Result<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty()) return std::uint16_t{5432};
  Result<std::int64_t> port = parse_int64(text);
  if (!port || *port < 1 || *port > 65535) {
    return invalid_argument("port {} is not a number from 1 to 65535", text);
  }
  return static_cast<std::uint16_t>(*port);
}

Result<std::vector<Endpoint>> make_endpoints(std::string_view hosts, std::string_view ports) {
  const std::vector<std::string> names = split(hosts.empty() ? "127.0.0.1" : hosts);
  const std::vector<std::string> numbers = split(ports);
  if (numbers.size() != 1 && numbers.size() != names.size()) {
    return invalid_argument("{} database ports do not match {} hosts", numbers.size(),
                            names.size());
  }
  std::vector<Endpoint> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    DIL_TRY(std::uint16_t port, parse_port(numbers[numbers.size() == 1 ? 0 : i]));
    out.push_back(Endpoint{names[i].empty() ? "127.0.0.1" : names[i], port});
  }
  return out;
}

Status apply(PgConfig& config, std::string_view key, std::string_view value) {
  if (key == "user") {
    config.user = value;
  } else if (key == "dbname") {
    config.database = value;
  } else if (key == "password") {
    config.password = Secret(std::string(value));
  } else if (key == "sslmode") {
    config.sslmode = value;
  } else if (key == "sslrootcert") {
    config.sslrootcert = value;
  } else if (key == "application_name") {
    config.application_name = value;
  } else if (key == "connect_timeout") {
    Result<std::int64_t> seconds = parse_int64(value);
    if (!seconds || *seconds < 1 || *seconds > 3600) {
      return invalid_argument("connect_timeout must be from 1 to 3600 seconds");
    }
    config.connect_timeout = std::chrono::seconds(*seconds);
  } else if (key == "target_session_attrs" && value == "any") {
    config.session_target = SessionTarget::kAny;
  } else if (key == "target_session_attrs" && value == "read-write") {
    config.session_target = SessionTarget::kReadWrite;
  } else {
    return invalid_argument("the database connection setting {} is not supported", key);
  }
  return {};
}

}  // namespace

Status validate(const PgConfig& config) {
  if (config.endpoints.empty()) return invalid_argument("no database host is set");
  for (const Endpoint& endpoint : config.endpoints) {
    if (endpoint.host.empty() || has_nul(endpoint.host) ||
        endpoint.host.find(',') != std::string::npos) {
      return invalid_argument("the database host is empty or malformed");
    }
    if (endpoint.port == 0) return invalid_argument("the database port is 0");
  }
  if (config.user.empty() || has_nul(config.user)) {
    return invalid_argument("the database user is empty or malformed");
  }
  if (config.database.empty() || has_nul(config.database)) {
    return invalid_argument("the database name is empty or malformed");
  }
  if (has_nul(config.password.reveal()) || has_nul(config.sslrootcert) ||
      has_nul(config.application_name)) {
    return invalid_argument("a database connection setting contains a NUL character");
  }
  bool known = false;
  for (std::string_view mode : kSslModes) known = known || mode == config.sslmode;
  if (!known) return invalid_argument("the database sslmode {} is not known", config.sslmode);
  if (config.statement_cache_size == 0) return invalid_argument("statement_cache_size is 0");
  if (config.pool_max == 0 || config.pool_min > config.pool_max) {
    return invalid_argument("the database pool needs 1 <= max and min <= max, not {}..{}",
                            config.pool_min, config.pool_max);
  }
  if (config.connect_timeout.count() <= 0 || config.acquire_timeout.count() < 0 ||
      config.statement_timeout.count() < 0) {
    return invalid_argument("a database timeout is negative or zero");
  }
  return {};
}

Result<PgConfig> parse_conninfo(std::string_view conninfo) {
  if (has_nul(conninfo)) return invalid_argument("the connection string contains a NUL character");
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(std::string(conninfo).c_str(), &message), &PQconninfoFree);
  // libpq's message may quote the string, and with it the password.
  PQfreemem(message);
  if (!options) return invalid_argument("the database connection string is malformed");

  PgConfig config;
  std::string hosts;
  std::string ports;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view key = option->keyword;
    if (key == "host") {
      hosts = option->val;
    } else if (key == "port") {
      ports = option->val;
    } else {
      DIL_CHECK_OK(apply(config, key, option->val));
    }
  }
  DIL_TRY(config.endpoints, make_endpoints(hosts, ports));
  DIL_CHECK_OK(validate(config));
  return config;
}

}  // namespace duckicelake::pg
