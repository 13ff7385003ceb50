// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace duckicelake {

// Kinds of failure. Each maps to one HTTP status and one Iceberg exception name in
// rest/error_mapping.
enum class Code {
  kInvalidArgument,     // 400 BadRequestException: the request is malformed or contradicts itself
  kUnauthenticated,     // 401 NotAuthorizedException
  kPermissionDenied,    // 403 ForbiddenException
  kNoSuchWarehouse,     // 404 NoSuchWarehouseException
  kNoSuchNamespace,     // 404 NoSuchNamespaceException
  kNoSuchTable,         // 404 NoSuchTableException
  kNoSuchView,          // 404 NoSuchViewException
  kNoSuchFunction,      // 404 NoSuchFunctionException
  kNotFound,            // 404 NotFoundException: a route, an object, a snapshot, …
  kMethodNotAllowed,    // 405
  kUnsupported,         // 406 UnsupportedOperationException
  kAlreadyExists,       // 409 AlreadyExistsException
  kNamespaceNotEmpty,   // 409 NamespaceNotEmptyException
  kCommitFailed,        // 409 CommitFailedException: retryable by the client
  kPayloadTooLarge,     // 413
  kUnprocessable,       // 422 UnprocessableEntityException
  kTooManyRequests,     // 429
  kHeadersTooLarge,     // 431
  kInternal,            // 500 InternalServerError
  kCommitStateUnknown,  // 500 CommitStateUnknownException
  kUnavailable,  // 503 ServiceUnavailableException (+ Retry-After): a backend is away, try again
  kDeadlineExceeded,  // 503: a backend did not answer in time
  kCorruptData,       // 500: stored bytes do not parse (not the caller's fault)
};

std::string_view code_name(Code code);

// A failure: what kind, what the caller may read, and what only the log may read.
// Cheap to move; immutable after construction except for added context.
class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Error(Code code, std::string message, std::string cause)
      : code_(code), message_(std::move(message)), cause_(std::move(cause)) {}

  Code code() const { return code_; }
  // Fit for the caller: no secrets, no SQL, no internal host names.
  const std::string& message() const { return message_; }
  // For the log only; may be empty.
  const std::string& cause() const { return cause_; }

  // Prefixes the message; use it only to name something new (a table, a file).
  Error with_context(std::string_view what) &&;
  // Same message for the log, another kind for the caller.
  Error with_code(Code code) && {
    code_ = code;
    return std::move(*this);
  }
  // "<code>: <message> [cause]", for logs and tests.
  std::string to_string() const;

 private:
  Code code_;
  std::string message_;
  std::string cause_;
};

}  // namespace duckicelake
