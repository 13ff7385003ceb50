// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "app/backends.h"
#include "app/catalog_reading.h"
#include "app/lake_engine.h"
#include "app/lake_upkeep.h"
#include "app/log.h"
#include "app/settings.h"
#include "app/storage_parts.h"
#include "base/result.h"
#include "catalog/guard.h"
#include "catalog/service.h"
#include "engine/data_engine.h"
#include "objstore/s3_object_store.h"
#include "objstore/sts.h"
#include "pg/pool.h"
#include "rest/catalog_directory.h"
#include "store/lake.h"

namespace duckicelake::app {

// What all catalogs of the process share.
struct SharedParts {
  const Settings& settings;
  Logger& logger;
  pg::Pool& pool;
  objstore::S3ObjectStore& store;
  catalog::DataEngine& files;
  objstore::StsClient* sts;  // may be null
  catalog::Guard& guard;
  catalog::HeadProbe::Post post;
  Secret page_token_key;
};

// How a catalog is registered.
struct Tenancy {
  std::int64_t registration = 0;  // 0: the process's own
  std::string account = {};
  bool is_own() const { return registration == 0; }
};

// One catalog, opened: everything that belongs to it alone. It has no thread of its own (the own
// one has: DuckLake's commits are published ahead) and connects on first use.
class Tenant {
 public:
  // `settings` are those of the process, with the place of this catalog: settings_for. `shared`
  // must outlive it.
  static Result<std::unique_ptr<Tenant>> make(const SharedParts& shared, Settings settings,
                                              store::Lake lake, std::optional<ViewRole> view_role,
                                              Tenancy tenancy);
  // Nobody may be in it any more, and the probe be closed or the I/O threads over.
  ~Tenant();
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  const std::string& id() const { return open_->id; }
  std::int64_t registration() const { return open_->registration; }
  const rest::OpenCatalog& open() const { return *open_; }
  rest::CatalogApi& api() { return *api_; }
  catalog::Service& service() { return *service_; }
  StorageParts& storage() { return *storage_; }
  CatalogReading counters() const;
  // Closes what is open and was not used for a while; it is opened again on need.
  void release_idle() { views_->release_idle(); }

 private:
  Tenant(const SharedParts& shared, Settings settings, store::Lake lake);
  Status build(const std::optional<ViewRole>& view_role, const Tenancy& tenancy);

  const SharedParts& shared_;
  const Settings settings_;
  const store::Lake lake_;
  // Each may use those above it.
  std::unique_ptr<engine::DuckdbDataEngine> views_;
  std::unique_ptr<LakeEngine> engine_;
  std::unique_ptr<LakeUpkeep> upkeep_;
  std::unique_ptr<catalog::Service> service_;
  std::unique_ptr<catalog::AccessCache> access_;
  std::unique_ptr<StorageParts> storage_;
  std::unique_ptr<rest::ServiceCatalog> api_;
  std::optional<rest::OpenCatalog> open_;
};
using TenantPtr = std::shared_ptr<Tenant>;

// The settings of the process as they are for another catalog of its database and bucket.
Settings settings_for(const Settings& own, const store::CatalogRow& catalog);

}  // namespace duckicelake::app
