// SPDX-License-Identifier: Apache-2.0
#include "app/tenant.h"

#include "objstore/object_store.h"
#include "sign/hash.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kLogger = "duckicelake.server";

// Page tokens of one catalog are good for no other one.
rest::PageTokens page_tokens(const SharedParts& shared, const std::string& id) {
  return rest::PageTokens(
      Secret(sign::hmac_sha256(shared.page_token_key.reveal(), "page tokens of " + id)));
}

}  // namespace

Settings settings_for(const Settings& own, const store::CatalogRow& catalog) {
  Settings out = own;
  out.catalog_id = catalog.id;
  out.postgres.schema = catalog.metadata_schema;
  // A role for views that the settings name is that of their own lake.
  out.postgres.view_user.clear();
  out.postgres.view_password = Secret();
  const Result<objstore::S3Uri> place = objstore::parse_s3_uri(catalog.data_path);
  if (place) out.store.prefix = place->key;
  return out;
}

Tenant::Tenant(const SharedParts& shared, Settings settings, store::Lake lake)
    : shared_(shared), settings_(std::move(settings)), lake_(std::move(lake)) {}

Tenant::~Tenant() = default;

Result<std::unique_ptr<Tenant>> Tenant::make(const SharedParts& shared, Settings settings,
                                             store::Lake lake, std::optional<ViewRole> view_role,
                                             Tenancy tenancy) {
  std::unique_ptr<Tenant> out(new Tenant(shared, std::move(settings), std::move(lake)));
  DIL_CHECK_OK(out->build(view_role, tenancy));
  return out;
}

Status Tenant::build(const std::optional<ViewRole>& view_role, const Tenancy& tenancy) {
  engine::EngineConfig views = engine_config(settings_, view_role);
  views.call_timeout = settings_.listen.request_timeout;
  views.on_unbound_view = [&logger = shared_.logger](const Error& why) {
    logger.log_error(LogLevel::kInfo, kLogger, "a view is served without columns", why);
  };
  views_ = std::make_unique<engine::DuckdbDataEngine>(std::move(views));
  engine_ = std::make_unique<LakeEngine>(shared_.files, view_role ? views_.get() : nullptr);
  engine::EngineConfig upkeep = engine_config(settings_, std::nullopt);
  upkeep.call_timeout = settings_.maintenance_timeout;
  upkeep_ = std::make_unique<LakeUpkeep>(std::move(upkeep), lake_config(settings_, ""));

  catalog::Service::Config service;
  service.auth_mode = shared_.guard.mode();
  service.maintenance_engine = upkeep_.get();
  service.maintenance_timeout = settings_.maintenance_timeout;
  service.sweep_grace = settings_.sweep_grace;
  service.max_cached_tables = settings_.cache_max;
  service.default_format_version = settings_.default_format_version;
  service.projects_eagerly = tenancy.is_own() && !settings_.disable_notify;
  service.allows_bare_paths = settings_.allow_bare_paths;
  service.request_timeout = settings_.listen.request_timeout;
  service.sessions =
      tenancy.is_own() ? catalog::HeadProbe::Sessions::kMany : catalog::HeadProbe::Sessions::kFew;
  service_ = std::make_unique<catalog::Service>(service, lake_, shared_.pool, shared_.store,
                                                *engine_, shared_.post);
  if (!tenancy.is_own()) access_ = std::make_unique<catalog::AccessCache>(shared_.pool, lake_);
  catalog::AccessCache& rules = tenancy.is_own() ? shared_.guard.access() : *access_;
  DIL_TRY(storage_, StorageParts::make(settings_, {service_->backends(),
                                                   service_->probe(),
                                                   shared_.sts,
                                                   shared_.guard,
                                                   {rules, tenancy.account},
                                                   tenancy.registration,
                                                   shared_.logger}));
  api_ = std::make_unique<rest::ServiceCatalog>(*service_);
  open_.emplace(rest::OpenCatalog{lake_.catalog_id, tenancy.account, tenancy.registration, *api_,
                                  &rules, &storage_->access(), storage_->signing(),
                                  page_tokens(shared_, lake_.catalog_id), &storage_->direct()});
  return {};
}

CatalogReading Tenant::counters() const {
  return {service_->counters(), service_->probe().counters(), storage_->counters()};
}

}  // namespace duckicelake::app
