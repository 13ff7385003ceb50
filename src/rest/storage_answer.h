// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "catalog/vend.h"
#include "net/http.h"
#include "rest/handler.h"

namespace duckicelake::rest {

// What X-Iceberg-Access-Delegation asks for: a list, in any case, perhaps on several lines. Words
// that are not known ask for nothing.
catalog::DelegationRequest delegation_of(const net::Request& request);

// "v1/lake/namespaces/a%1Fb/tables/t": the path of a table below the server's root, encoded.
std::string table_path(std::string_view catalog_id, const catalog::TableRef& table);

// How clients reach the bytes of one table: what a grant makes of the deployment's settings.
// `gateway_url` is that of the gateway, if there is one.
struct StorageAnswer {
  std::string config;       // a JSON object of strings
  std::string credentials;  // a JSON array; empty: the member is left out (case A-24)
  bool has_keys = false;
  std::string mark;  // differs whenever the rest does, without giving keys away; part of ETags
};
StorageAnswer storage_answer(const StorageSettings& storage, std::string_view catalog_id,
                             const catalog::StorageGrant& grant, const catalog::TableRef& table,
                             const std::string& server_url, const std::string& gateway_url);

// "2026-11-30T03:31:03Z"
std::string iso_time(std::chrono::sys_seconds time);

// LoadCredentialsResponse. One entry, for the folder that holds all that the keys are for: clients
// that refresh keys take one.
std::string credentials_body(const StorageSettings& storage, const catalog::StorageGrant& grant,
                             const std::string& gateway_url);

}  // namespace duckicelake::rest
