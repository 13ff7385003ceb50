// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {

// Spec appendix C, "Sort Orders". Order 0 has no fields and no other order is empty.
void write_sort_order(json::Writer& writer, const SortOrder& order);
Result<SortOrder> read_sort_order(const json::Value& value);

}  // namespace duckicelake::iceberg
