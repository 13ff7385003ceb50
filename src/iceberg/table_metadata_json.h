// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"

namespace duckicelake::iceberg {

// The parts of table metadata that are kept as JSON text. Each reader checks what clients need to
// read the object back and returns its compact text, unknown members included.

// Spec "Table Statistics". The path and the snapshot id only: enough for documents that exist.
Result<std::string> read_statistics_file(const json::Value& value);
// All required members: for what a client wants to have published.
Result<std::string> read_complete_statistics_file(const json::Value& value);
Result<std::string> read_complete_partition_statistics_file(const json::Value& value);

// Spec "Encryption Keys": key-id, encrypted-key-metadata in base64, encrypted-by-id, properties.
Result<std::string> read_encryption_key(const json::Value& value);

// The id that such a text hangs on. kCorruptData when it is not one of those above.
Result<std::int64_t> statistics_snapshot_id(const std::string& json);
Result<std::string> encryption_key_id(const std::string& json);

}  // namespace duckicelake::iceberg
