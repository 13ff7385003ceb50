// SPDX-License-Identifier: Apache-2.0
#include "iceberg/view_metadata.h"

#include <unordered_set>

#include "base/uuid.h"
#include "iceberg/ascii.h"

namespace duckicelake::iceberg {
const ViewVersion* ViewMetadata::find_version(std::int32_t id) const {
  for (const ViewVersion& version : versions) {
    if (version.version_id == id) return &version;
  }
  return nullptr;
}

const Schema* ViewMetadata::find_schema(std::int32_t id) const {
  for (const Schema& schema : schemas) {
    if (schema.schema_id == id) return &schema;
  }
  return nullptr;
}

Status check_representations(const ViewVersion& version) {
  if (version.representations.empty()) {
    return invalid_argument("Invalid view version: it has no query");
  }
  std::unordered_set<std::string> dialects;
  for (const SqlRepresentation& query : version.representations) {
    std::string dialect = lower_ascii(query.dialect);
    if (dialect.empty()) return invalid_argument("Invalid view version: a dialect is empty");
    if (!dialects.insert(dialect).second) {
      return invalid_argument(
          "Invalid view version: Cannot add multiple queries for dialect {}",
          dialect.size() <= 64 ? dialect : fmt::format("({} bytes)", dialect.size()));
    }
  }
  return {};
}

Status check_view_metadata(const ViewMetadata& view) {
  if (view.format_version != 1) {
    return make_error(Code::kUnsupported, "format-version {} of views is not supported, 1 is",
                      view.format_version);
  }
  if (!Uuid::parse(view.view_uuid).has_value()) return invalid_argument("view-uuid: not a UUID");
  if (view.location.empty()) return invalid_argument("location: empty");
  std::unordered_set<std::int32_t> schemas;
  for (const Schema& schema : view.schemas) {
    if (!schemas.insert(schema.schema_id).second) {
      return invalid_argument("schemas: schema-id {} is used twice", schema.schema_id);
    }
    DIL_CHECK_OK(check_schema(schema));
  }
  std::unordered_set<std::int32_t> versions;
  for (const ViewVersion& version : view.versions) {
    if (!versions.insert(version.version_id).second) {
      return invalid_argument("versions: version-id {} is used twice", version.version_id);
    }
    if (!schemas.contains(version.schema_id)) {
      return invalid_argument("versions: version {} names schema {}, which is not listed",
                              version.version_id, version.schema_id);
    }
    DIL_CHECK_OK(check_representations(version));
  }
  if (!versions.contains(view.current_version_id)) {
    return invalid_argument("current-version-id: version {} is not listed",
                            view.current_version_id);
  }
  return {};
}

}  // namespace duckicelake::iceberg
