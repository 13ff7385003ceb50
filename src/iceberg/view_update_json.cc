// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "iceberg/table_update_json.h"
#include "iceberg/view_update.h"

namespace duckicelake::iceberg {
namespace {

template <class Update>
Result<ViewUpdate> as_view_update(Result<Update> update) {
  DIL_TRY(Update value, std::move(update));
  return ViewUpdate(std::move(value));
}

Result<ViewUpdate> read_view_update(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string action, read_action(object));
  if (action == "assign-uuid") return as_view_update(read_assign_uuid(object));
  if (action == "upgrade-format-version") {
    return as_view_update(read_upgrade_format_version(object));
  }
  if (action == "add-schema") return as_view_update(read_add_schema(object));
  if (action == "set-location") return as_view_update(read_set_location(object));
  if (action == "set-properties") return as_view_update(read_set_properties(object));
  if (action == "remove-properties") return as_view_update(read_remove_properties(object));
  if (action == "add-view-version") {
    AddViewVersion update;
    DIL_TRY(json::Value version, object.require("view-version"));
    DIL_TRY(update.version, read_view_version(version));
    return ViewUpdate(std::move(update));
  }
  if (action == "set-current-view-version") {
    DIL_TRY(std::int32_t id, object.require_int32("view-version-id"));
    return ViewUpdate(SetCurrentViewVersion{id});
  }
  return value.error(
      fmt::format("unknown update of a view: \"{}\"",
                  action.size() <= 64 ? action : fmt::format("({} bytes)", action.size())));
}

Result<ViewRequirement> read_view_requirement(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string_view type, object.require_string("type"));
  if (type == "assert-create") return ViewRequirement(AssertCreate{});
  if (type == "assert-view-uuid") {
    DIL_TRY(std::string_view uuid, object.require_string("uuid"));
    return ViewRequirement(AssertViewUuid{std::string(uuid)});
  }
  return value.error(fmt::format("unknown requirement of a view: \"{}\"",
                                 type.size() <= 64 ? type : std::string_view("(a long name)")));
}

}  // namespace

Result<std::vector<ViewUpdate>> read_view_updates(const json::Array& array) {
  if (array.size() > kMaxUpdates) {
    return array.value().error(
        fmt::format("{} updates are over the limit of {}", array.size(), kMaxUpdates));
  }
  std::vector<ViewUpdate> updates;
  updates.reserve(array.size());
  std::size_t definitions = 0;
  for (json::Value item : array) {
    DIL_TRY(ViewUpdate update, read_view_update(item));
    if (std::holds_alternative<AddSchema>(update) ||
        std::holds_alternative<AddViewVersion>(update)) {
      if (++definitions > kMaxDefinitionUpdates) {
        return item.error(
            fmt::format("over {} schemas and versions in one commit", kMaxDefinitionUpdates));
      }
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

Result<std::vector<ViewRequirement>> read_view_requirements(const json::Array& array) {
  if (array.size() > kMaxRequirements) {
    return array.value().error(
        fmt::format("{} requirements are over the limit of {}", array.size(), kMaxRequirements));
  }
  std::vector<ViewRequirement> requirements;
  requirements.reserve(array.size());
  for (json::Value item : array) {
    DIL_TRY(ViewRequirement requirement, read_view_requirement(item));
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

}  // namespace duckicelake::iceberg
