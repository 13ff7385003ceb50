// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"

namespace duckicelake::iceberg {

// The name that Iceberg Java gives a partition field: "ts" (identity), "ts_day", "id_bucket_16",
// "s_trunc_4", "x_null" (void).
std::string default_partition_name(std::string_view column, const Transform& transform);

// The default name of a field over `source`, or the first of name_2, name_3, … that is free: no
// other field of `taken` has it, and no top-level column has it unless it is the source of an
// identity field. A source that is not in the schema is named "field_<id>".
std::string unique_partition_name(const Schema& schema, const std::vector<PartitionField>& taken,
                                  FieldId source, const Transform& transform);

}  // namespace duckicelake::iceberg
