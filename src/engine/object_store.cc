// SPDX-License-Identifier: Apache-2.0
#include "engine/object_store.h"

#include <string_view>

#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

struct Endpoint {
  std::string host;
  bool uses_tls = true;
};

Result<Endpoint> parse_endpoint(std::string_view url) {
  Endpoint out;
  if (url.starts_with("http://")) {
    out.uses_tls = false;
    url.remove_prefix(7);
  } else if (url.starts_with("https://")) {
    url.remove_prefix(8);
  } else if (!url.empty()) {
    return invalid_argument("the S3 endpoint must begin with http:// or https://");
  }
  while (url.ends_with('/')) url.remove_suffix(1);
  out.host = url;
  return out;
}

}  // namespace

Status configure_object_store(Session& session, const std::optional<S3Config>& s3) {
  const Operation operation{"configuring the object store in the data engine", Code::kInternal};
  for (const char* setting :
       {"SET s3_url_compatibility_mode = true", "SET http_timeout = 15", "SET http_retries = 2",
        "SET httpfs_enable_credential_refresh = false",
        // Of its two HTTP clients one does not ask who the store is unless it is told to.
        "SET enable_server_cert_verification = true",
        "SET enable_curl_server_cert_verification = true"}) {
    DIL_CHECK_OK(session.execute(setting, {}, operation));
  }
  if (!s3) return {};
  if (!s3->ca_file.empty()) {
    DIL_CHECK_OK(
        session.execute("SET ca_cert_file = " + quote_literal(s3->ca_file), {}, operation));
  }
  DIL_TRY(const Endpoint endpoint, parse_endpoint(s3->endpoint));
  std::string sql =
      "CREATE SECRET dil_store (TYPE s3, PROVIDER config, KEY_ID $1, SECRET $2, REGION $3, "
      "URL_STYLE $4, USE_SSL $5";
  std::vector<Parameter> parameters = {s3->access_key, s3->secret_key.reveal(), s3->region,
                                       std::string(s3->path_style ? "path" : "vhost"),
                                       endpoint.uses_tls};
  const auto add = [&](std::string_view name, std::string value) {
    if (value.empty()) return;
    parameters.emplace_back(std::move(value));
    sql += fmt::format(", {} ${}", name, parameters.size());
  };
  add("ENDPOINT", endpoint.host);
  add("SESSION_TOKEN", s3->session_token.reveal());
  add("SCOPE", s3->scope);
  return session.execute(sql + ")", parameters, operation);
}

}  // namespace duckicelake::engine
