// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "objstore/object_store.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// All objects that the published metadata of a table names, itself included: URIs, sorted. Reads
// every manifest list and manifest, so it is for tables whose folders cannot stand for them.
// kPayloadTooLarge when there are more than `limit`.
Result<std::vector<std::string>> load_reachable_files(pg::Pool& pool, pg::Deadline until,
                                                      objstore::ObjectStore& objects,
                                                      const store::Lake& lake, TableId table,
                                                      std::size_t limit);

}  // namespace duckicelake::catalog
