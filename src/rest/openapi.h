// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace duckicelake::rest {

// The OpenAPI 3.1 document of all routes. `server_url`: the root under which the reader reaches
// them.
std::string openapi_json(std::string_view server_version, std::string_view server_url);

// The members of #/components/schemas, as a JSON object.
std::string_view openapi_schemas();
// More of them, of the routes about access: members without the braces around.
std::string_view openapi_access_schemas();

}  // namespace duckicelake::rest
