// SPDX-License-Identifier: Apache-2.0
// Operations that create, change or register tables.
#include "rest/answers.h"
#include "rest/auth_gate.h"
#include "rest/call.h"
#include "rest/credentials.h"
#include "rest/operations.h"
#include "rest/table_requests.h"
#include "rest/write_context.h"

namespace duckicelake::rest {
namespace {

// LoadTableResult without what depends on the caller, or CommitTableResponse.
net::Response metadata_answer(const catalog::TableAnswer& answer) {
  std::string body;
  body.reserve(answer.metadata->size() + answer.metadata_location.size() + 64);
  json::Writer json(body);
  json.begin_object();
  json.member("metadata-location", answer.metadata_location);
  json.member_raw("metadata", *answer.metadata);
  json.end_object();
  return json_answer(std::move(body));
}

// A table that was made, with the keys to it that the caller asks for. It stands whether there are
// keys or not, so a failure to have them is none of the creation's: clients load the table again.
net::Response answer_fresh(const Context& context, const Call& call, const catalog::TableRef& name,
                           const catalog::TableAnswer& table) {
  if (const auto asked = delegation(call); asked.wants_any()) {
    const auto target = storage_target(call, name, table);
    if (!target) return context.table_answers.respond_fresh(table);
    const auto grant = call.at->storage->grant(call.caller, *target, asked);
    if (grant && grant->kind != catalog::StorageGrant::Kind::kNone) {
      return context.table_answers.respond_fresh_with(table,
                                                      caller_storage(context, call, name, *grant));
    }
  }
  return context.table_answers.respond_fresh(table);
}

}  // namespace

Answered create_table(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(CreateTableBody body, read_create_table(call.request.body, call.levels));
  if (!body.is_staged) {
    const catalog::TableRef name = body.request.table;
    DIL_TRY(const auto table, call.at->api.create_table(write, std::move(body.request)));
    return answer_fresh(context, call, name, *table);
  }
  const catalog::TableRef name = body.request.table;
  // Nothing is made yet, so nothing has a location either.
  DIL_TRY(const std::string metadata, call.at->api.stage_table(write, std::move(body.request)));
  DIL_TRY(const StorageAnswer storage, staged_storage(context, call, name, metadata));
  std::string text;
  json::Writer json(text);
  json.begin_object();
  json.member_raw("metadata", metadata);
  json.member_raw("config", storage.config);
  if (!storage.credentials.empty()) json.member_raw("storage-credentials", storage.credentials);
  json.end_object();
  if (!storage.has_keys) return json_answer(std::move(text));
  net::Response response = net::make_json_response(200, std::move(text));
  response.add_header("cache-control", "private, no-store");
  return response;
}

Answered commit_table(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(catalog::TableCommit commit,
          read_commit_table(call.request.body, {call.levels, call.name}));
  DIL_TRY(const auto table, call.at->api.commit_table(write, std::move(commit)));
  return metadata_answer(*table);
}

Answered commit_transaction(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(std::vector<catalog::TableCommit> commits, read_commit_transaction(call.request.body));
  for (const catalog::TableCommit& commit : commits) {
    DIL_CHECK_OK(permit_names(context, call, catalog::Action::kCommitTable, commit.table));
  }
  DIL_CHECK_OK(call.at->api.commit_transaction(write, std::move(commits)));
  return no_content();
}

Answered register_table(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(catalog::RegisterTableRequest request,
          read_register_table(call.request.body, call.levels));
  const catalog::TableRef name = request.table;
  DIL_TRY(const auto table, call.at->api.register_table(write, std::move(request)));
  return answer_fresh(context, call, name, *table);
}

}  // namespace duckicelake::rest
