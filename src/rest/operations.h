// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "catalog/head_probe.h"
#include "net/http.h"

namespace duckicelake::rest {

struct Call;
struct Context;

// What the routes do; the table of routes (routes.cc) names them. Each answers one call or fails
// with the error that the caller is to see.
using Answered = Result<net::Response>;
using HeadResult = Result<catalog::HeadProbe::Fresh>;

Answered load_table(const Context& context, Call& call);
Status prepare_load_table(const Context& context, Call& call);
std::optional<Answered> load_cached_table(const Context& context, Call& call,
                                          const HeadResult& head);
Answered check_table(const Context& context, Call& call);
Answered list_tables(const Context& context, Call& call);
Answered list_namespaces(const Context& context, Call& call);
Answered load_namespace(const Context& context, Call& call);
Answered check_namespace(const Context& context, Call& call);
Answered list_views(const Context& context, Call& call);
Answered load_view(const Context& context, Call& call);
Answered check_view(const Context& context, Call& call);

Answered create_catalog(const Context& context, Call& call);
Answered list_catalogs(const Context& context, Call& call);
Answered load_catalog(const Context& context, Call& call);
Answered close_catalog(const Context& context, Call& call);

Answered create_role(const Context& context, Call& call);
Answered list_roles(const Context& context, Call& call);
Answered delete_role(const Context& context, Call& call);
Answered grant_role(const Context& context, Call& call);
Answered revoke_role(const Context& context, Call& call);
Answered list_role_grants(const Context& context, Call& call);
Answered grant_object(const Context& context, Call& call);
Answered revoke_object(const Context& context, Call& call);
Answered list_object_grants(const Context& context, Call& call);
Answered set_static_key(const Context& context, Call& call);
Answered list_static_keys(const Context& context, Call& call);
Answered delete_static_key(const Context& context, Call& call);
Answered list_audit(const Context& context, Call& call);
Answered create_client(const Context& context, Call& call);
Answered list_clients(const Context& context, Call& call);
Answered load_client(const Context& context, Call& call);
Answered update_client(const Context& context, Call& call);
Answered delete_client(const Context& context, Call& call);
Answered rotate_client(const Context& context, Call& call);
Answered issue_token(const Context& context, Call& call);

Answered load_credentials(const Context& context, Call& call);
Answered attach_lake(const Context& context, Call& call);
std::optional<Answered> sign_cached(const Context& context, Call& call, const HeadResult& head);
Answered sign_for_table(const Context& context, Call& call);
Answered sign_anywhere(const Context& context, Call& call);
Answered check_storage(const Context& context, Call& call);

Answered create_namespace(const Context& context, Call& call);
Answered drop_namespace(const Context& context, Call& call);
Answered update_namespace(const Context& context, Call& call);
Answered drop_table(const Context& context, Call& call);
Answered rename_table(const Context& context, Call& call);
Answered unregister_table(const Context& context, Call& call);
Answered report_metrics(const Context& context, Call& call);
Answered list_functions(const Context& context, Call& call);
Answered load_function(const Context& context, Call& call);
Answered create_view(const Context& context, Call& call);
Answered register_view(const Context& context, Call& call);
Answered commit_view(const Context& context, Call& call);
Answered drop_view(const Context& context, Call& call);
Answered rename_view(const Context& context, Call& call);

Answered create_table(const Context& context, Call& call);
Answered commit_table(const Context& context, Call& call);
Answered commit_transaction(const Context& context, Call& call);
Answered register_table(const Context& context, Call& call);

Answered compact_table(const Context& context, Call& call);
Answered expire_table(const Context& context, Call& call);
Answered maintain_catalog(const Context& context, Call& call);

Status prepare_config(const Context& context, Call& call);
Answered get_config(const Context& context, Call& call);
net::Response config_answer(std::shared_ptr<const std::string> body);
Answered get_health(const Context& context, Call& call);
Status prepare_readiness(const Context& context, Call& call);
Answered get_readiness(const Context& context, Call& call);
std::optional<Answered> peek_readiness(const Context& context, Call& call, const HeadResult& head);
Answered get_metrics(const Context& context, Call& call);
Answered get_openapi(const Context& context, Call& call);

// The body of /v1/config for the catalog.
std::string config_json(std::string_view catalog_id);

}  // namespace duckicelake::rest
