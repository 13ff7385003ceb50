// SPDX-License-Identifier: Apache-2.0
#include "app/guard_parts.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "auth/clients.h"
#include "auth/issuers.h"
#include "net/fetch.h"
#include "store/access.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kLogger = "duckicelake.server";
constexpr std::string_view kAuditLogger = "duckicelake.audit";
constexpr std::chrono::seconds kStartTime{30};
constexpr std::size_t kMaxFileBytes = std::size_t{8} << 20;
// RFC 7518 §3.2: as long as the hash.
constexpr std::size_t kSoundSecretBytes = 32;

Result<std::string> read_file(std::string_view setting, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return invalid_argument("{}: the file {} cannot be read", setting, path);
  std::string out;
  out.resize(kMaxFileBytes + 1);
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(in.gcount()));
  if (out.size() > kMaxFileBytes) {
    return invalid_argument("{}: the file {} is too large", setting, path);
  }
  return out;
}

Error about(std::string_view setting, const Error& error) {
  return invalid_argument("{}: {}", setting, error.message());
}

Status read_clients(const Settings::Auth& settings, Logger& logger, auth::Clients& out) {
  Result<auth::Clients> listed = auth::parse_clients(settings.clients.reveal());
  if (!listed.has_value()) return about("DUCKICELAKE_OAUTH_CLIENTS", listed.error());
  out = std::move(*listed);
  if (settings.clients_file.empty()) return {};
  constexpr std::string_view kSetting = "DUCKICELAKE_OAUTH_CLIENTS_FILE";
  struct ::stat status{};
  if (::stat(settings.clients_file.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0) {
    logger.log(LogLevel::kWarning, kLogger, "the file with the clients can be read by everybody",
               {{"file", std::string_view(settings.clients_file)}});
  }
  DIL_TRY(const std::string text, read_file(kSetting, settings.clients_file));
  Result<auth::Clients> filed = auth::clients_from_json(text);
  if (!filed.has_value()) return about(kSetting, filed.error());
  for (auto& [id, client] : *filed) out.insert_or_assign(id, std::move(client));
  return {};
}

Result<bool> has_kept_clients(pg::Pool& pool) {
  DIL_TRY(pg::Lease lease, pool.acquire(pg::deadline_after(kStartTime)));
  DIL_TRY(const std::vector<store::ClientRow> clients, store::list_clients(*lease));
  return !clients.empty();
}

// The first signs.
std::vector<Secret> signing_secrets(const Settings::Auth& settings) {
  std::vector<Secret> out;
  if (!settings.jwt_secret.empty()) out.push_back(settings.jwt_secret);
  std::string_view rest = settings.previous_jwt_secrets.reveal();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end > 0) out.emplace_back(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

void write_line(Logger& logger, const store::AuditRow& row) {
  const bool is_granted = row.decision == "ok" || row.decision.starts_with("static_key_");
  logger.log(is_granted ? LogLevel::kInfo : LogLevel::kWarning, kAuditLogger, "decision",
             {{"catalog", std::string_view(row.catalog_id)},
              {"principal", std::string_view(row.principal)},
              {"subject", std::string_view(row.subject)},
              {"actor", std::string_view(row.actor)},
              {"channel", std::string_view(row.channel)},
              {"operation", std::string_view(row.operation)},
              {"object", std::string_view(row.object)},
              {"decision", std::string_view(row.decision)},
              {"reason", std::string_view(row.reason)},
              {"repeats", row.repeats},
              {"request_id", std::string_view(row.request_id)},
              {"last_request_id", std::string_view(row.last_request_id)},
              {"key_id", std::string_view(row.key_id)}});
}

Status check_sound(const catalog::Authenticator::Config& who, const Settings::Auth& settings,
                   bool has_kept, Logger& logger) {
  if (settings.is_required && who.clients.empty() && who.issuers.empty() && !has_kept) {
    return invalid_argument(
        "DUCKICELAKE_REQUIRE_AUTH is set, but nobody could come in: there are no clients "
        "(DUCKICELAKE_OAUTH_CLIENTS, DUCKICELAKE_OAUTH_CLIENTS_FILE, or those of PostgreSQL) and "
        "no issuers (DUCKICELAKE_OIDC_ISSUERS_FILE)");
  }
  if (who.mode == catalog::AuthMode::kOff) return {};
  if (settings.jwt_secret.empty()) {
    return invalid_argument(
        "DUCKICELAKE_OAUTH_JWT_SECRET is not set; without it no token can be made or proved");
  }
  for (const auth::ExternalIssuer& issuer : who.issuers) {
    if (issuer.issuer == who.issuer) {
      return invalid_argument("DUCKICELAKE_OAUTH_ISSUER is that of another issuer");
    }
  }
  for (const Secret& secret : who.secrets) {
    if (secret.reveal().size() >= kSoundSecretBytes) continue;
    logger.log(LogLevel::kWarning, kLogger,
               "a secret that signs tokens is shorter than 32 bytes; it can be guessed from them");
    break;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<catalog::Guard>> make_guard(const Settings& settings, pg::Pool& pool,
                                                   const store::Lake& lake, Logger& logger) {
  const Settings::Auth& auth = settings.auth;
  catalog::Authenticator::Config who;
  DIL_CHECK_OK(read_clients(auth, logger, who.clients));
  if (!auth.issuers_file.empty()) {
    constexpr std::string_view kSetting = "DUCKICELAKE_OIDC_ISSUERS_FILE";
    DIL_TRY(const std::string text, read_file(kSetting, auth.issuers_file));
    auto issuers = auth::issuers_from_json(text);
    if (!issuers.has_value()) return about(kSetting, issuers.error());
    who.issuers = std::move(*issuers);
  }
  DIL_TRY(const bool has_kept, has_kept_clients(pool));
  const bool is_on = auth.is_required || !who.clients.empty() || !who.issuers.empty() || has_kept;
  who.mode = is_on ? catalog::AuthMode::kOn : catalog::AuthMode::kOff;
  who.issuer = auth.issuer;
  who.secrets = signing_secrets(auth);
  who.ttl_seconds = auth.ttl.count();
  who.max_session_seconds = auth.max_session.count();
  DIL_CHECK_OK(check_sound(who, auth, has_kept, logger));

  catalog::Audit::Config record;
  record.retention_days = auth.audit_retention_days;
  record.log = [&logger](const store::AuditRow& row) { write_line(logger, row); };
  net::FetchLimits limits;
  limits.ca_file = auth.issuers_ca_file;
  return std::make_unique<catalog::Guard>(
      std::move(who), std::move(record), pool, lake,
      [limits](const std::string& url) { return net::fetch(url, limits); });
}

}  // namespace duckicelake::app
