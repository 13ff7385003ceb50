// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "manifest/manifest.h"
#include "objstore/object_store.h"

namespace duckicelake::catalog {

// The deleted rows of one data file.
struct FileDeletes {
  std::string data_file_path;
  std::vector<std::int64_t> positions;  // ascending, unique, not empty
};

struct DeleteTarget {
  int format_version = 2;
  std::string folder;  // URI ending in '/'
  std::string name;    // unique within the folder; the files' names begin with it
};

// Writes deletes for Iceberg readers and returns a data_file for each, in order, without partition:
// one Parquet file for each data file in version 2 (spec "Position Delete Files"), one Puffin file
// with one deletion vector in version 3 (spec "Deletion Vectors"). All objects are stored when it
// returns.
Result<std::vector<manifest::DataFile>> write_deletes(objstore::ObjectStore& objects,
                                                      DataEngine& engine,
                                                      const DeleteTarget& target,
                                                      std::vector<FileDeletes> deletes);

}  // namespace duckicelake::catalog
