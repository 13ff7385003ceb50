// SPDX-License-Identifier: Apache-2.0
#include "app/application.h"

#include "app/pg_checks.h"
#include "app/server_metrics.h"
#include "app/storage_proof.h"
#include "app/version.h"
#include "app/view_role.h"
#include "pg/migrations.h"
#include "sign/hash.h"
#include "store/lake_setup.h"
#include "store/sidecar.h"

namespace duckicelake::app {
namespace {

constexpr std::chrono::seconds kPrepareTime{60};
constexpr std::chrono::seconds kLastWork{2};  // for work whose connections are gone
constexpr std::string_view kLogger = "duckicelake.server";

// Index names begin like trigger names; the triggers are those that nothing is right without.
constexpr std::string_view kTriggers[] = {"duckicelake_expired", "duckicelake_retired",
                                          "duckicelake_revived", "duckicelake_removed"};

Status check_setup(pg::Connection& connection, const store::Lake& lake, Logger& logger) {
  DIL_TRY(const std::vector<store::SetupItem> items,
          store::inspect_setup(connection, lake.metadata_schema));
  for (const store::SetupItem& item : items) {
    if (item.is_present) continue;
    for (const std::string_view trigger : kTriggers) {
      if (item.name == trigger) {
        return make_error(Code::kNotFound,
                          "the lake's trigger {} is missing ({}); run `duckicelake init`",
                          item.name, item.purpose);
      }
    }
    logger.log(
        LogLevel::kWarning, kLogger, "an index is missing; run `duckicelake init`",
        {{"index", std::string_view(item.name)}, {"purpose", std::string_view(item.purpose)}});
  }
  return {};
}

Result<store::Lake> open_lake(pg::Connection& connection, const Settings& settings) {
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(settings.postgres.schema));
  Result<store::Lake> lake = store::open_lake(connection, settings.catalog_id, schema);
  if (!lake && lake.error().code() == Code::kNotFound) {
    return make_error(Code::kNotFound, "there is no DuckLake in schema {}; run `duckicelake init`",
                      schema.name());
  }
  if (!lake) return lake;
  DIL_TRY(const objstore::S3Uri place, objstore::parse_s3_uri(lake->data_path));
  if (place.bucket != settings.store.bucket) {
    return invalid_argument("the lake's data is in bucket {}, but DUCKICELAKE_S3_BUCKET is {}",
                            place.bucket, settings.store.bucket);
  }
  return lake;
}

net::ServerConfig server_config(const Settings::Listen& listen, Logger& logger) {
  net::ServerConfig out;
  out.address = listen.host;
  out.port = listen.port;
  out.io_threads = listen.io_threads;
  out.max_header_bytes = listen.max_header_bytes;
  out.max_target_bytes = listen.max_target_bytes;
  out.max_body_bytes = listen.max_body_bytes;
  out.max_total_body_bytes = listen.max_total_body_bytes;
  out.max_connections = listen.max_connections;
  out.header_timeout = listen.header_timeout;
  out.body_timeout = listen.body_timeout;
  out.write_timeout = listen.write_timeout;
  out.idle_timeout = listen.idle_timeout;
  // Longer than the work itself may take, so that the request's own error is answered.
  out.handler_timeout = listen.request_timeout * 2;
  out.tls_certificate_file = listen.tls_certificate_file;
  out.tls_key_file = listen.tls_key_file;
  out.on_fault = [&logger](const net::Fault& fault, std::string_view peer) {
    logger.log(LogLevel::kDebug, "duckicelake.http", fault.message,
               {{"kind", net::fault_name(fault.kind)},
                {"status", std::int64_t{fault.status}},
                {"peer", peer}});
  };
  return out;
}

Result<rest::RestConfig> rest_config(const Settings& settings) {
  rest::RestConfig out;
  out.catalog_id = settings.catalog_id;
  out.urls.public_url = settings.listen.public_url;
  for (const std::string& proxy : settings.listen.trusted_proxies) {
    DIL_TRY(rest::AddressRange range, rest::AddressRange::parse(proxy));
    out.urls.trusted_proxies.push_back(range);
  }
  out.storage.endpoint = settings.store.endpoint;
  out.storage.region = settings.store.region;
  out.storage.path_style = settings.store.path_style;
  out.server_version = kVersion;
  // Known to every process of the catalog, and to no client.
  out.page_token_key = Secret(sign::hmac_sha256(
      settings.store.root_secret.reveal() + settings.postgres.password.reveal(), "page tokens"));
  return out;
}

}  // namespace

bool Application::ServerGate::post(std::size_t thread_index, std::function<void()> task) {
  std::shared_lock lock(mutex);
  return server != nullptr && server->post(thread_index, std::move(task));
}

net::ServerStats Application::ServerGate::stats() {
  std::shared_lock lock(mutex);
  return server == nullptr ? net::ServerStats{} : server->stats();
}

void Application::ServerGate::set(net::Server* value) {
  std::unique_lock lock(mutex);
  server = value;
}

