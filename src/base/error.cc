// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace duckicelake {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "invalid-argument";
    case Code::kUnauthenticated: return "unauthenticated";
    case Code::kPermissionDenied: return "permission-denied";
    case Code::kNoSuchWarehouse: return "no-such-warehouse";
    case Code::kNoSuchNamespace: return "no-such-namespace";
    case Code::kNoSuchTable: return "no-such-table";
    case Code::kNoSuchView: return "no-such-view";
    case Code::kNoSuchFunction: return "no-such-function";
    case Code::kNotFound: return "not-found";
    case Code::kMethodNotAllowed: return "method-not-allowed";
    case Code::kUnsupported: return "unsupported";
    case Code::kAlreadyExists: return "already-exists";
    case Code::kNamespaceNotEmpty: return "namespace-not-empty";
    case Code::kCommitFailed: return "commit-failed";
    case Code::kPayloadTooLarge: return "payload-too-large";
    case Code::kUnprocessable: return "unprocessable";
    case Code::kTooManyRequests: return "too-many-requests";
    case Code::kHeadersTooLarge: return "headers-too-large";
    case Code::kInternal: return "internal";
    case Code::kCommitStateUnknown: return "commit-state-unknown";
    case Code::kUnavailable: return "unavailable";
    case Code::kDeadlineExceeded: return "deadline-exceeded";
    case Code::kCorruptData: return "corrupt-data";
  }
  return "internal";
}

Error Error::with_context(std::string_view what) && {
  message_.insert(0, ": ").insert(0, what);
  return std::move(*this);
}

std::string Error::to_string() const {
  std::string out(code_name(code_));
  out.append(": ").append(message_);
  if (!cause_.empty()) out.append(" [").append(cause_).append("]");
  return out;
}

}  // namespace duckicelake
