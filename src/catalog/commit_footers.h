// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "catalog/commit_delta.h"
#include "iceberg/schema.h"
#include "objstore/object_store.h"
#include "translate/footer_facts.h"

namespace duckicelake::catalog {

// Reads the footers of data files that one commit adds, where the client's statistics leave
// something open: a call to the store for a file, two for one with a large footer, none where they
// are exact. What cannot be read (a file that is not there, that is encrypted, damaged, or whose
// footer is too large) stays as the client said it.
class CommitFooters {
 public:
  // A commit that adds more files which need it reads none of them: its time would be the reading,
  // and one unknown file makes the table's bounds unknown anyway. Files of one commit are read
  // kThreads at a time, so that this many take as long as 32 calls to the store.
  static constexpr std::size_t kMaxFiles = 256;
  static constexpr std::size_t kThreads = 8;
  // Columns of all these files together: what is kept of each is some hundred bytes.
  static constexpr std::size_t kMaxColumns = 100'000;
  // The first call reads this much: the footer of a file with a few hundred columns or row groups.
  static constexpr std::size_t kTailBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMaxFooterBytes = std::size_t{8} << 20;
  // Beyond kTailBytes for each, of all files of the commit.
  static constexpr std::size_t kMaxLargeBytes = std::size_t{64} << 20;

  // Both must outlive it.
  CommitFooters(objstore::ObjectStore& objects, const iceberg::Schema& schema)
      : objects_(objects), schema_(schema) {}

  // Also corrects entries that footers contradict. kInvalidArgument: a Parquet file whose size or
  // number of rows is another than its entry says, so that no statistics could be right.
  Status read(SnapshotDelta& delta);

  // nullptr: the footer was not read, or says nothing.
  const translate::FileFacts* find(const std::string& path) const;

 private:
  objstore::ObjectStore& objects_;
  const iceberg::Schema& schema_;
  std::size_t files_ = 0;
  std::size_t large_bytes_ = 0;
  std::unordered_map<std::string, translate::FileFacts> facts_;  // by path
};

}  // namespace duckicelake::catalog
