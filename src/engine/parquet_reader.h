// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/data_engine.h"
#include "engine/database.h"

namespace duckicelake::engine {

// What a file is called in SQL. `path` names exactly one file: glob characters of a local path are
// escaped, those of an object key are switched off for the whole instance
// (s3_url_compatibility_mode).
struct FileReference {
  std::string uri;   // as the caller knows it; for messages
  std::string path;  // for read_parquet
};

// What may be read. An address of a metadata row must not make the engine call arbitrary servers,
// nor carry the keys to a place they are not for.
struct FileScope {
  bool allows_s3 = false;
  std::string s3_prefix;  // "s3://bucket/"; empty = all of s3://
  bool allows_local = false;
};

// kInvalidArgument for an address outside the scope; the schemes s3a and s3n mean s3.
Result<FileReference> resolve_file(const std::string& uri, const FileScope& scope);

// Options of read_parquet for a single file whose path is data.
inline constexpr const char* kReadOptions = "hive_partitioning := false, union_by_name := false";

Operation reading(const FileReference& file);
Error corrupt(const FileReference& file, std::string_view why);
// The number of rows that the footer gives; kPayloadTooLarge when there are more than `max_rows`.
Result<std::int64_t> check_row_count(Session& session, const FileReference& file,
                                     std::int64_t max_rows);

// The reading duties of the DataEngine port, on a session that is lent to them. A file with
// more than `max_rows` rows is kPayloadTooLarge.
Result<std::vector<catalog::DeletedPosition>> read_position_deletes(Session& session,
                                                                    const FileReference& file,
                                                                    std::int64_t max_rows);
Result<std::vector<catalog::SnapshotRun>> read_row_snapshots(Session& session,
                                                             const FileReference& file,
                                                             std::int64_t max_rows);
Result<std::optional<std::int64_t>> read_min_row_id(Session& session, const FileReference& file);
Result<std::vector<catalog::DataEngine::NamedFieldId>> read_field_ids(Session& session,
                                                                      const FileReference& file);
Result<std::vector<translate::ParquetNode>> read_schema(Session& session,
                                                        const FileReference& file);

}  // namespace duckicelake::engine
