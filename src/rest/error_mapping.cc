// SPDX-License-Identifier: Apache-2.0
#include "rest/error_mapping.h"

#include "json/writer.h"

namespace duckicelake::rest {
namespace {

// Long enough for a PostgreSQL failover to begin, short enough that clients do not give up on us.
constexpr std::string_view kRetryAfterSeconds = "2";

}  // namespace

ErrorKind error_kind(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return {400, "BadRequestException"};
    case Code::kUnauthenticated: return {401, "NotAuthorizedException"};
    case Code::kPermissionDenied: return {403, "ForbiddenException"};
    case Code::kNoSuchWarehouse: return {404, "NoSuchWarehouseException"};
    case Code::kNoSuchNamespace: return {404, "NoSuchNamespaceException"};
    case Code::kNoSuchTable: return {404, "NoSuchTableException"};
    case Code::kNoSuchView: return {404, "NoSuchViewException"};
    case Code::kNoSuchFunction: return {404, "NoSuchFunctionException"};
    case Code::kNotFound: return {404, "NotFoundException"};
    case Code::kMethodNotAllowed: return {405, "MethodNotAllowedException"};
    case Code::kUnsupported: return {406, "UnsupportedOperationException"};
    case Code::kAlreadyExists: return {409, "AlreadyExistsException"};
    case Code::kNamespaceNotEmpty: return {409, "NamespaceNotEmptyException"};
    case Code::kCommitFailed: return {409, "CommitFailedException"};
    case Code::kPayloadTooLarge: return {413, "PayloadTooLargeException"};
    case Code::kUnprocessable: return {422, "UnprocessableEntityException"};
    case Code::kTooManyRequests: return {429, "TooManyRequestsException"};
    case Code::kHeadersTooLarge: return {431, "HeadersTooLargeException"};
    case Code::kInternal: return {500, "InternalServerError"};
    case Code::kCommitStateUnknown: return {500, "CommitStateUnknownException"};
    case Code::kUnavailable: return {503, "ServiceUnavailableException"};
    case Code::kDeadlineExceeded: return {503, "ServiceUnavailableException"};
    case Code::kCorruptData: return {500, "InternalServerError"};
  }
  return {500, "InternalServerError"};
}

net::Response error_response(const Error& error, std::string_view request_id,
                             std::string_view invalid_type) {
  ErrorKind kind = error_kind(error.code());
  if (error.code() == Code::kInvalidArgument && !invalid_type.empty()) kind.type = invalid_type;
  std::string message = error.message();
  if (kind.status == 500) {
    if (message.empty()) message = "internal error";
    message.append(" (request ").append(request_id).push_back(')');
  } else if (message.empty()) {
    message = net::reason_phrase(kind.status);
  }
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("error");
  json.begin_object();
  json.member("message", message);
  json.member("type", kind.type);
  json.member("code", kind.status);
  json.end_object();
  json.end_object();
  net::Response response = net::make_json_response(kind.status, std::move(body));
  response.add_header("cache-control", "no-store");
  if (kind.status == 503 || kind.status == 429) {
    response.add_header("retry-after", std::string(kRetryAfterSeconds));
  }
  return response;
}

}  // namespace duckicelake::rest
