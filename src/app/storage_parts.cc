// SPDX-License-Identifier: Apache-2.0
#include "app/storage_parts.h"

#include "objstore/endpoint.h"
#include "sign/hash.h"

namespace duckicelake::app {
namespace {

// A table is written between its staging and its commit.
constexpr std::chrono::hours kStagedLife{12};
constexpr std::string_view kLogger = "duckicelake.storage";

}  // namespace

sign::Wildcards wildcards_of(std::string_view endpoint) {
  const bool is_aws = endpoint.starts_with("https://") && (endpoint.ends_with(".amazonaws.com") ||
                                                           endpoint.ends_with(".amazonaws.com.cn"));
  return is_aws ? sign::Wildcards::kEscape : sign::Wildcards::kRefuse;
}

catalog::DirectAccess::Config direct_config(const Settings& settings) {
  const Settings::Postgres& postgres = settings.postgres;
  catalog::DirectAccess::Config out;
  out.is_on = postgres.row_security;
  out.reader_group = postgres.reader_group;
  out.cache_life = postgres.role_cache;
  out.max_duration = settings.store.sts_max_duration;
  out.host = postgres.public_host;
  out.port = postgres.public_port;
  out.database = postgres.database;
  out.sslmode = postgres.sslmode;
  return out;
}

Result<catalog::ObjectPlace> object_place(const Settings& settings) {
  DIL_TRY(const objstore::Endpoint endpoint, objstore::Endpoint::parse(settings.store.endpoint));
  catalog::ObjectPlace out;
  out.scheme = endpoint.scheme;
  out.place = {endpoint.authority, endpoint.path, settings.store.bucket};
  out.region = settings.store.region;
  out.root = {settings.store.root_key, settings.store.root_secret, Secret()};
  out.is_path_style = settings.store.path_style;
  return out;
}

Result<std::unique_ptr<StorageParts>> StorageParts::make(const Settings& settings,
                                                         const Deps& deps) {
  std::unique_ptr<StorageParts> out(new StorageParts);
  catalog::StorageAccess::Config config;
  if (deps.sts != nullptr) {
    config.assume_role = [client = deps.sts](const objstore::AssumeRoleRequest& request) {
      return client->assume_role(request);
    };
  }
  config.role_arn = settings.store.sts_role_arn;
  config.duration = settings.store.sts_duration;
  config.wildcards = wildcards_of(settings.store.sts_endpoint);
  config.signs_requests = settings.store.remote_signing;
  config.root_key = settings.store.root_key;
  if (settings.gateway.is_enabled) {
    config.gateway.emplace(settings.gateway.secret, settings.gateway.url, settings.gateway.ttl);
  }
  config.staging.emplace(
      Secret(sign::hmac_sha256(settings.store.root_secret.reveal(), "staged tables")), "",
      kStagedLife);
  config.on_event = [&logger = deps.logger](std::string_view what, const Error* why) {
    if (why != nullptr) {
      logger.log_error(LogLevel::kWarning, kLogger, what, *why);
    } else {
      logger.log(LogLevel::kWarning, kLogger, what);
    }
  };
  out->access_ =
      std::make_unique<catalog::StorageAccess>(std::move(config), deps.backends, deps.probe);
  catalog::DirectAccess::Config direct = direct_config(settings);
  direct.registration = deps.registration;
  out->direct_ =
      std::make_unique<catalog::DirectAccess>(std::move(direct), deps.backends, *out->access_);
  // One for all catalogs of the database.
  if (deps.registration == 0 && settings.postgres.row_security) {
    out->direct_upkeep_ = std::make_unique<catalog::DirectUpkeep>(
        deps.backends.pool, [&logger = deps.logger](std::string_view what, const Error& why) {
          logger.log_error(LogLevel::kWarning, kLogger, what, why);
        });
  }
  if (settings.store.remote_signing) {
    DIL_TRY(catalog::ObjectPlace place, object_place(settings));
    out->signing_ =
        std::make_unique<catalog::RequestSigning>(std::move(place), *out->access_, deps.backends);
  }
  if (settings.gateway.is_enabled) DIL_CHECK_OK(out->make_gateway(settings, deps));
  return out;
}

Status StorageParts::make_gateway(const Settings& settings, const Deps& deps) {
  catalog::S3Gateway::Config config;
  DIL_TRY(config.place, object_place(settings));
  config.audit = &deps.guard.audit();
  config.caller_of = [&guard = deps.guard, catalog = deps.catalog, registration = deps.registration,
                      wait = deps.backends.request_timeout](
                         const catalog::GatewayClaims& claims,
                         const catalog::HeadProbe::Fresh& fresh) -> Result<catalog::Caller> {
    if (registration != 0 && fresh.head.registration != registration) {
      return Error(Code::kPermissionDenied, "no such access key", "its catalog was closed");
    }
    return catalog::gateway_caller(guard, catalog, claims, fresh.head.access,
                                   pg::deadline_after(wait));
  };
  gateway_ =
      std::make_unique<catalog::S3Gateway>(std::move(config), *access_, deps.backends, deps.probe);
  return {};
}

StorageParts::Reading StorageParts::counters() const {
  Reading out;
  out.access = access_->counters();
  out.direct = direct_->counters();
  if (direct_upkeep_) out.direct_upkeep = direct_upkeep_->counters();
  if (signing_) out.signing = signing_->counters();
  if (gateway_) out.gateway = gateway_->counters();
  return out;
}

}  // namespace duckicelake::app
