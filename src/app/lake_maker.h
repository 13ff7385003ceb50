// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/log.h"
#include "app/settings.h"
#include "catalog/catalog_admin.h"

namespace duckicelake::app {

// Makes the lakes of shared catalogs as `init` makes the own one: DuckDB makes DuckLake's tables,
// so that it is DuckLake's to the letter, in an instance that lives as long.
class DuckdbLakeMaker final : public catalog::LakeMaker {
 public:
  // Both must outlive it.
  DuckdbLakeMaker(const Settings& settings, Logger& logger)
      : settings_(settings), logger_(logger) {}

  Status make(const store::CatalogRow& catalog, bool with_namespace, pg::Deadline until) override;

 private:
  const Settings& settings_;
  Logger& logger_;
};

}  // namespace duckicelake::app
