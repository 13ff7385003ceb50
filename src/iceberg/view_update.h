// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/result.h"
#include "iceberg/requirement.h"
#include "iceberg/table_update.h"
#include "iceberg/view_metadata.h"
#include "json/value.h"

namespace duckicelake::iceberg {

struct AddViewVersion {
  ViewVersion version;  // its schema_id may be kLastAdded
  friend bool operator==(const AddViewVersion&, const AddViewVersion&) = default;
};

struct SetCurrentViewVersion {
  std::int32_t version_id = 0;  // or kLastAdded
  friend bool operator==(const SetCurrentViewVersion&, const SetCurrentViewVersion&) = default;
};

// REST OpenAPI "ViewUpdate".
using ViewUpdate =
    std::variant<AssignUuid, UpgradeFormatVersion, AddSchema, SetLocation, SetProperties,
                 RemoveProperties, AddViewVersion, SetCurrentViewVersion>;

struct AssertViewUuid {
  std::string uuid;
  friend bool operator==(const AssertViewUuid&, const AssertViewUuid&) = default;
};

// REST OpenAPI "ViewRequirement", and assert-create for clients that share it with tables.
using ViewRequirement = std::variant<AssertCreate, AssertViewUuid>;

// The "updates" and "requirements" of a commit to a view, with the limits of table_update_json.h
// and requirement.h. kInvalidArgument with the path for unknown ones.
Result<std::vector<ViewUpdate>> read_view_updates(const json::Array& array);
Result<std::vector<ViewRequirement>> read_view_requirements(const json::Array& array);

// kCommitFailed when it does not hold; `base` is nullptr when there is no view of the name.
Status check_view_requirement(const ViewRequirement& requirement, const ViewMetadata* base);

// What one commit carries from update to update. Made from the view before its first update.
struct ViewApplyState {
  ViewApplyState(const ViewMetadata& base, std::int64_t now_ms);

  std::int64_t now_ms = 0;
  std::optional<ViewVersion> previous;  // the current version before the commit
  std::optional<std::int32_t> last_added_schema;
  std::optional<std::int32_t> last_added_version;
  std::unordered_set<std::int32_t> added_versions;
  std::optional<ViewLogEntry> log_entry;
  std::size_t work = 0;
};

// Changes `view` as Iceberg Java's ViewMetadata.Builder does: a schema that the view has keeps its
// id, and so does a version that is the same but for its id and time; others get the next one.
// Codes as apply_definition_update.
Status apply_view_update(ViewMetadata& view, const ViewUpdate& update, ViewApplyState& state);
// Ends a commit: appends the version log, refuses the loss of a dialect unless the property
// "replace.drop-dialect.allowed" is true, keeps "version.history.num-entries" versions (10; never
// fewer than this commit added) and the log since the last one that went.
Status finish_view_updates(ViewMetadata& view, ViewApplyState& state);
// All of it.
Result<ViewMetadata> apply_view_updates(ViewMetadata base, const std::vector<ViewUpdate>& updates,
                                        std::int64_t now_ms);

// A request to create a view.
struct NewView {
  std::string uuid;
  std::string location;
  Schema schema;
  ViewVersion version;
  std::map<std::string, std::string> properties;
  std::int64_t now_ms = 0;
};

// The view with its schema as schema 0 and its version as version 1. The version's time is the
// client's, or now when it gave none (0).
Result<ViewMetadata> new_view_metadata(NewView request);

}  // namespace duckicelake::iceberg
