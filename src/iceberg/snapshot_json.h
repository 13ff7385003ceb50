// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "iceberg/snapshot.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {

// Spec "Snapshots" and "Snapshot References". A sequence-number or summary that is absent (a
// snapshot from before format version 2) is read as 0 and {}.
void write_snapshot(json::Writer& writer, const Snapshot& snapshot);
Result<Snapshot> read_snapshot(const json::Value& value);
void write_snapshot_ref(json::Writer& writer, const SnapshotRef& ref);
Result<SnapshotRef> read_snapshot_ref(const json::Value& value);

// An object whose values are strings; a null value counts as absent.
void write_string_map(json::Writer& writer, const std::map<std::string, std::string>& map);
Result<std::map<std::string, std::string>> read_string_map(const json::Object& object);

}  // namespace duckicelake::iceberg
