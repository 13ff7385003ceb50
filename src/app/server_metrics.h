// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/request_metrics.h"
#include "app/storage_parts.h"
#include "app/worker_pool.h"
#include "catalog/audit.h"
#include "catalog/authenticator.h"
#include "catalog/service.h"
#include "net/server.h"
#include "objstore/counters.h"
#include "pg/pool.h"
#include "rest/handler.h"

namespace duckicelake::app {

// A reading of everything that is counted in the process.
struct ServerReading {
  const RequestMetrics& requests;
  net::ServerStats connections;
  rest::RestHandler::Counters handler;
  WorkerPool::Counters workers;
  catalog::ServiceCounters service;
  catalog::HeadProbe::Counters probe;
  pg::PoolCounters postgres;
  objstore::Counters store;
  StorageParts::Reading storage;
  catalog::Audit::Counters audit;
  catalog::Authenticator::Counters authenticator;
  std::string catalog_id;  // empty: the page names no catalog
};

// The page of /metrics (Prometheus' text format). Reads /proc/self besides.
std::string write_metrics(const ServerReading& reading);

}  // namespace duckicelake::app