Result<Application::Prepared> Application::prepare(const Settings& settings, pg::Pool& pool,
                                                   Logger& logger) {
  DIL_TRY(pg::Lease lease, pool.acquire(pg::deadline_after(kPrepareTime)));
  if (lease->server_version() < kLeastPostgresVersion) {
    return make_error(Code::kUnsupported, "PostgreSQL {} is too old: 14 is needed",
                      version_text(lease->server_version()));
  }
  DIL_TRY(store::Lake lake, open_lake(*lease, settings));
  DIL_TRY(const int sidecar, pg::recorded_version(*lease, pg::SqlIdent::constant("duckicelake")));
  if (sidecar == 0) {
    return make_error(Code::kNotFound, "the lake has no sidecar yet; run `duckicelake init`");
  }
  // A newer program brings the sidecar up to date itself, under a lock.
  DIL_CHECK_OK(store::migrate_sidecar(*lease));
  DIL_CHECK_OK(check_setup(*lease, lake, logger));
  DIL_CHECK_OK(store::register_catalog(*lease, lake));
  DIL_TRY(std::optional<ViewRole> view_role, find_view_role(*lease, settings));
  return Prepared{std::move(lake), std::move(view_role)};
}

Application::Application(const Settings& settings, std::unique_ptr<pg::Pool> pool, Logger& logger)
    : settings_(settings),
      logger_(logger),
      pool_(std::move(pool)),
      request_log_(logger, request_metrics_, settings.access_log) {}

Result<std::unique_ptr<Application>> Application::start(const Settings& settings,
                                                        std::unique_ptr<pg::Pool> pool,
                                                        Prepared prepared, Logger& logger) {
  std::unique_ptr<Application> out(new Application(settings, std::move(pool), logger));
  DIL_CHECK_OK(out->build(std::move(prepared)));
  return out;
}

Status Application::build(Prepared prepared) {
  DIL_TRY(store_, objstore::S3ObjectStore::make(store_config(settings_)));
  if (auto sts = sts_config(settings_)) {
    DIL_TRY(sts_, objstore::StsClient::make(std::move(*sts)));
  }
  engine::EngineConfig engine = engine_config(settings_, std::nullopt);
  engine.call_timeout = settings_.listen.request_timeout;
  duckdb_ = std::make_unique<engine::DuckdbDataEngine>(std::move(engine));
  if (!prepared.view_role) {
    logger_.log(LogLevel::kWarning, kLogger,
                "views are served without columns: there is no role to bind them with");
  }
  DIL_TRY(guard_, make_guard(settings_, *pool_, prepared.lake, logger_));
  warn_if_open();
  DIL_TRY(rest::RestConfig rest, rest_config(settings_));
  shared_.emplace(SharedParts{settings_, logger_, *pool_, *store_, *duckdb_, sts_.get(), *guard_,
                              [this](std::size_t thread_index, std::function<void()> task) {
                                return gate_.post(thread_index, std::move(task));
                              },
                              rest.page_token_key});
  DIL_TRY(own_, Tenant::make(*shared_, settings_, std::move(prepared.lake),
                             std::move(prepared.view_role), Tenancy{}));
  DIL_CHECK_OK(build_tenants());
  workers_ =
      std::make_unique<WorkerPool>(settings_.listen.worker_threads, settings_.listen.worker_queue);
  rest::HandlerDeps deps{own_->api(),
                         *workers_,
                         request_log_,
                         [this] { return metrics(); },
                         [this]() -> std::optional<std::string> {
                           if (is_draining_.load(std::memory_order_relaxed)) return "draining";
                           return std::nullopt;
                         },
                         guard_.get(),
                         &own_->storage().access(),
                         own_->storage().signing(),
                         &own_->storage().direct(),
                         [this]() -> Result<std::string> {
                           DIL_TRY(const StorageProof proof, prove_storage(settings_));
                           return proof_json(proof);
                         },
                         tenants_.get()};
  handler_ = std::make_unique<rest::RestHandler>(std::move(rest), std::move(deps));
  DIL_TRY(server_, net::Server::start(server_config(settings_.listen, logger_), *handler_));
  gate_.set(server_.get());
  return start_gateway();
}

Status Application::build_tenants() {
  lake_maker_ = std::make_unique<DuckdbLakeMaker>(settings_, logger_);
  admin_ = std::make_unique<catalog::CatalogAdmin>(own_->service().backends(), *lake_maker_);
  tenants_ = std::make_unique<Tenants>(*shared_, *admin_, settings_.max_active_catalogs,
                                       settings_.catalog_idle);
  if (!settings_.disable_nan_counts) start_nan_upkeep();
  if (settings_.disable_notify) return {};
  using Target = catalog::SharedEager::Target;
  shared_eager_ = std::make_unique<catalog::SharedEager>(
      *pool_,
      [this](const std::string& schema, std::int64_t registry) -> Result<std::optional<Target>> {
        DIL_TRY(const TenantPtr tenant,
                tenants_->reach_schema(schema, registry,
                                       pg::deadline_after(settings_.listen.request_timeout)));
        if (!tenant) return std::optional<Target>();
        catalog::Service& service = tenant->service();
        return std::optional<Target>(
            Target{tenant, service.backends().lake, [&service](TableId table, SnapshotId snapshot) {
                     return service.publish_ahead(table, snapshot);
                   }});
      });
  return {};
}

