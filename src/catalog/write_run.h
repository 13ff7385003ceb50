// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/write_context.h"
#include "pg/transaction.h"

namespace duckicelake::catalog {

// The parts of a use case that changes the catalog, in their order. Each may be called several
// times, for what others did meanwhile is taken into account by doing it again.
struct Write {
  // Finds out, outside of a transaction, whether it would be refused: so a request that is denied
  // or names what does not exist costs no slot. May be empty.
  std::function<Status(pg::Connection&)> check;
  // Work that needs no connection, like writing objects. May be empty.
  std::function<Status()> prepare;
  // Does it, all checks included, for only here nothing changes any more once a slot is taken.
  // Returns the text of its outcome (store::Outcome).
  std::function<Result<std::string>(pg::Transaction&)> apply;
};

// Runs a write in one transaction, together with the record of its outcome when the request has an
// Idempotency-Key; a repeated request is answered with the first outcome instead. Retries what
// PostgreSQL took back because of a concurrent transaction.
// kCommitStateUnknown: it is not known whether the change happened. With a key that is found out
// first, as far as PostgreSQL can be reached.
Result<std::string> run_write(const Backends& backends, const WriteContext& context,
                              pg::Deadline until, const Write& write);

}  // namespace duckicelake::catalog
