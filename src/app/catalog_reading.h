// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/storage_parts.h"
#include "catalog/head_probe.h"
#include "catalog/service.h"

namespace duckicelake::app {

// What is counted of one catalog, or of several together.
struct CatalogReading {
  catalog::ServiceCounters service;
  catalog::HeadProbe::Counters probe;
  StorageParts::Reading storage;

  void add(const CatalogReading& other);
  // What stays of a catalog that was closed: totals, and nothing that is held now.
  CatalogReading totals() const;
};

}  // namespace duckicelake::app
