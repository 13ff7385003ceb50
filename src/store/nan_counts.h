// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

// How many NaN each column of a data file has, where its writer did not say: counted by one process
// (catalog/nan_upkeep.h) and kept in the sidecar.
namespace duckicelake::store {

// Takes the session lock of the work on a lake, if no other session holds it.
Result<bool> try_lead_nans(pg::Connection& connection, const Lake& lake);
// Likewise for all shared catalogs of the database.
Result<bool> try_lead_shared_nans(pg::Connection& connection);

struct UncountedFile {
  std::int64_t data_file_id = 0;
  std::string uri;
  std::vector<FieldId> columns;  // of floating point, of which is not known whether they have NaN
};
struct UncountedFiles {
  std::vector<UncountedFile> files;  // ascending by id
  std::int64_t through = -1;         // all files up to this id are done once these are
  bool is_last = true;               // there are no files beyond
};
// Live files after those that are done, looking at `limit` of any kind. Left out are columns
// without counts, as those in lists are, and files whose columns DuckLake finds by name: no field
// id says which they are.
Result<UncountedFiles> load_uncounted_files(pg::Connection& connection, const Lake& lake,
                                            std::int64_t limit);

struct NanCount {
  FieldId column;
  std::int64_t count = 0;
};
// Keeps the counts, sets `contains_nan` in the file's rows where it is not known (they may be
// gone), and moves on to the file. One statement, which locks nothing but rows of the file's own
// statistics.
Status save_nan_counts(pg::Connection& connection, const Lake& lake, std::int64_t data_file_id,
                       std::span<const NanCount> counts);
// Moves on without counting.
Status pass_files(pg::Connection& connection, const Lake& lake, std::int64_t through);

// Of the given files, by their ids.
Result<std::map<std::int64_t, std::vector<NanCount>>> load_nan_counts(
    pg::Connection& connection, const Lake& lake, std::span<const std::int64_t> data_file_ids);

}  // namespace duckicelake::store
