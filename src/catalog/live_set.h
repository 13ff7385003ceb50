// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "manifest/manifest.h"
#include "objstore/object_store.h"

namespace duckicelake::catalog {

// Every file that a snapshot shows. Costs what the table is large: for commits that have to look at
// all of it.
struct LiveSet {
  struct File {
    manifest::ManifestEntry entry;
    manifest::ManifestHeader header;
  };
  std::map<std::string, File> data;                                // by path
  std::map<std::string, std::vector<manifest::DataFile>> deletes;  // by data file
};

// kUnsupported for delete files that do not name their data file.
Result<LiveSet> load_live_set(objstore::ObjectStore& objects,
                              std::span<const manifest::ManifestFile> manifests);

// The rows of a data file that the given delete files take out; ascending, unique.
Result<std::vector<std::int64_t>> load_positions(objstore::ObjectStore& objects, DataEngine& engine,
                                                 const std::string& data_file,
                                                 const std::vector<manifest::DataFile>& files);

}  // namespace duckicelake::catalog
