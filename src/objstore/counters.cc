// SPDX-License-Identifier: Apache-2.0
#include "objstore/counters.h"

namespace duckicelake::objstore {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::kGet: return "get";
    case Operation::kPut: return "put";
    case Operation::kHead: return "head";
    case Operation::kDelete: return "delete";
    case Operation::kList: return "list";
    case Operation::kMultipart: return "multipart";
    case Operation::kBucket: return "bucket";
    case Operation::kSts: return "sts";
  }
  return "other";
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "ok";
    case Outcome::kNotFound: return "not_found";
    case Outcome::kConflict: return "conflict";
    case Outcome::kDenied: return "denied";
    case Outcome::kUnavailable: return "unavailable";
    case Outcome::kTimeout: return "timeout";
    case Outcome::kError: return "error";
  }
  return "other";
}

}  // namespace duckicelake::objstore
