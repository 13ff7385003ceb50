// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/name_lookup.h"
#include "catalog/views.h"
#include "json/writer.h"
#include "net/http.h"

// Parts of answers that several routes share.
namespace duckicelake::rest {

net::Response no_content();  // 204
net::Response json_answer(std::string body);
net::Response view_answer(const catalog::ViewAnswer& view);  // LoadViewResult
void write_levels(json::Writer& json, const catalog::Levels& levels);

}  // namespace duckicelake::rest
