// SPDX-License-Identifier: Apache-2.0
#include "objstore/s3_errors.h"

#include "objstore/s3_xml.h"

namespace duckicelake::objstore {
namespace {

Error transport_error(const Exchange& e, std::string_view service, std::string cause) {
  switch (e.failure) {
    case Failure::kTimeout:
      return Error(Code::kDeadlineExceeded, fmt::format("{} did not answer in time", service),
                   std::move(cause));
    case Failure::kTooLarge:
      return Error(Code::kPayloadTooLarge, fmt::format("an answer of {} is too large", service),
                   std::move(cause));
    case Failure::kTls:
      return Error(Code::kUnavailable, fmt::format("{} does not prove who it is", service),
                   std::move(cause));
    case Failure::kLocal:
      return Error(Code::kInternal, fmt::format("a request to {} could not be made", service),
                   std::move(cause));
    default:
      return Error(Code::kUnavailable, fmt::format("{} is not reachable", service),
                   std::move(cause));
  }
}

}  // namespace

Error error_of(const Exchange& e, std::string_view key, std::string_view service) {
  std::string where =
      fmt::format("{} {} after {} attempts", e.request.method, e.request.path, e.attempts);
  if (e.failure != Failure::kNone) {
    return transport_error(e, service, fmt::format("{}: {}", where, e.failure_text));
  }
  ServiceError said = parse_error(e.response);
  std::string cause = fmt::format("{}: HTTP {} {}", where, e.status, said.code);
  // What a refusal says can quote keys and signatures; its code is enough.
  if (e.status != 401 && e.status != 403 && !said.message.empty()) {
    cause.append(" (").append(said.message).append(")");
  }
  if (!e.bucket_region.empty()) cause.append(", bucket region ").append(e.bucket_region);

  if (e.status == 404 && said.code == "NoSuchBucket") {
    return Error(Code::kInternal, "the bucket does not exist", std::move(cause));
  }
  switch (e.status) {
    case 404: return Error(Code::kNotFound, fmt::format("no object at '{}'", key), cause);
    case 409:
    case 412:
      return Error(Code::kAlreadyExists, fmt::format("an object exists at '{}'", key), cause);
    case 401:
    case 403:
      return Error(Code::kInternal, fmt::format("{} refused the server's access", service), cause);
    case 416:
      return Error(Code::kInvalidArgument,
                   fmt::format("the byte range begins after the end of '{}'", key), cause);
    case 501: return Error(Code::kUnsupported, fmt::format("{} cannot do this", service), cause);
    default: break;
  }
  if (e.status >= 500 || e.status == 429) {
    return Error(Code::kUnavailable, fmt::format("{} is out of order", service), std::move(cause));
  }
  return Error(Code::kInternal, fmt::format("{} gave an unexpected answer", service),
               std::move(cause));
}

Status put_status(const Exchange& exchange, std::string_view key) {
  if (exchange.is_ok()) return {};
  Error error = error_of(exchange, key);
  if (error.code() == Code::kAlreadyExists && exchange.maybe_applied) {
    return Error(Code::kUnavailable, "the outcome of a write to the object store is unknown",
                 error.cause());
  }
  return error;
}

}  // namespace duckicelake::objstore
