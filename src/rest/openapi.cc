// SPDX-License-Identifier: Apache-2.0
#include "rest/openapi.h"

#include <fmt/format.h>

#include <vector>

#include "json/writer.h"
#include "rest/error_mapping.h"
#include "rest/route_table.h"

namespace duckicelake::rest {
namespace {

struct PathParameter {
  std::string_view name;
  std::string_view description;
};
constexpr PathParameter kPathParameters[] = {
    {"prefix", "The catalog, as /v1/config names it in overrides.prefix."},
    {"namespace", "The levels of the namespace, joined by the unit separator 0x1F (%1F)."},
    {"table", "The name of the table."},
    {"view", "The name of the view."},
    {"function", "The name of the function."},
    {"role", "The name of the role."},
    {"principal", "The principal."},
    {"client", "The id of the client."},
    {"catalog", "The id of the catalog."},
};

std::string_view verb(net::Method method) {
  switch (method) {
    case net::Method::kGet: return "get";
    case net::Method::kHead: return "head";
    case net::Method::kPost: return "post";
    case net::Method::kPut: return "put";
    case net::Method::kDelete: return "delete";
    default: return "patch";
  }
}

// Reports change nothing that a repetition could do twice.
bool is_write(const Route& route) {
  return route.method != net::Method::kGet && route.method != net::Method::kHead &&
         route.operation_id != "reportMetrics";
}

// Upkeep: may be repeated as it is, and its body is optional.
bool is_upkeep(const Route& route) {
  return route.tag == "Maintenance" || route.operation_id == "rotateClient";
}

bool is_form(const Route& route) { return route.operation_id == "getToken"; }

void write_path_parameters(json::Writer& json, std::string_view path) {
  for (const PathParameter& parameter : kPathParameters) {
    if (path.find(fmt::format("{{{}}}", parameter.name)) == std::string_view::npos) continue;
    json.begin_object();
    json.member("name", parameter.name);
    json.member("in", "path");
    json.member("required", true);
    json.member("description", parameter.description);
    json.member_raw("schema", R"({"type":"string","minLength":1})");
    json.end_object();
  }
}

void write_query_parameters(json::Writer& json, const Route& route) {
  for (const QueryParameter& parameter : route.query) {
    json.begin_object();
    json.member("name", parameter.name);
    json.member("in", "query");
    json.member("required", false);
    json.member("description", parameter.description);
    json.member_raw("schema", parameter.json_schema);
    json.end_object();
  }
}

void write_header_parameters(json::Writer& json, const Route& route) {
  const auto write = [&](std::string_view header, std::string_view schema) {
    json.begin_object();
    json.member("name", header);
    json.member("in", "header");
    json.member("required", false);
    json.member_raw("schema", schema);
    json.end_object();
  };
  if (route.operation_id == "loadTable") {
    write("If-None-Match", R"({"type":"string"})");
    write("X-Iceberg-Access-Delegation", R"({"type":"string"})");
  }
  if (is_write(route) && !is_upkeep(route) && !is_form(route))
    write("Idempotency-Key", R"({"type":"string","format":"uuid"})");
}

void write_request_body(json::Writer& json, const Route& route) {
  if (route.request.empty()) return;
  json.key("requestBody");
  json.begin_object();
  json.member("required", !is_upkeep(route));
  json.key("content");
  json.begin_object();
  json.key(is_form(route) ? "application/x-www-form-urlencoded" : "application/json");
  json.begin_object();
  json.member_raw("schema", fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", route.request));
  json.end_object();
  json.end_object();
  json.end_object();
}

void write_success(json::Writer& json, const Route& route) {
  json.key(std::to_string(route.status));
  json.begin_object();
  json.member("description", route.status == 204 ? "Done, or yes" : "OK");
  if (!route.media_type.empty()) {
    json.key("content");
    json.begin_object();
    json.key(route.media_type);
    json.begin_object();
    json.member_raw("schema",
                    route.schema.empty()
                        ? std::string(R"({"type":"string"})")
                        : fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", route.schema));
    json.end_object();
    json.end_object();
  }
  if (route.operation_id == "loadTable") {
    json.member_raw("headers", R"({"ETag":{"schema":{"type":"string"}}})");
  }
  json.end_object();
  if (route.operation_id == "loadTable") {
    json.member_raw(
        "304", R"({"description":"The table has not changed since the tag in If-None-Match"})");
  }
}

void write_errors(json::Writer& json, const Route& route) {
  const auto refer = [&](std::string_view status, std::string_view name) {
    json.member_raw(status, fmt::format(R"({{"$ref":"#/components/responses/{}"}})", name));
  };
  if (route.path == "/readyz") {
    json.member_raw("503", R"({"description":"Not ready","content":{"application/json":{"schema":)"
                           R"({"$ref":"#/components/schemas/Health"}}}})");
    return;
  }
  if (!route.path.starts_with("/v1/")) return;
  if (is_form(route)) {
    for (const std::string_view status : {"400", "401", "429", "503", "default"}) {
      refer(status, "OAuthError");
    }
    refer("501", "NoTokens");
    return;
  }
  refer("400", "BadRequest");
  if (route.gate != RouteGate::kOpen) {
    refer("401", "NotAuthenticated");
    refer("403", "Forbidden");
    refer("419", "NotAuthenticated");
  }
  refer("404", "NotFound");
  if (route.operation_id == "loadTable") refer("406", "NotSupported");
  if (is_write(route)) refer("409", "Conflict");
  if (is_write(route)) refer("422", "Unprocessable");
  refer("500", "ServerError");
  refer("503", "Unavailable");
  refer("default", "Error");
}

void write_operation(json::Writer& json, const Route& route) {
  json.key(verb(route.method));
  json.begin_object();
  json.member("operationId", route.operation_id);
  json.member("summary", route.summary);
  json.key("tags");
  json.begin_array();
  json.value(route.tag);
  json.end_array();
  if (route.gate == RouteGate::kOpen) json.member_raw("security", "[]");
  json.key("parameters");
  json.begin_array();
  write_path_parameters(json, route.path);
  write_query_parameters(json, route);
  write_header_parameters(json, route);
  json.end_array();
  write_request_body(json, route);
  json.key("responses");
  json.begin_object();
  write_success(json, route);
  write_errors(json, route);
  json.end_object();
  json.end_object();
}

void write_paths(json::Writer& json) {
  std::vector<std::string_view> done;
  json.begin_object();
  for (const Route& first : routes()) {
    if (std::find(done.begin(), done.end(), first.path) != done.end()) continue;
    done.push_back(first.path);
    json.key(first.path);
    json.begin_object();
    for (const Route& route : routes()) {
      if (route.path == first.path) write_operation(json, route);
    }
    json.end_object();
  }
  json.end_object();
}

void write_error_responses(json::Writer& json) {
  struct Named {
    std::string_view name;
    std::string_view description;
  };
  constexpr Named kNamed[] = {
      {"BadRequest", "The request is malformed or contradicts itself"},
      {"NotAuthenticated",
       "There is no bearer token, or it is none that counts (401), or it has expired (419)"},
      {"Forbidden", "The token does not allow it"},
      {"NotFound", "The warehouse, namespace, table, view, function or route does not exist"},
      {"Conflict",
       "The name is taken, the namespace is not empty, or another commit came first: read the "
       "object again and retry"},
      {"Unprocessable",
       "The request contradicts itself, or its Idempotency-Key stands for another request"},
      {"NotSupported", "The table cannot be shown to Iceberg clients; the message says why"},
      {"ServerError", "A fault of the server; the message names the request"},
      {"Unavailable", "The database or the object store is away, or the server is busy: try again"},
      {"NoTokens", "Authentication is off: nobody needs a token, and there are none"},
      {"Error", "Any other error"},
  };
  json.begin_object();
  for (const Named& named : kNamed) {
    json.key(named.name);
    json.begin_object();
    json.member("description", named.description);
    if (named.name == "Unavailable") {
      json.member_raw("headers",
                      R"({"Retry-After":{"description":"Seconds","schema":{"type":"integer"}}})");
    }
    json.member_raw("content", R"({"application/json":{"schema":)"
                               R"({"$ref":"#/components/schemas/IcebergErrorResponse"}}})");
    json.end_object();
  }
  json.member_raw("OAuthError",
                  R"({"description":"No token","content":{"application/json":{"schema":)"
                  R"({"$ref":"#/components/schemas/OAuthError"}}}})");
  json.end_object();
}

}  // namespace

std::string openapi_json(std::string_view server_version, std::string_view server_url) {
  std::string out;
  out.reserve(32 * 1024);
  json::Writer json(out);
  json.begin_object();
  json.member("openapi", "3.1.0");
  json.key("info");
  json.begin_object();
  json.member("title", "duckicelake");
  json.member(
      "description",
      "An Apache Iceberg REST catalog over DuckLake. Routes below /v1 follow the Iceberg REST "
      "specification.");
  json.member("version", server_version);
  json.member_raw(
      "license",
      R"({"name":"Apache-2.0","url":"https://www.apache.org/licenses/LICENSE-2.0.html"})");
  json.end_object();
  json.key("servers");
  json.begin_array();
  json.begin_object();
  json.member("url", server_url);
  json.end_object();
  json.end_array();
  // Where authentication is off, no route asks for a token.
  json.member_raw("security", R"([{"Bearer":[]},{"OAuth2":[]},{}])");
  json.key("paths");
  write_paths(json);
  json.key("components");
  json.begin_object();
  json.key("responses");
  write_error_responses(json);
  std::string schemas(openapi_schemas());
  schemas.resize(schemas.rfind('}'));
  json.member_raw("schemas", schemas.append(",").append(openapi_access_schemas()).append("}"));
  json.member_raw("securitySchemes", R"({"Bearer":{"type":"http","scheme":"bearer"},)"
                                     R"("OAuth2":{"type":"oauth2","flows":{"clientCredentials":)"
                                     R"({"tokenUrl":"/v1/oauth/tokens","scopes":{}}}}})");
  json.end_object();
  json.end_object();
  return out;
}

}  // namespace duckicelake::rest
