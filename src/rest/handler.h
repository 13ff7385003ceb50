// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"
#include "net/responder.h"
#include "rest/catalog_api.h"
#include "rest/executor.h"
#include "rest/forwarded.h"
#include "rest/observer.h"

namespace duckicelake::catalog {
class DirectAccess;
class Guard;
class StorageAccess;
class RequestSigning;
}  // namespace duckicelake::catalog

namespace duckicelake::rest {

class CatalogDirectory;

// What clients are told about the object store; never keys.
struct StorageSettings {
  std::string endpoint;  // s3.endpoint; empty: not told
  std::string region;    // s3.region and client.region; empty: not told
  bool path_style = true;
};

struct RestConfig {
  std::string catalog_id = "lake";  // of the process's own: its prefix, the default warehouse
  UrlPolicy urls;                   // public URL and trusted proxies
  StorageSettings storage;
  std::string server_version;  // for /openapi.json
  // Integrity of page tokens: the same in all processes of a catalog (derive it from their common
  // configuration). Empty: derived from catalog_id, which guards against accidents but not against
  // intent.
  Secret page_token_key;

  int gzip_level = 1;
  std::size_t gzip_min_bytes = 1024;
  std::size_t gzip_cache_bytes = std::size_t{64} << 20;  // compressed table answers kept; 0: none
};

// All references must outlive the handler. The handler must outlive the server, the executor's
// tasks and the callbacks of CatalogApi::await_head.
struct HandlerDeps {
  CatalogApi& catalog;
  Executor& executor;
  RequestObserver& observer;
  // The text of /metrics (Prometheus text format 0.0.4). Runs on a worker.
  std::function<std::string()> metrics;
  // Why the process should get no traffic (starting, draining), or nullopt. Must not block;
  // PostgreSQL is asked by the handler itself.
  std::function<std::optional<std::string>()> not_ready;
  // Who comes in, and the record of decisions; nullptr: everybody, and there is none.
  catalog::Guard* guard = nullptr;
  // Of the own catalog. Keys for tables' bytes, and signatures; nullptr: there are none to be had.
  catalog::StorageAccess* storage = nullptr;
  catalog::RequestSigning* signing = nullptr;
  // PostgreSQL roles for DuckDB users; nullptr: there are none.
  catalog::DirectAccess* direct = nullptr;
  // Proves on the store that keys open what they must and nothing else: JSON. May be empty. Runs on
  // a worker.
  std::function<Result<std::string>()> prove_storage = {};
  // The catalogs beside the own one; nullptr: there are none.
  CatalogDirectory* directory = nullptr;
};

// All routes of the server: see routes.cc for the table of them. Thread-safe.
class RestHandler : public net::Handler {
 public:
  RestHandler(const RestConfig& config, HandlerDeps deps);
  ~RestHandler() override;
  RestHandler(const RestHandler&) = delete;
  RestHandler& operator=(const RestHandler&) = delete;

  void handle(net::Request request, net::Responder respond) noexcept override;

  struct Counters {
    std::uint64_t gzip_hits = 0;
    std::uint64_t gzip_misses = 0;
    std::uint64_t gzip_bytes = 0;  // kept now
    std::uint64_t refused = 0;     // no worker was free: 503
  };
  Counters counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duckicelake::rest
