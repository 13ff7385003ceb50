// SPDX-License-Identifier: Apache-2.0
#include "rest/answers.h"

namespace duckicelake::rest {

net::Response no_content() {
  net::Response response;
  response.status = 204;
  return response;
}

net::Response json_answer(std::string body) {
  net::Response response = net::make_json_response(200, std::move(body));
  response.add_header("cache-control", "private, no-cache");
  return response;
}

net::Response view_answer(const catalog::ViewAnswer& view) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("metadata-location", view.metadata_location);
  json.member_raw("metadata", view.metadata);
  json.end_object();
  return json_answer(std::move(body));
}

void write_levels(json::Writer& json, const catalog::Levels& levels) {
  json.begin_array();
  for (const std::string& level : levels) json.value(level);
  json.end_array();
}

}  // namespace duckicelake::rest
