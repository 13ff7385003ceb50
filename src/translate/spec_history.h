// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ducklake/rows.h"
#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"

namespace duckicelake::translate {

// A DuckLake partitioning bound to an Iceberg spec.
struct SpecBinding {
  std::int64_t partition_id = 0;  // ducklake_partition_info.partition_id
  std::int32_t spec_id = 0;
  // Parallel to the spec's fields. Empty when nothing of it can be published (a hidden source, a
  // reset): spec_id is the unpartitioned one then.
  std::vector<ducklake::PartitionColumn> columns;
};

inline constexpr std::int32_t kNoSpec = -1;

// DuckLake's bucket numbers of this DuckLake type are those of Iceberg.
bool hashes_like_iceberg(std::string_view ducklake_type);

struct SpecHistory {
  std::vector<iceberg::PartitionSpec>
      specs;  // append-only: published ids never change their meaning
  std::vector<SpecBinding> bindings;
  // The spec without fields: 0, but in tables that a client created with another one, where kNoSpec
  // says that there is none yet.
  std::int32_t unpartitioned_id = 0;
  std::int32_t last_partition_id = 999;
};

// Extends `known` (what was published before; empty at first) by the partitionings in `infos`,
// oldest first. A spec with equal (source, transform) fields is reused; a partition field id
// belongs to one (source, transform) for ever. Fields that are no Iceberg partition fields are left
// out, and a partitioning of which nothing is left is bound to spec 0: bucket on types whose
// DuckLake hash differs from Iceberg's (uint*, uuid, decimal, timestamp_s/_ms/_ns, floats,
// boolean), a transform that Iceberg does not
// define for the type, and sources that are hidden or lie below a list or map. Names: identity =
// the column's name, else <col>_<transform>, made unique. `ducklake_types` gives the DuckLake type
// of each column id (needed for the bucket rule).
// Partitionings that began up to `seen` and have no spec among the known ones stood for a spec that
// was removed since: they get none again.
Result<SpecHistory> extend_spec_history(SpecHistory known,
                                        std::span<const ducklake::PartitionInfo> infos,
                                        const iceberg::Schema& schema,
                                        std::span<const ducklake::ColumnRow> columns,
                                        SnapshotId seen = SnapshotId(-1));

// Sort orders likewise: order 0 unsorted, then one for each distinct sort; an expression that is
// not a plain column name makes that sort unsorted. Returns the orders and the id of the one live
// now.
struct SortHistory {
  std::vector<iceberg::SortOrder> orders;
  std::int32_t current_order_id = 0;
};
Result<SortHistory> extend_sort_history(SortHistory known,
                                        std::span<const ducklake::SortInfo> infos,
                                        const iceberg::Schema& schema);

}  // namespace duckicelake::translate
