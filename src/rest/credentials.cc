// SPDX-License-Identifier: Apache-2.0
#include "rest/credentials.h"

#include "json/value.h"
#include "rest/call.h"
#include "rest/operations.h"

namespace duckicelake::rest {
namespace {

std::string gateway_url(const Call& call) {
  const auto& gateway = call.at->storage->gateway();
  return gateway ? gateway->url() : std::string();
}

}  // namespace

catalog::DelegationRequest delegation(const Call& call) {
  if (call.at->storage == nullptr) return {};
  return delegation_of(call.request);
}

std::optional<catalog::StorageTarget> known_target(const Call& call) {
  const auto ids = call.at->api.known_table(call.load.table);
  if (!ids || ids->table != call.found->table_id) return std::nullopt;
  return catalog::StorageTarget{call.load.table, *ids, call.found->metadata_location};
}

Result<catalog::StorageTarget> storage_target(const Call& call, const catalog::TableRef& table,
                                              const catalog::TableAnswer& answer) {
  DIL_TRY(const catalog::TableIds ids, call.at->api.find_table(table));
  if (ids.table != answer.table_id) {
    return make_error(Code::kNoSuchTable, "Table does not exist any more: {}",
                      catalog::display_name(table));
  }
  return catalog::StorageTarget{table, ids, answer.metadata_location};
}

StorageAnswer caller_storage(const Context& context, const Call& call,
                             const catalog::TableRef& table, const catalog::StorageGrant& grant) {
  return storage_answer(context.config.storage, call.at->id, grant, table,
                        base_url(call.request, context.config.urls), gateway_url(call));
}

Result<StorageAnswer> staged_storage(const Context& context, const Call& call,
                                     const catalog::TableRef& table, const std::string& metadata) {
  const catalog::DelegationRequest asked = delegation(call);
  if (!asked.wants_any()) {
    StorageAnswer out;
    out.config = context.table_answers.config_json();
    return out;
  }
  DIL_TRY(const json::Document document, json::Document::parse(metadata));
  DIL_TRY(const json::Object object, document.root_object());
  DIL_TRY(const std::string_view uuid, object.require_string("table-uuid"));
  DIL_TRY(const std::string_view location, object.require_string("location"));
  DIL_TRY(const catalog::StorageGrant grant,
          call.at->storage->grant_staged(call.caller, table, std::string(uuid),
                                         std::string(location), asked));
  return caller_storage(context, call, table, grant);
}

// Keys by themselves, for clients whose own are about to end.
Answered load_credentials(const Context& context, Call& call) {
  catalog::DelegationRequest asked;
  asked.wants_keys = true;
  call.load.table = {call.levels, call.name};
  DIL_TRY(call.found, call.at->api.load_table(call.caller, call.load));
  catalog::StorageGrant grant;
  if (call.at->storage != nullptr) {
    DIL_TRY(const catalog::StorageTarget target,
            storage_target(call, call.load.table, *call.found));
    DIL_TRY(grant, call.at->storage->grant(call.caller, target, asked));
  }
  if (!grant.keys) {
    return Error(Code::kUnsupported, "there are no keys to be had for this table");
  }
  net::Response response = net::make_json_response(
      200, credentials_body(context.config.storage, grant, gateway_url(call)));
  response.add_header("cache-control", "private, no-store");
  return response;
}

// For administrators: what keys open on the store that is configured.
Answered check_storage(const Context& context, Call&) {
  if (!context.deps.prove_storage) {
    return Error(Code::kUnsupported, "there is nothing that could be proved");
  }
  DIL_TRY(std::string proof, context.deps.prove_storage());
  net::Response response = net::make_json_response(200, std::move(proof));
  response.add_header("cache-control", "no-store");
  return response;
}

}  // namespace duckicelake::rest