void Application::start_nan_upkeep() {
  using Target = catalog::NanUpkeep::Target;
  nan_upkeep_ = std::make_unique<catalog::NanUpkeep>(
      *pool_, own_->service().backends().lake, own_->service().backends().engine,
      [this](const std::string& schema, std::int64_t registry) -> Result<std::optional<Target>> {
        DIL_TRY(const TenantPtr tenant,
                tenants_->reach_schema(schema, registry,
                                       pg::deadline_after(settings_.listen.request_timeout)));
        if (!tenant) return std::optional<Target>();
        return std::optional<Target>(Target{tenant, tenant->service().backends().lake});
      });
}

Status Application::start_gateway() {
  if (!settings_.gateway.is_enabled) return {};
  DIL_TRY(const catalog::ObjectPlace place, object_place(settings_));
  gateway_ = std::make_unique<GatewayFront>(*own_, *tenants_, settings_.listen.request_timeout);
  GatewayServer::Config config;
  config.host = settings_.gateway.host;
  config.port = settings_.gateway.port;
  config.max_connections = settings_.gateway.max_connections;
  config.tls_certificate_file = settings_.gateway.tls_certificate_file;
  config.tls_key_file = settings_.gateway.tls_key_file;
  config.header_timeout = settings_.listen.header_timeout;
  config.io_timeout = settings_.listen.write_timeout;
  config.idle_timeout = settings_.listen.idle_timeout;
  config.relay.ca_file = settings_.store.ca_file;
  DIL_TRY(gateway_server_, GatewayServer::start(std::move(config), *gateway_, place.root,
                                                settings_.store.region, logger_));
  logger_.log(LogLevel::kInfo, kLogger, "the S3 gateway listens",
              {{"host", std::string_view(settings_.gateway.host)},
               {"port", std::int64_t{gateway_server_->port()}}});
  return {};
}

void Application::release_idle() {
  own_->release_idle();
  tenants_->release_idle();
}

void Application::warn_if_open() {
  if (guard_->mode() == catalog::AuthMode::kOn) return;
  if (settings_.listen.host == "127.0.0.1" || settings_.listen.host == "::1") return;
  logger_.log(LogLevel::kWarning, kLogger,
              "authentication is off: whoever reaches this address has the lake",
              {{"address", std::string_view(settings_.listen.host)}});
}

Status Application::reload_tls() {
  const Status own = server_->reload_tls();
  const Status gateway = gateway_server_
                             ? gateway_server_->reload_tls()
                             : Status(make_error(Code::kUnsupported, "there is no gateway"));
  // What runs without a certificate has none to read.
  if (!gateway && gateway.error().code() == Code::kUnsupported) return own;
  if (!own && own.error().code() == Code::kUnsupported) return gateway;
  return own ? gateway : own;
}

bool Application::drain() {
  is_draining_.store(true, std::memory_order_relaxed);
  server_->drain(settings_.listen.drain);
  if (gateway_server_) gateway_server_->stop(settings_.listen.drain);
  return workers_->wait_idle(kLastWork);
}

Application::~Application() {
  if (server_) server_->drain(std::chrono::milliseconds(0));
  if (gateway_server_) gateway_server_->stop(std::chrono::milliseconds(0));
  // Nobody answers through the server any more: what still runs ends first, then what it uses.
  gate_.set(nullptr);
  if (workers_) workers_->stop();
  gateway_server_.reset();
  shared_eager_.reset();
  nan_upkeep_.reset();
  server_.reset();
  if (tenants_) tenants_->shutdown();
  handler_.reset();
  workers_.reset();
  tenants_.reset();
  own_.reset();
  guard_.reset();
}

std::string Application::metrics() {
  std::map<std::string, CatalogReading> catalogs = tenants_->readings();
  const std::string own = settings_.metrics_name_catalogs ? settings_.catalog_id : std::string();
  catalogs[own].add(own_->counters());
  GatewayServer::Counters traffic;
  if (gateway_server_) traffic = gateway_server_->counters();
  return write_metrics(
      {request_metrics_, gate_.stats(), handler_->counters(), workers_->counters(), catalogs,
       tenants_->counters(),
       shared_eager_ ? shared_eager_->counters() : catalog::SharedEager::Counters(),
       nan_upkeep_ ? nan_upkeep_->counters() : catalog::NanUpkeep::Counters(), traffic,
       gateway_ ? gateway_->denied() : 0, pool_->counters(), store_->counters(),
       guard_->audit().counters(), guard_->authenticator().counters()});
}

}  // namespace duckicelake::app
