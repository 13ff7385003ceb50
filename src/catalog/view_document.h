// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "store/names.h"

namespace duckicelake::catalog {

// The Iceberg view metadata (view-spec.md) of a view that DuckDB made: one version with one
// representation in its dialect. `columns` are those that the view's query binds to, possibly none
// when it does not bind; columns of types without an Iceberg form are strings in the schema, for
// the view's SQL decides what is read, not the schema.
std::string view_document(const store::NamespaceRow& ns, const store::ViewRow& view,
                          const std::string& location,
                          const std::vector<DataEngine::ViewColumn>& columns);

}  // namespace duckicelake::catalog
