// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/audit.h"
#include "catalog/authenticator.h"
#include "catalog/service.h"
#include "net/http.h"
#include "net/responder.h"
#include "net/url.h"
#include "rest/catalog_directory.h"
#include "rest/handler.h"
#include "rest/route_table.h"
#include "rest/table_answer.h"

namespace duckicelake::rest {

// One request on its way to its answer. Used by one thread at a time: the connection's I/O thread,
// then perhaps a worker.
struct Call {
  // `audit` may be null; it outlives the call.
  Call(net::Request incoming, net::Responder responder, catalog::Audit* audit, CatalogPtr own)
      : request(std::move(incoming)),
        respond(std::move(responder)),
        start(std::chrono::steady_clock::now()),
        at(std::move(own)),
        trail(audit, at->id),
        caller{{}, request.request_id, nullptr, &trail} {}
  // Whoever held it gave it up (a pool that ends): 503 when it was not answered.
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  net::Request request;
  net::Responder respond;
  std::chrono::steady_clock::time_point start;
  RouteId route = kNoRoute;
  CatalogPtr at;  // the process's own until the path was read; before the trail, which names it
  catalog::AuditTrail trail;  // before the caller, who refers to it
  catalog::Caller caller;
  std::shared_ptr<catalog::KnownToken> token;  // proved; of whom it is follows from the rules
  catalog::ActingAs acting;

  // Views into request.target, until they are read.
  PathParameters raw_parameters;
  std::string_view raw_query;

  // The type of a kInvalidArgument from here on, where Iceberg's Java clients are to throw another
  // exception than BadRequestException; empty: that one.
  std::string_view invalid_type;

  catalog::Levels levels;  // {namespace}
  std::string name;        // {table}, {view} or {function}
  net::QueryPairs query;

  std::string wants_warehouse;  // of /v1/config, when it is not the own catalog
  bool was_sent_back = false;   // the catalog was not what it had been: once only

  // Of loads of a table.
  catalog::LoadTableRequest load;
  std::string not_ready;   // of /readyz: why not, before the database is asked
  bool wants_head = true;  // see Route::peek
  std::shared_ptr<const catalog::TableAnswer> found;  // proved to be current, not answered yet

  // nullopt: not given. kInvalidArgument when it is given twice, with different values.
  Result<std::optional<std::string_view>> parameter(std::string_view name) const;
};

// Query parameters that switch something on.
inline bool is_true(std::string_view text) {
  return text == "1" || text == "true" || text == "yes";
}

// What all calls share. Immutable, but for the caches inside.
struct Context {
  const RestConfig config;
  const HandlerDeps deps;
  const OpenCatalog own;
  TableAnswers& table_answers;
  const std::shared_ptr<const std::string> config_body;  // of /v1/config, for the own catalog

  // Costs nothing: the own catalog outlives all calls.
  CatalogPtr own_catalog() const { return {std::shared_ptr<void>(), &own}; }
};

}  // namespace duckicelake::rest
