// SPDX-License-Identifier: Apache-2.0
// Operations about catalogs beside the process's own: /v1/catalogs.
#include <limits>

#include "catalog/catalog_admin.h"
#include "json/writer.h"
#include "rest/answers.h"
#include "rest/body.h"
#include "rest/call.h"
#include "rest/operations.h"
#include "rest/paging.h"

namespace duckicelake::rest {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int32_t>::max();

Result<const catalog::CatalogAdmin*> admin_of(const Context& context) {
  if (context.deps.directory == nullptr) {
    return Error(Code::kUnsupported, "there are no catalogs beside this one");
  }
  return &context.deps.directory->admin();
}

Result<catalog::NewCatalog> read_new_catalog(const Call& call) {
  DIL_TRY(const Body body, Body::parse(call.request.body));
  catalog::NewCatalog out;
  DIL_TRY(out.id, body.text("catalog-id"));
  DIL_TRY(out.metadata_schema, body.text("metadata-schema"));
  DIL_TRY(out.data_prefix, body.text("data-prefix"));
  DIL_TRY(out.account, body.optional_text("account-id"));
  DIL_TRY(const std::optional<bool> with_namespace, body.flag("create-default-namespace"));
  out.makes_default_namespace = with_namespace.value_or(true);
  return out;
}

// The members that the answer to a creation has.
void write_place(json::Writer& json, const catalog::CatalogAdmin::Entry& entry) {
  json.member("catalog_id", entry.row.id);
  json.member("metadata_schema", entry.row.metadata_schema);
  json.member("data_prefix", entry.data_prefix);
}

void write_entry(json::Writer& json, const catalog::CatalogAdmin::Entry& entry) {
  json.begin_object();
  write_place(json, entry);
  if (!entry.row.account.empty()) json.member("account_id", entry.row.account);
  json.member("state", entry.row.state == store::CatalogState::kOpen ? "open" : "making");
  json.member("is_default", entry.is_own);
  json.member("is_shared", entry.row.is_shared);
  json.end_object();
}

}  // namespace

Answered create_catalog(const Context& context, Call& call) {
  DIL_TRY(const catalog::CatalogAdmin* admin, admin_of(context));
  DIL_TRY(const catalog::NewCatalog wanted, read_new_catalog(call));
  DIL_TRY(const catalog::CatalogAdmin::Entry made, admin->create(call.caller, wanted));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  write_place(json, made);
  json.end_object();
  return net::make_json_response(201, std::move(body));
}

Answered list_catalogs(const Context& context, Call& call) {
  DIL_TRY(const catalog::CatalogAdmin* admin, admin_of(context));
  DIL_TRY(const Paging paging, parse_paging(call, Listing::kCatalogs, {}));
  DIL_TRY(const catalog::CatalogAdmin::Listing found,
          admin->list(call.caller, paging.page.after, paging.is_paged ? paging.page.limit : kAll));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("catalogs");
  json.begin_array();
  for (const catalog::CatalogAdmin::Entry& entry : found.entries) write_entry(json, entry);
  json.end_array();
  write_next(json, call, Listing::kCatalogs, {}, paging, found.next);
  json.end_object();
  return json_answer(std::move(body));
}

Answered load_catalog(const Context& context, Call& call) {
  DIL_TRY(const catalog::CatalogAdmin* admin, admin_of(context));
  DIL_TRY(const catalog::CatalogAdmin::Entry entry, admin->load(call.caller, call.name));
  std::string body;
  json::Writer json(body);
  write_entry(json, entry);
  return json_answer(std::move(body));
}

Answered close_catalog(const Context& context, Call& call) {
  DIL_TRY(const catalog::CatalogAdmin* admin, admin_of(context));
  DIL_CHECK_OK(admin->close(call.caller, call.name));
  return no_content();
}

}  // namespace duckicelake::rest
