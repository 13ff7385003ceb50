// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "iceberg/table_metadata.h"
#include "iceberg/table_update.h"

namespace duckicelake::iceberg {

// What one commit carries from update to update.
struct ApplyState {
  // The table is made by this commit: metadata began as TableMetadata{} (no uuid, schema or spec),
  // and a format-version among the properties chooses the version.
  bool creates_table = false;
  // What -1 means. Also set when an equal one was there and is used again.
  std::optional<std::int32_t> last_added_schema;
  std::optional<std::int32_t> last_added_spec;
  std::optional<std::int32_t> last_added_order;
  // Comparisons made, in fields: bounds what one hostile commit can cost.
  std::size_t work = 0;
};

// Changes `metadata` as Iceberg Java's TableMetadata.Builder does, so that both sides work out the
// same ids:
// - a schema, spec or order that the table has (ids aside) keeps its id, another gets the next one;
//   last_column_id and last_partition_id only grow;
// - column ids are the client's; a partition field keeps the id that the client gave it unless
//   another field of the table or spec has that id or it is below 1000, then it gets the id of the
//   field with the same source and transform in an earlier spec, or the next one;
// - specs and orders are bound to the schema that is current at that moment.
// Snapshots and refs are not looked at.
//
// kInvalidArgument when the update cannot be applied, kPermissionDenied for properties that belong
// to the server (setting one to the value that it has is no change), kInternal for add-snapshot,
// set-snapshot-ref, remove-snapshots and remove-snapshot-ref, which are the caller's. After an
// error the metadata is half changed and of no use.
Status apply_definition_update(TableMetadata& metadata, const TableUpdate& update,
                               ApplyState& state);

// What must hold once all updates of a commit are applied (in between it need not: a commit may
// drop a column before the spec that uses it): uuid, location, current schema, default spec and
// order are there and fit together. kInvalidArgument otherwise.
Status check_definitions(const TableMetadata& metadata);

// The version that a "format-version" property asks for: 2 or 3. kInvalidArgument otherwise.
Result<int> parse_format_version(std::string_view text);
Status check_format_version(int version);

}  // namespace duckicelake::iceberg
