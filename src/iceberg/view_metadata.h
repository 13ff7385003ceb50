// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "iceberg/schema.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {

// View spec, "Representations": the query in one SQL dialect. The only type that the spec has.
struct SqlRepresentation {
  std::string sql;
  std::string dialect;
  friend bool operator==(const SqlRepresentation&, const SqlRepresentation&) = default;
};

// View spec, "Versions".
struct ViewVersion {
  std::int32_t version_id = 0;
  std::int64_t timestamp_ms = 0;
  std::int32_t schema_id = 0;
  std::map<std::string, std::string> summary;
  std::optional<std::string> default_catalog;
  std::vector<std::string> default_namespace;
  std::vector<SqlRepresentation> representations;
  friend bool operator==(const ViewVersion&, const ViewVersion&) = default;
};

// View spec, "Version log".
struct ViewLogEntry {
  std::int64_t timestamp_ms = 0;
  std::int32_t version_id = 0;
  friend bool operator==(const ViewLogEntry&, const ViewLogEntry&) = default;
};

// View spec, "View Metadata".
struct ViewMetadata {
  std::string view_uuid;
  int format_version = 1;
  std::string location;
  std::vector<Schema> schemas;
  std::int32_t current_version_id = 0;
  std::vector<ViewVersion> versions;
  std::vector<ViewLogEntry> version_log;
  std::map<std::string, std::string> properties;

  // nullptr when absent. Valid while the metadata stays as it is.
  const ViewVersion* find_version(std::int32_t id) const;
  const Schema* find_schema(std::int32_t id) const;
  friend bool operator==(const ViewMetadata&, const ViewMetadata&) = default;
};

// What readers rely on: format version 1, a uuid and a location, the current version is listed, ids
// are unique, versions name listed schemas and have at most one query for each dialect (in any
// case). kInvalidArgument otherwise, kUnsupported for another format version.
Status check_view_metadata(const ViewMetadata& view);
// At least one query, at most one for each dialect.
Status check_representations(const ViewVersion& version);

// JSON codecs (view spec, appendix A). Absent optional members are omitted; null counts as absent.
std::string view_metadata_to_json(const ViewMetadata& view);
Result<ViewMetadata> view_metadata_from_json(std::string_view json);
void write_view_version(json::Writer& writer, const ViewVersion& version);
// kInvalidArgument for a representation of another type than sql.
Result<ViewVersion> read_view_version(const json::Value& value);

}  // namespace duckicelake::iceberg
