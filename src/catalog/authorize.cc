// SPDX-License-Identifier: Apache-2.0
#include "catalog/authorize.h"

namespace duckicelake::catalog {

Decision authorize(AuthMode mode, const Principal& principal, Action action,
                   const ObjectRef& object) {
  (void)principal;
  (void)action;
  (void)object;
  Decision decision;
  switch (mode) {
    case AuthMode::kOff:
      decision.is_allowed = true;
      decision.reasons.emplace_back("authentication is off");
      break;
  }
  return decision;
}

Error denied(const Decision& decision, const ObjectRef& object) {
  std::string cause;
  for (const std::string& reason : decision.reasons) cause.append(reason).append("; ");
  return Error(Code::kPermissionDenied, "not allowed on \"" + object.name + "\"", std::move(cause));
}

}  // namespace duckicelake::catalog
