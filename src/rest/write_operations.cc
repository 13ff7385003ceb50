// SPDX-License-Identifier: Apache-2.0
// Operations that change namespaces, views and the names of tables.
#include <algorithm>
#include <utility>

#include "rest/answers.h"
#include "rest/auth_gate.h"
#include "rest/call.h"
#include "rest/operations.h"
#include "rest/requests.h"
#include "rest/write_context.h"

namespace duckicelake::rest {
namespace {

// A view that is well written but makes no sense, such as two queries of one dialect.
constexpr std::string_view kIllegalArgument = "IllegalArgumentException";

catalog::TableRef reference(const Call& call) { return {call.levels, call.name}; }

void write_strings(json::Writer& json, std::string_view name,
                   const std::vector<std::string>& values) {
  json.key(name);
  json.begin_array();
  for (const std::string& value : values) json.value(value);
  json.end_array();
}

// "True" is what Python writes.
Result<bool> parse_flag(const Call& call, std::string_view name) {
  DIL_TRY(const std::optional<std::string_view> given, call.parameter(name));
  if (!given) return false;
  std::string text(*given);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  if (text == "true") return true;
  if (text == "false" || text.empty()) return false;
  return invalid_argument("{} must be true or false", name);
}

}  // namespace

Answered create_namespace(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const CreateNamespaceRequest request, read_create_namespace(call.request.body));
  DIL_CHECK_OK(call.at->api.create_namespace(write, request.levels, request.properties));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("namespace");
  write_levels(json, request.levels);
  json.key("properties");
  json.begin_object();
  for (const auto& [name, value] : request.properties) json.member(name, value);
  json.end_object();
  json.end_object();
  return json_answer(std::move(body));
}

Answered drop_namespace(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_CHECK_OK(call.at->api.drop_namespace(write, call.levels));
  return no_content();
}

Answered update_namespace(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const catalog::PropertiesUpdate update, read_properties_update(call.request.body));
  DIL_TRY(const catalog::PropertiesChange change,
          call.at->api.update_namespace(write, call.levels, update));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  write_strings(json, "updated", change.updated);
  write_strings(json, "removed", change.removed);
  write_strings(json, "missing", change.missing);
  json.end_object();
  return json_answer(std::move(body));
}

Answered drop_table(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const bool is_purged, parse_flag(call, "purgeRequested"));
  DIL_CHECK_OK(call.at->api.drop_table(write, reference(call),
                                       is_purged ? catalog::Purge::kYes : catalog::Purge::kNo));
  return no_content();
}

Answered rename_table(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const RenameRequest request, read_rename(call.request.body));
  DIL_CHECK_OK(permit_names(context, call, catalog::Action::kRenameTable, request.source));
  DIL_CHECK_OK(permit_names(context, call, catalog::Action::kRenameTable, request.destination));
  DIL_CHECK_OK(call.at->api.rename_table(write, request.source, request.destination));
  return no_content();
}

Answered unregister_table(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const catalog::TableNames::LastMetadata last,
          call.at->api.unregister_table(write, reference(call)));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.member("metadata-location", last.metadata_location);
  json.member_raw("metadata", last.metadata);
  json.end_object();
  return json_answer(std::move(body));
}

Answered report_metrics(const Context&, Call& call) {
  DIL_TRY(const std::string report, read_metrics_report(call.request.body));
  DIL_CHECK_OK(call.at->api.report_metrics(call.caller, reference(call), report));
  return no_content();
}

// The namespace must exist; DuckLake's macros are no functions of Iceberg.
Answered list_functions(const Context&, Call& call) {
  DIL_CHECK_OK(call.at->api.load_namespace(call.caller, call.levels));
  return json_answer(R"({"identifiers":[]})");
}

Answered load_function(const Context&, Call& call) {
  DIL_CHECK_OK(call.at->api.load_namespace(call.caller, call.levels));
  return make_error(Code::kNoSuchFunction, "Function does not exist: {}",
                    catalog::display_name(reference(call)));
}

Answered create_view(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const catalog::CreateViewRequest request,
          read_create_view(call.request.body, call.levels));
  call.invalid_type = kIllegalArgument;
  DIL_TRY(const catalog::ViewAnswer view, call.at->api.create_view(write, request));
  return view_answer(view);
}

Answered register_view(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const catalog::RegisterViewRequest request,
          read_register_view(call.request.body, call.levels));
  call.invalid_type = kIllegalArgument;
  DIL_TRY(const catalog::ViewAnswer view, call.at->api.register_view(write, request));
  return view_answer(view);
}

Answered commit_view(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const catalog::CommitViewRequest request,
          read_commit_view(call.request.body, reference(call)));
  call.invalid_type = kIllegalArgument;
  DIL_TRY(const catalog::ViewAnswer view, call.at->api.commit_view(write, request));
  return view_answer(view);
}

Answered drop_view(const Context&, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_CHECK_OK(call.at->api.drop_view(write, reference(call)));
  return no_content();
}

Answered rename_view(const Context& context, Call& call) {
  DIL_TRY(const catalog::WriteContext write, write_context(call));
  DIL_TRY(const RenameRequest request, read_rename(call.request.body));
  DIL_CHECK_OK(permit_names(context, call, catalog::Action::kRenameView, request.source));
  DIL_CHECK_OK(permit_names(context, call, catalog::Action::kRenameView, request.destination));
  DIL_CHECK_OK(call.at->api.rename_view(write, request.source, request.destination));
  return no_content();
}

}  // namespace duckicelake::rest
