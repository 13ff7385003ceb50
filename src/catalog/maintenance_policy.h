// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/table_view.h"

// Which snapshots and refs of a table are past its own policy: the table properties
// history.expire.max-snapshot-age-ms, .min-snapshots-to-keep and .max-ref-age-ms, and the same of
// each ref (Iceberg spec "Snapshot Retention Policy").
namespace duckicelake::catalog {

struct Expiry {
  struct DroppedRef {
    std::string name;
    std::int64_t snapshot_id = 0;  // where it pointed
  };
  std::vector<DroppedRef> refs;         // never main
  std::vector<std::int64_t> snapshots;  // ascending; never one that a kept ref names
  bool empty() const { return refs.empty() && snapshots.empty(); }
};

// A table that says nothing of ages and numbers of snapshots, neither for itself nor for a ref,
// loses none. kInvalidArgument names a property that is no number.
Result<Expiry> plan_expiry(const ProjectionState& state, std::int64_t now_ms);

}  // namespace duckicelake::catalog
