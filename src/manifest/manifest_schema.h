// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "avro/schema.h"
#include "manifest/partition_column.h"

namespace duckicelake::manifest {

// The Avro schemas that we write, for format versions 2 and 3. The encoders write fields in this
// order.

// Spec "Manifests": manifest_entry with data_file and the partition record r102.
avro::Schema entry_schema(int format_version, std::span<const PartitionColumn> columns);
// Spec "Manifest Lists": manifest_file.
avro::Schema list_schema(int format_version);

}  // namespace duckicelake::manifest
