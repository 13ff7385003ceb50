// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include "app/backends.h"
#include "app/gateway_front.h"
#include "app/gateway_server.h"
#include "app/guard_parts.h"
#include "app/lake_maker.h"
#include "app/log.h"
#include "app/request_log.h"
#include "app/request_metrics.h"
#include "app/settings.h"
#include "app/tenants.h"
#include "app/worker_pool.h"
#include "base/result.h"
#include "catalog/nan_upkeep.h"
#include "catalog/shared_eager.h"
#include "engine/data_engine.h"
#include "net/server.h"
#include "objstore/s3_object_store.h"
#include "pg/pool.h"
#include "rest/handler.h"
#include "store/lake.h"

namespace duckicelake::app {

// Everything that serves, wired together, for the life of `serve`. Made and ended by one thread;
// what runs inside are the threads of the server, the workers and the head probe.
class Application {
 public:
  // What the lake needs: it is there, in this bucket, with a current sidecar, its triggers and its
  // registration. `pool` is the one that will serve. kNotFound and kUnsupported name the command
  // that helps.
  struct Prepared {
    store::Lake lake;
    std::optional<ViewRole> view_role;
  };
  static Result<Prepared> prepare(const Settings& settings, pg::Pool& pool, Logger& logger);

  // Listens when it returns. kInvalidArgument, kUnavailable as net::Server::start.
  static Result<std::unique_ptr<Application>> start(const Settings& settings,
                                                    std::unique_ptr<pg::Pool> pool,
                                                    Prepared prepared, Logger& logger);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  std::uint16_t port() const { return server_->port(); }
  // The certificates of the server and of the gateway. kUnsupported: neither has one.
  Status reload_tls();
  // Closes what nobody used for a while: instances that bind views, catalogs beside the own one.
  void release_idle();
  // /readyz answers 503 from now on; running requests have the settings' time to end. False when
  // work is still under way that nobody waits for any more; ending it takes as long as its own
  // deadline.
  bool drain();

 private:
  // The server as others reach it: those that post to its threads live both before and after it.
  struct ServerGate {
    std::shared_mutex mutex;  // guards server
    net::Server* server = nullptr;
    bool post(std::size_t thread_index, std::function<void()> task);
    net::ServerStats stats();
    void set(net::Server* value);
  };

  Application(const Settings& settings, std::unique_ptr<pg::Pool> pool, Logger& logger);
  Status build(Prepared prepared);
  Status build_tenants();
  void start_nan_upkeep();
  Status start_gateway();
  void warn_if_open();
  std::string metrics();

  const Settings& settings_;
  Logger& logger_;
  std::atomic<bool> is_draining_{false};
  // Each may use those above it.
  std::unique_ptr<pg::Pool> pool_;
  std::unique_ptr<objstore::S3ObjectStore> store_;
  std::unique_ptr<objstore::StsClient> sts_;
  std::unique_ptr<engine::DuckdbDataEngine> duckdb_;
  ServerGate gate_;
  std::unique_ptr<catalog::Guard> guard_;
  std::optional<SharedParts> shared_;
  std::unique_ptr<Tenant> own_;
  std::unique_ptr<DuckdbLakeMaker> lake_maker_;
  std::unique_ptr<catalog::CatalogAdmin> admin_;
  std::unique_ptr<Tenants> tenants_;
  std::unique_ptr<catalog::SharedEager> shared_eager_;
  std::unique_ptr<catalog::NanUpkeep> nan_upkeep_;
  std::unique_ptr<GatewayFront> gateway_;
  std::unique_ptr<GatewayServer> gateway_server_;
  RequestMetrics request_metrics_;
  RequestLog request_log_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<rest::RestHandler> handler_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace duckicelake::app
