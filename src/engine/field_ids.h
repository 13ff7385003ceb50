// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Reserved field ids of columns that are not the table's own. The two lineage ids are the same in
// DuckLake and in Iceberg v3 (_row_id, _last_updated_sequence_number); those of delete files are
// not: DuckLake writes the ids of Iceberg's metadata columns _file and _pos.
namespace duckicelake::engine::field_ids {

inline constexpr std::int32_t kSnapshotId = 2147483539;
inline constexpr std::int32_t kRowId = 2147483540;
inline constexpr std::int32_t kIcebergDeletePosition = 2147483545;
inline constexpr std::int32_t kIcebergDeleteFilePath = 2147483546;
inline constexpr std::int32_t kDucklakeDeletePosition = 2147483645;

inline constexpr const char* kSnapshotIdName = "_ducklake_internal_snapshot_id";
inline constexpr const char* kRowIdName = "_ducklake_internal_row_id";
inline constexpr const char* kDeletePositionName = "pos";
inline constexpr const char* kDeleteFilePathName = "file_path";

}  // namespace duckicelake::engine::field_ids
