// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "catalog/authorize.h"
#include "catalog/data_engine.h"
#include "objstore/object_store.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// What the use cases of one catalog work with; all of it outlives them.
struct Backends {
  const store::Lake& lake;
  pg::Pool& pool;
  objstore::ObjectStore& objects;
  DataEngine& engine;
  AuthMode auth_mode;
  std::chrono::milliseconds request_timeout;

  pg::Deadline deadline() const { return pg::deadline_after(request_timeout); }

  // The gate, for use cases that need no proof of it later.
  template <Action A>
  Status check(const Caller& caller, ObjectRef object) const {
    object.catalog_id = lake.catalog_id;
    DIL_TRY(auto allowed, authorized<A>(auth_mode, caller, std::move(object)));
    (void)allowed;
    return {};
  }

  // Whether the gate would allow it; nothing is taken down.
  bool would_allow(const Caller& caller, Action action, const ObjectRef& object) const {
    return authorize(auth_mode, caller, action, object).is_allowed();
  }
};

}  // namespace duckicelake::catalog
