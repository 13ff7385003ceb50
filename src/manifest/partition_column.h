// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "avro/binary.h"
#include "avro/reader.h"
#include "avro/schema.h"
#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"

namespace duckicelake::manifest {

// One field of the partition record 102, as a spec gives it over a schema.
struct PartitionColumn {
  std::int32_t field_id = 0;
  std::string name;       // as in the spec
  std::string avro_name;  // a valid Avro name, unique among the columns
  iceberg::Type type;
  // True when the type cannot be told, because the source column is gone from the schema: the
  // column is written as null and read as null.
  bool is_lost = false;
};

// In the order of the spec's fields. kInvalidArgument when a transform does not fit its source
// type.
Result<std::vector<PartitionColumn>> partition_columns(const iceberg::Schema& schema,
                                                       const iceberg::PartitionSpec& spec);

// ASCII letters, digits and '_' stay; anything else becomes "_x" and its UTF-16 units in
// hexadecimal, a leading digit gets a '_' before it. As the Java implementation does, but for
// letters beyond ASCII, which it keeps and some Avro readers refuse. Readers go by field ids, not
// by these names.
std::string make_avro_name(std::string_view name);

// The bytes of Avro's fixed that holds a decimal of this precision (1 to 38).
std::size_t decimal_size(std::int32_t precision);

// Adds the Avro type of a column, without its union with null. Fixed types are named after the
// field id: a name may be defined only once, and not all readers follow a reference to a name.
avro::NodeId add_partition_type(avro::Schema& schema, const PartitionColumn& column);

// Appends ["null", T] of one value. kInvalidArgument when the value does not fit the type.
Status append_partition_value(std::string& out, const PartitionColumn& column,
                              const std::optional<iceberg::ValueBytes>& value);

// True when values of this Avro type can be read as the column's type.
bool can_read_partition_value(const avro::Node& node, const PartitionColumn& column);
// Reads one value that is present. A failure is in the decoder.
iceberg::ValueBytes read_partition_value(const avro::Node& node, const PartitionColumn& column,
                                         avro::Decoder& decoder);

}  // namespace duckicelake::manifest
