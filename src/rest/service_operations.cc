// SPDX-License-Identifier: Apache-2.0
// Configuration, health, metrics and the description of the routes.
#include <fmt/format.h>

#include <utility>

#include "json/writer.h"
#include "rest/call.h"
#include "rest/openapi.h"
#include "rest/operations.h"
#include "rest/write_context.h"

namespace duckicelake::rest {
namespace {

net::Response uncached(int status, std::string body) {
  net::Response response = net::make_json_response(status, std::move(body));
  response.add_header("cache-control", "no-store");
  return response;
}

net::Response not_ready(std::string_view reason) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("status", "not-ready");
  json.member("reason", reason);
  json.end_object();
  net::Response response = uncached(503, std::move(body));
  response.add_header("retry-after", "2");
  return response;
}

}  // namespace

std::string config_json(std::string_view catalog_id) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("defaults");
  json.begin_object();
  json.member("warehouse", catalog_id);
  json.end_object();
  json.key("overrides");
  json.begin_object();
  json.member("prefix", net::encode_component(catalog_id));
  json.member("namespace-separator", "%1F");
  json.end_object();
  json.key("endpoints");
  json.begin_array();
  for (const Route& route : routes()) {
    if (route.in_config == InConfig::kYes) {
      json.value(fmt::format("{} {}", method_name(route.method), route.path));
    }
  }
  json.end_array();
  json.member("idempotency-key-lifetime", kIdempotencyKeyLifetime);
  json.end_object();
  return body;
}

Status prepare_config(const Context& context, Call& call) {
  DIL_TRY(std::optional<std::string_view> warehouse, call.parameter("warehouse"));
  if (warehouse && *warehouse != context.own.id) call.wants_warehouse = *warehouse;
  return {};
}

net::Response config_answer(std::shared_ptr<const std::string> body) {
  net::Response response;
  response.add_header("content-type", "application/json");
  response.add_header("cache-control", "private, no-cache");
  response.body.emplace_back(std::move(body));
  return response;
}

Answered get_config(const Context& context, Call& call) {
  if (!call.wants_warehouse.empty()) {
    return make_error(Code::kNoSuchWarehouse, "Warehouse does not exist: {}", call.wants_warehouse);
  }
  return config_answer(context.config_body);
}

Answered get_health(const Context&, Call&) { return uncached(200, R"({"status":"ok"})"); }

Status prepare_readiness(const Context& context, Call& call) {
  if (context.deps.not_ready) {
    if (auto reason = context.deps.not_ready()) call.not_ready = std::move(*reason);
  }
  call.wants_head = call.not_ready.empty();
  return {};
}

std::optional<Answered> peek_readiness(const Context&, Call&, const HeadResult& head) {
  if (!head.has_value()) return not_ready(head.error().message());
  return uncached(200, R"({"status":"ready"})");
}

Answered get_readiness(const Context&, Call& call) { return not_ready(call.not_ready); }

Answered get_metrics(const Context& context, Call&) {
  net::Response response =
      net::make_response(200, "text/plain; version=0.0.4; charset=utf-8", context.deps.metrics());
  response.add_header("cache-control", "no-store");
  return response;
}

Answered get_openapi(const Context& context, Call& call) {
  return uncached(200, openapi_json(context.config.server_version,
                                    base_url(call.request, context.config.urls)));
}

}  // namespace duckicelake::rest
