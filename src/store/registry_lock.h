// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "store/registry.h"

// What everything that registers catalogs does.
namespace duckicelake::store {

// Until the end of the transaction.
Status lock_registry(pg::Transaction& transaction);
// Pre-condition: the lock is held, and `rows` are all there are. kAlreadyExists says whose the
// schema or the place is.
Status check_place_is_free(std::span<const CatalogRow> rows, const CatalogRow& wanted);

}  // namespace duckicelake::store
