// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "app/gateway_server.h"
#include "app/request_metrics.h"
#include "app/tenants.h"
#include "app/worker_pool.h"
#include "catalog/audit.h"
#include "catalog/authenticator.h"
#include "catalog/nan_upkeep.h"
#include "catalog/shared_eager.h"
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
  // By catalog, or all together under "".
  const std::map<std::string, CatalogReading>& catalogs;
  Tenants::Counters tenants;
  catalog::SharedEager::Counters shared_eager;
  catalog::NanUpkeep::Counters nan_upkeep;
  GatewayServer::Counters gateway_traffic;
  std::uint64_t gateway_strangers = 0;  // requests with keys of no catalog
  pg::PoolCounters postgres;
  objstore::Counters store;
  catalog::Audit::Counters audit;
  catalog::Authenticator::Counters authenticator;
};

// The page of /metrics (Prometheus' text format). Reads /proc/self besides.
std::string write_metrics(const ServerReading& reading);

}  // namespace duckicelake::app
