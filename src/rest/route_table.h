// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/authorize.h"
#include "catalog/head_probe.h"
#include "net/http.h"
#include "rest/path.h"
#include "rest/route.h"

namespace duckicelake::rest {

struct Call;
struct Context;

struct QueryParameter {
  std::string_view name;
  std::string_view json_schema;  // JSON Schema text
  std::string_view description;
};

// Whether /v1/config lists the route: those of the Iceberg specification.
enum class InConfig : bool { kNo, kYes };
// Where `answer` runs.
enum class RunOn : bool { kIoThread, kWorker };

// How the gate is asked before an operation runs. A route that says nothing is closed.
enum class RouteGate : std::uint8_t {
  kClosed,
  kOpen,  // without a token
  kPath,  // about `action` on the names of the path
  kBody,  // the operation asks, for the names are in its body
};

// One operation: everything that routing, /v1/config, /openapi.json and the metrics know about it.
struct Route {
  net::Method method = net::Method::kGet;
  std::string_view path;  // parameters in braces, as the specification spells them
  std::string_view operation_id;
  RouteGate gate = RouteGate::kClosed;
  catalog::Action action = catalog::Action::kChangeAccess;  // of kPath
  bool takes_principal = false;  // a broker may name somebody else in the query
  std::string_view summary;
  std::string_view tag;
  std::span<const QueryParameter> query = {};
  int status = 200;                  // of success
  std::string_view media_type = {};  // of the answer; empty: there is no body
  std::string_view schema = {};      // its name under #/components/schemas; empty: text
  std::string_view request = {};     // schema of the body; empty: there is none
  InConfig in_config = InConfig::kNo;

  RunOn run_on = RunOn::kWorker;
  Result<net::Response> (*answer)(const Context&, Call&) = nullptr;
  // Reads the call's parameters; on the I/O thread, before anything else.
  Status (*prepare)(const Context&, Call&) = nullptr;
  // When set (and the call wants it: Call::wants_head), it runs on the I/O thread once the head of
  // the lake is known; nullopt: `answer` has to work.
  std::optional<Result<net::Response>> (*peek)(const Context&, Call&,
                                               const Result<catalog::HeadProbe::Fresh>&) = nullptr;
};

// All routes; the index is the RouteId.
std::span<const Route> routes();

// The raw values of the parameters of a path.
struct PathParameters {
  std::optional<std::string_view> prefix;
  std::optional<std::string_view> space;  // {namespace}
  std::optional<std::string_view> name;   // {table}, {view} or {function}
};

struct RouteMatch {
  RouteId id = kNoRoute;
  bool is_path_known = false;
  PathParameters parameters;
};
// A GET route answers HEAD too where no route for HEAD exists. id is kNoRoute when the path is
// unknown, or known but not with this method.
RouteMatch match_route(net::Method method, const RawPath& path);
// The methods of the path, for Allow: "GET, HEAD". Pre-condition: the path is known.
std::string allowed_methods(const RawPath& path);
// Those of all paths together.
std::string allowed_methods();

}  // namespace duckicelake::rest
