// SPDX-License-Identifier: Apache-2.0
#include "rest/signer.h"

#include "json/value.h"
#include "json/writer.h"
#include "rest/call.h"
#include "rest/operations.h"
#include "rest/requests.h"

namespace duckicelake::rest {
namespace {

constexpr std::size_t kMaxHeaders = 200;
// Larger ones list objects to remove, and are read by a worker.
constexpr std::size_t kSmallBody = 32 * 1024;

Error no_signing() {
  return Error(Code::kUnsupported, "requests are not signed here: DUCKICELAKE_REMOTE_SIGNING");
}

Answered answer(Result<catalog::SignedRequest> outcome) {
  if (!outcome) return std::move(outcome).error();
  net::Response response = net::make_json_response(200, sign_body(*outcome));
  // "private" would make Java's clients use it again for another range.
  response.add_header("cache-control", "no-store");
  return response;
}

}  // namespace

Result<catalog::SignRequest> read_sign_request(std::string_view body) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object object, document.root_object());
  catalog::SignRequest out;
  DIL_TRY(const std::string_view method, object.require_string("method"));
  DIL_TRY(const std::string_view uri, object.require_string("uri"));
  DIL_TRY(const json::Value region, object.require("region"));
  DIL_TRY([[maybe_unused]] const std::string_view ours, region.as_string());
  out.method = method;
  out.uri = uri;
  DIL_TRY(const std::optional<std::string_view> provider, object.optional_string("provider"));
  if (provider && *provider != "s3") {
    return invalid_argument("provider \"{}\" is not served", *provider);
  }
  DIL_TRY(const json::Value given, object.require("headers"));
  DIL_TRY(const json::Object headers, given.as_object());
  if (headers.size() > kMaxHeaders) return invalid_argument("too many headers");
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const json::Member member = headers.member(i);
    DIL_TRY(const json::Array values, member.value.as_array());
    if (values.size() > kMaxHeaders) return invalid_argument("too many values of a header");
    for (const json::Value& value : values) {
      DIL_TRY(const std::string_view text, value.as_string());
      out.headers.push_back({std::string(member.name), std::string(text)});
    }
  }
  DIL_TRY(const std::optional<std::string_view> content, object.optional_string("body"));
  if (content) out.body = std::string(*content);
  return out;
}

std::string sign_body(const catalog::SignedRequest& signed_request) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  json.member("uri", signed_request.uri);
  json.key("headers");
  json.begin_object();
  for (const sign::Header& header : signed_request.headers) {
    json.key(header.name);
    json.begin_array();
    json.value(header.value);
    json.end_array();
  }
  json.end_object();
  json.end_object();
  return out;
}

std::optional<Answered> sign_cached(const Context&, Call& call, const HeadResult& head) {
  if (call.at->signing == nullptr) return Answered(no_signing());
  if (!head.has_value()) return Answered(head.error());
  if (call.request.body.size() > kSmallBody) return std::nullopt;
  const catalog::TableRef table{call.levels, call.name};
  const std::optional<catalog::TableIds> ids = call.at->api.known_table(table);
  if (!ids) return std::nullopt;
  Result<catalog::SignRequest> request = read_sign_request(call.request.body);
  if (!request) return Answered(std::move(request).error());
  auto outcome =
      call.at->signing->sign_cached(call.caller, {table, ids->table, ids->schema}, *request);
  if (!outcome) return std::nullopt;
  return answer(std::move(*outcome));
}

Answered sign_for_table(const Context&, Call& call) {
  if (call.at->signing == nullptr) return no_signing();
  DIL_TRY(const catalog::SignRequest request, read_sign_request(call.request.body));
  const catalog::TableRef table{call.levels, call.name};
  const Result<catalog::TableIds> found = call.at->api.find_table(table);
  DIL_TRY(const std::optional<std::string_view> staged, call.parameter("staged"));
  if (!found && found.error().code() == Code::kNoSuchTable && staged) {
    return answer(call.at->signing->sign_staged(call.caller, table, *staged, request));
  }
  if (!found) return found.error();
  const catalog::TableIds ids = *found;
  return answer(call.at->signing->sign(call.caller, {table, ids.table, ids.schema}, request));
}

// The route of older clients, which name no table.
Answered sign_anywhere(const Context&, Call& call) {
  if (call.at->signing == nullptr) return no_signing();
  DIL_TRY(const catalog::SignRequest request, read_sign_request(call.request.body));
  return answer(call.at->signing->sign_anywhere(call.caller, request));
}

}  // namespace duckicelake::rest
