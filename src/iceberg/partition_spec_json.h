// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {

// Spec appendix C, "Partition Specs". An absent spec-id or field-id is read as 0 (left to the
// server). Checked here: transforms are known, names and (non-zero) field ids are unique in the
// spec.
void write_partition_spec(json::Writer& writer, const PartitionSpec& spec);
void write_partition_fields(json::Writer& writer, const PartitionSpec& spec);
Result<PartitionSpec> read_partition_spec(const json::Value& value);

// The one source of a partition or sort field: "source-id", or v3 "source-ids" with one element
// (kUnsupported with more).
Result<FieldId> read_source_id(const json::Object& object);
Result<Transform> read_transform(const json::Object& object);

}  // namespace duckicelake::iceberg
