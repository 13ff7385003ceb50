// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ducklake/rows.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Whether an object or folder (absolute URI) lies below the catalog's DATA_PATH, or beside it where
// only Iceberg's files are.
bool is_in_own_place(const store::Lake& lake, std::string_view uri);

// Where a table's Iceberg files are written; URIs ending in '/'.
struct TablePlaces {
  std::string location;      // of the table, without the '/' at its end, as published
  std::string metadata;      // <table folder>/metadata/: JSON and Avro
  std::string iceberg_only;  // Parquet and Puffin that only Iceberg metadata names
};

// Iceberg-only Parquet and Puffin live beside DATA_PATH, in "<DATA_PATH without
// '/'>-iceberg/<catalog>/<table uuid>/": DuckLake's orphan cleanup removes every such file below
// DATA_PATH that it does not know. kUnsupported when DATA_PATH is the root of the bucket, where
// nothing lies beside it.
Result<TablePlaces> places_of(const store::Lake& lake, const ducklake::TableRow& table);

}  // namespace duckicelake::catalog
