// SPDX-License-Identifier: Apache-2.0
#include "app/storage_parts.h"

#include "app/backends.h"
#include "objstore/endpoint.h"
#include "sign/hash.h"

namespace duckicelake::app {
namespace {

// A table is written between its staging and its commit.
constexpr std::chrono::hours kStagedLife{12};
constexpr std::string_view kLogger = "duckicelake.storage";

// AWS reads "${*}" in a policy as a plain '*'; other stores match other names by it.
sign::Wildcards wildcards_of(const Settings& settings) {
  const std::string& endpoint = settings.store.sts_endpoint;
  const bool is_aws = endpoint.starts_with("https://") && (endpoint.ends_with(".amazonaws.com") ||
                                                           endpoint.ends_with(".amazonaws.com.cn"));
  return is_aws ? sign::Wildcards::kEscape : sign::Wildcards::kRefuse;
}

}  // namespace

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
                                                         catalog::Backends backends,
                                                         catalog::HeadProbe& probe,
                                                         Logger& logger) {
  std::unique_ptr<StorageParts> out(new StorageParts(std::move(backends)));
  catalog::StorageAccess::Config config;
  if (auto sts = sts_config(settings)) {
    DIL_TRY(out->sts_, objstore::StsClient::make(std::move(*sts)));
    config.assume_role = [client = out->sts_.get()](const objstore::AssumeRoleRequest& request) {
      return client->assume_role(request);
    };
  }
  config.role_arn = settings.store.sts_role_arn;
  config.duration = settings.store.sts_duration;
  config.wildcards = wildcards_of(settings);
  config.signs_requests = settings.store.remote_signing;
  if (settings.gateway.is_enabled) {
    config.gateway.emplace(settings.gateway.secret, settings.gateway.url, settings.gateway.ttl);
  }
  config.staging.emplace(
      Secret(sign::hmac_sha256(settings.store.root_secret.reveal(), "staged tables")), "",
      kStagedLife);
  config.on_event = [&logger](std::string_view what, const Error* why) {
    if (why != nullptr) {
      logger.log_error(LogLevel::kWarning, kLogger, what, *why);
    } else {
      logger.log(LogLevel::kWarning, kLogger, what);
    }
  };
  out->access_ = std::make_unique<catalog::StorageAccess>(std::move(config), out->backends_, probe);
  if (settings.store.remote_signing) {
    DIL_TRY(catalog::ObjectPlace place, object_place(settings));
    out->signing_ =
        std::make_unique<catalog::RequestSigning>(std::move(place), *out->access_, out->backends_);
  }
  return out;
}

Status StorageParts::start_gateway(const Settings& settings, catalog::HeadProbe& probe,
                                   catalog::Guard& guard, Logger& logger) {
  if (!settings.gateway.is_enabled) return {};
  DIL_TRY(catalog::ObjectPlace place, object_place(settings));
  const sign::Credentials root = place.root;
  catalog::S3Gateway::Config decides;
  decides.place = std::move(place);
  decides.audit = &guard.audit();
  decides.caller_of = [&guard, wait = backends_.request_timeout](
                          const catalog::GatewayClaims& claims,
                          const catalog::HeadProbe::Fresh& fresh) {
    return catalog::gateway_caller(guard, claims, fresh.head.access, pg::deadline_after(wait));
  };
  gateway_ = std::make_unique<catalog::S3Gateway>(std::move(decides), *access_, backends_, probe);
  GatewayServer::Config config;
  config.host = settings.gateway.host;
  config.port = settings.gateway.port;
  config.max_connections = settings.gateway.max_connections;
  config.header_timeout = settings.listen.header_timeout;
  config.io_timeout = settings.listen.write_timeout;
  config.idle_timeout = settings.listen.idle_timeout;
  config.relay.ca_file = settings.store.ca_file;
  DIL_TRY(gateway_server_,
          GatewayServer::start(std::move(config), *gateway_, root, settings.store.region, logger));
  logger.log(LogLevel::kInfo, kLogger, "the S3 gateway listens",
             {{"host", std::string_view(settings.gateway.host)},
              {"port", std::int64_t{gateway_server_->port()}}});
  return {};
}

void StorageParts::stop_gateway(std::chrono::milliseconds grace) {
  if (gateway_server_) gateway_server_->stop(grace);
}

StorageParts::Reading StorageParts::counters() const {
  Reading out;
  out.access = access_->counters();
  if (signing_) out.signing = signing_->counters();
  if (gateway_) out.gateway = gateway_->counters();
  if (gateway_server_) out.gateway_traffic = gateway_server_->counters();
  return out;
}

}  // namespace duckicelake::app
