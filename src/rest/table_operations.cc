// SPDX-License-Identifier: Apache-2.0
// Operations that create, change or register tables.
#include "rest/answers.h"
#include "rest/call.h"
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

}  // namespace

Answered create_table(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(CreateTableBody body, read_create_table(call.request.body, call.levels));
  if (!body.is_staged) {
    DIL_TRY(const auto table, context.deps.catalog.create_table(write, std::move(body.request)));
    return context.table_answers.respond_fresh(*table);
  }
  // Nothing is made yet, so nothing has a location either.
  DIL_TRY(const std::string metadata,
          context.deps.catalog.stage_table(write, std::move(body.request)));
  std::string text;
  json::Writer json(text);
  json.begin_object();
  json.member_raw("metadata", metadata);
  json.member_raw("config", context.table_answers.config_json());
  json.end_object();
  return json_answer(std::move(text));
}

Answered commit_table(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(catalog::TableCommit commit,
          read_commit_table(call.request.body, {call.levels, call.name}));
  DIL_TRY(const auto table, context.deps.catalog.commit_table(write, std::move(commit)));
  return metadata_answer(*table);
}

Answered commit_transaction(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(std::vector<catalog::TableCommit> commits, read_commit_transaction(call.request.body));
  DIL_CHECK_OK(context.deps.catalog.commit_transaction(write, std::move(commits)));
  return no_content();
}

Answered register_table(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(catalog::RegisterTableRequest request,
          read_register_table(call.request.body, call.levels));
  DIL_TRY(const auto table, context.deps.catalog.register_table(write, std::move(request)));
  return context.table_answers.respond_fresh(*table);
}

}  // namespace duckicelake::rest
