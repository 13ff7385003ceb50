// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/result.h"
#include "iceberg/schema_index.h"
#include "iceberg/table_metadata.h"
#include "iceberg/table_update.h"
#include "iceberg/update_apply.h"

namespace duckicelake::iceberg {

// The part of update_apply.h that changes schemas, specs and orders; see there for the rules.
Status add_schema(TableMetadata& metadata, const AddSchema& update, ApplyState& state);
Status set_current_schema(TableMetadata& metadata, const SetCurrentSchema& update,
                          ApplyState& state);
Status add_partition_spec(TableMetadata& metadata, const AddPartitionSpec& update,
                          ApplyState& state);
Status set_default_spec(TableMetadata& metadata, const SetDefaultSpec& update, ApplyState& state);
Status add_sort_order(TableMetadata& metadata, const AddSortOrder& update, ApplyState& state);
Status set_default_sort_order(TableMetadata& metadata, const SetDefaultSortOrder& update,
                              ApplyState& state);
Status remove_partition_specs(TableMetadata& metadata, const RemovePartitionSpecs& update,
                              ApplyState& state);
Status remove_schemas(TableMetadata& metadata, const RemoveSchemas& update, ApplyState& state);

// nullptr when absent.
const Schema* find_schema(const TableMetadata& metadata, std::int32_t id);
const PartitionSpec* find_spec(const TableMetadata& metadata, std::int32_t id);
const SortOrder* find_order(const TableMetadata& metadata, std::int32_t id);

// Equal in all but schema_id and the order of the identifier fields.
bool is_same_schema(const Schema& a, const Schema& b);
std::size_t count_fields(const Schema& schema);
// Column names that are reserved for the server and that no schema of `known` has for that column.
Status check_column_names(const Schema& schema, const std::vector<Schema>& known);

// Adds to the work of a commit; kInvalidArgument once it has cost more than any honest one does.
Status spend(std::size_t& work, std::size_t units);

// `first`, or one more than the highest id in use. kInvalidArgument when there is none left.
template <class Item>
Result<std::int32_t> next_id(const std::vector<Item>& items, std::int32_t Item::* id,
                             std::int32_t first) {
  for (const Item& item : items) {
    if (item.*id == std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument("there are no ids left for another definition");
    }
    first = std::max(first, item.*id + 1);
  }
  return first;
}

}  // namespace duckicelake::iceberg
