// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "iceberg/table_metadata.h"

namespace duckicelake::iceberg {

// A request to create a table: ids are the client's own.
struct NewTable {
  std::string uuid;
  std::string location;
  Schema schema;
  std::optional<PartitionSpec> spec;  // absent: unpartitioned
  std::optional<SortOrder> order;     // absent: unsorted
  std::map<std::string, std::string> properties;
  int format_version = 2;  // unless the properties name another
  std::int64_t now_ms = 0;
};

// What create and stage-create answer, made as Iceberg Java's TableMetadata.newTableMetadata does:
// fresh column ids (fresh_ids.h), spec 0 with field ids from 1000, order 1 or the unsorted 0, all
// sources and identifier fields moved to the new ids. "format-version" among the properties chooses
// the version; it and the other properties that stand for metadata are not kept.
// kInvalidArgument when the parts do not fit, kPermissionDenied for properties of the server.
Result<TableMetadata> new_table_metadata(NewTable request);

}  // namespace duckicelake::iceberg
