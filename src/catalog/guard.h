// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "catalog/access.h"
#include "catalog/audit.h"
#include "catalog/authenticator.h"

namespace duckicelake::catalog {

// What stands before the use cases: who comes in, and the record of what was decided, for all
// catalogs; and the rules of the process's own. Thread-safe.
class Guard {
 public:
  // `pool` must outlive it.
  Guard(Authenticator::Config who, Audit::Config record, pg::Pool& pool, store::Lake lake,
        Fetch fetch)
      : lake_(std::move(lake)),
        access_(pool, lake_),
        audit_(std::move(record), pool),
        authenticator_(std::move(who), pool, access_, std::move(fetch)) {}

  AccessCache& access() { return access_; }
  Audit& audit() { return audit_; }
  Authenticator& authenticator() { return authenticator_; }
  AuthMode mode() const { return authenticator_.mode(); }

 private:
  const store::Lake lake_;
  AccessCache access_;
  Audit audit_;
  Authenticator authenticator_;
};

}  // namespace duckicelake::catalog
