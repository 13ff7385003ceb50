// SPDX-License-Identifier: Apache-2.0
#include "iceberg/view_update.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/uuid.h"
#include "iceberg/ascii.h"
#include "iceberg/definition_apply.h"
#include "iceberg/reserved_names.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::string_view kHistorySize = "version.history.num-entries";
constexpr std::string_view kDropDialectAllowed = "replace.drop-dialect.allowed";
constexpr std::size_t kDefaultHistorySize = 10;

// Dialect names joined for a message, and to compare: sorted, lower case.
std::set<std::string> dialects_of(const ViewVersion& version) {
  std::set<std::string> dialects;
  for (const SqlRepresentation& query : version.representations) {
    dialects.insert(lower_ascii(query.dialect));
  }
  return dialects;
}

bool is_same_version(const ViewVersion& a, const ViewVersion& b) {
  return a.schema_id == b.schema_id && a.default_catalog == b.default_catalog &&
         a.default_namespace == b.default_namespace && a.summary == b.summary &&
         a.representations == b.representations;
}

std::size_t size_of(const ViewVersion& version) {
  std::size_t size = 1 + version.summary.size() + version.default_namespace.size();
  for (const SqlRepresentation& query : version.representations) size += 1 + query.sql.size() / 64;
  return size;
}

struct Applier {
  ViewMetadata& view;
  ViewApplyState& state;

  Status operator()(const AssignUuid& update) const {
    DIL_TRY(Uuid uuid, Uuid::parse(update.uuid));
    if (view.view_uuid.empty()) {
      view.view_uuid = uuid.to_string();
      return {};
    }
    auto current = Uuid::parse(view.view_uuid);
    if (current.has_value() && *current == uuid) return {};
    return invalid_argument("Cannot reassign uuid: it is {}", view.view_uuid);
  }
  Status operator()(const UpgradeFormatVersion& update) const {
    if (update.format_version < view.format_version) {
      return invalid_argument("Cannot downgrade v{} view to v{}", view.format_version,
                              update.format_version);
    }
    if (update.format_version == view.format_version) return {};
    return invalid_argument("Unsupported format version: {}", update.format_version);
  }
  Status operator()(const SetLocation& update) const {
    if (update.location.empty()) return invalid_argument("the location is empty");
    view.location = update.location;
    return {};
  }
  Status operator()(const SetProperties& update) const {
    for (const auto& [key, value] : update.updates) {
      auto current = view.properties.find(key);
      if (current != view.properties.end() && current->second == value) continue;
      if (is_server_property(key)) return server_property();
      view.properties[key] = value;
    }
    return {};
  }
  Status operator()(const RemoveProperties& update) const {
    for (const std::string& key : update.removals) {
      if (is_server_property(key)) return server_property();
      view.properties.erase(key);
    }
    return {};
  }
  Status operator()(const AddSchema& update) const {
    DIL_CHECK_OK(check_schema(update.schema));
    DIL_CHECK_OK(check_column_names(update.schema, view.schemas));
    std::size_t size = count_fields(update.schema);
    for (const Schema& schema : view.schemas) {
      if (schema.fields.size() != update.schema.fields.size()) continue;
      DIL_CHECK_OK(spend(state.work, size));
      if (!is_same_schema(schema, update.schema)) continue;
      state.last_added_schema = schema.schema_id;
      return {};
    }
    Schema schema = update.schema;
    DIL_TRY(schema.schema_id, next_id(view.schemas, &Schema::schema_id, 0));
    state.last_added_schema = schema.schema_id;
    view.schemas.push_back(std::move(schema));
    return {};
  }
  Status operator()(const AddViewVersion& update) const {
    ViewVersion version = update.version;
    if (version.schema_id == kLastAdded) {
      if (!state.last_added_schema.has_value()) {
        return invalid_argument("Cannot set last added schema: no schema has been added");
      }
      version.schema_id = *state.last_added_schema;
    }
    if (view.find_schema(version.schema_id) == nullptr) {
      return invalid_argument("Cannot add version with unknown schema: {}", version.schema_id);
    }
    DIL_CHECK_OK(check_representations(version));
    std::size_t size = size_of(version);
    for (const ViewVersion& known : view.versions) {
      DIL_CHECK_OK(spend(state.work, size));
      if (!is_same_version(known, version)) continue;
      state.last_added_version = known.version_id;
      return {};
    }
    // The client's id where it is free and above all others, as in Iceberg Java.
    DIL_TRY(version.version_id,
            next_id(view.versions, &ViewVersion::version_id, std::max(1, version.version_id)));
    state.last_added_version = version.version_id;
    state.added_versions.insert(version.version_id);
    view.versions.push_back(std::move(version));
    return {};
  }
  Status operator()(const SetCurrentViewVersion& update) const {
    std::int32_t id = update.version_id;
    if (id == kLastAdded) {
      if (!state.last_added_version.has_value()) {
        return invalid_argument("Cannot set last version id: no current version id has been set");
      }
      id = *state.last_added_version;
    }
    const ViewVersion* version = view.find_version(id);
    if (version == nullptr) {
      return invalid_argument("Cannot set current version to unknown version: {}", id);
    }
    if (id == view.current_version_id) return {};
    view.current_version_id = id;
    bool is_new = state.added_versions.contains(id);
    state.log_entry = ViewLogEntry{is_new ? version->timestamp_ms : state.now_ms, id};
    return {};
  }

  static Status server_property() {
    return Error(Code::kPermissionDenied,
                 "properties that begin with duckicelake. belong to the "
                 "server");
  }
};

Result<std::size_t> history_size(const ViewMetadata& view) {
  auto found = view.properties.find(std::string(kHistorySize));
  if (found == view.properties.end()) return kDefaultHistorySize;
  const std::string& text = found->second;
  std::int32_t size = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), size);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || size < 1) {
    return invalid_argument("{} must be a positive number", kHistorySize);
  }
  return static_cast<std::size_t>(size);
}

Status check_dialects(const ViewMetadata& view, const ViewVersion& previous) {
  auto allowed = view.properties.find(std::string(kDropDialectAllowed));
  if (allowed != view.properties.end() && lower_ascii(allowed->second) == "true") return {};
  const ViewVersion* current = view.find_version(view.current_version_id);
  std::set<std::string> before = dialects_of(previous);
  std::set<std::string> after = dialects_of(*current);
  if (std::includes(after.begin(), after.end(), before.begin(), before.end())) return {};
  return invalid_argument(
      "Cannot replace view due to loss of view dialects ({}=false):\nPrevious dialects: [{}]\n"
      "New dialects: [{}]",
      kDropDialectAllowed, fmt::join(before, ", "), fmt::join(after, ", "));
}

// Keeps the newest versions and the current one, and the log since the last entry of another.
void trim(ViewMetadata& view, std::size_t keep) {
  if (view.versions.size() <= keep) return;
  std::vector<std::int32_t> ids;
  for (const ViewVersion& version : view.versions) {
    if (version.version_id != view.current_version_id) ids.push_back(version.version_id);
  }
  std::sort(ids.rbegin(), ids.rend());
  ids.resize(keep - 1);
  std::unordered_set<std::int32_t> kept(ids.begin(), ids.end());
  kept.insert(view.current_version_id);
  std::erase_if(view.versions, [&](const ViewVersion& v) { return !kept.contains(v.version_id); });
  auto last_lost =
      std::find_if(view.version_log.rbegin(), view.version_log.rend(),
                   [&](const ViewLogEntry& e) { return !kept.contains(e.version_id); });
  view.version_log.erase(view.version_log.begin(), last_lost.base());
}

}  // namespace

ViewApplyState::ViewApplyState(const ViewMetadata& base, std::int64_t now) : now_ms(now) {
  const ViewVersion* current = base.find_version(base.current_version_id);
  if (current != nullptr) previous = *current;
}

Status check_view_requirement(const ViewRequirement& requirement, const ViewMetadata* base) {
  if (std::holds_alternative<AssertCreate>(requirement)) {
    if (base == nullptr) return {};
    return Error(Code::kCommitFailed, "Requirement failed: view already exists");
  }
  if (base == nullptr) return Error(Code::kCommitFailed, "Requirement failed: view does not exist");
  const std::string& uuid = std::get<AssertViewUuid>(requirement).uuid;
  if (lower_ascii(uuid) == lower_ascii(base->view_uuid)) return {};
  return make_error(
      Code::kCommitFailed, "Requirement failed: view UUID does not match: expected {} != {}",
      base->view_uuid, uuid.size() <= 256 ? uuid : fmt::format("({} bytes)", uuid.size()));
}

Status apply_view_update(ViewMetadata& view, const ViewUpdate& update, ViewApplyState& state) {
  return std::visit(Applier{view, state}, update);
}

Status finish_view_updates(ViewMetadata& view, ViewApplyState& state) {
  if (view.versions.empty()) return invalid_argument("Invalid view: no versions were added");
  if (view.find_version(view.current_version_id) == nullptr) {
    return invalid_argument("Invalid view: no current version was set");
  }
  if (state.log_entry.has_value()) view.version_log.push_back(*state.log_entry);
  state.log_entry.reset();
  if (state.previous.has_value()) DIL_CHECK_OK(check_dialects(view, *state.previous));
  DIL_TRY(std::size_t keep, history_size(view));
  std::size_t added = state.added_versions.size();
  if (!state.added_versions.contains(view.current_version_id)) ++added;
  trim(view, std::max(keep, added));
  return check_view_metadata(view);
}

Result<ViewMetadata> apply_view_updates(ViewMetadata base, const std::vector<ViewUpdate>& updates,
                                        std::int64_t now_ms) {
  ViewApplyState state(base, now_ms);
  for (const ViewUpdate& update : updates) DIL_CHECK_OK(apply_view_update(base, update, state));
  DIL_CHECK_OK(finish_view_updates(base, state));
  return base;
}

Result<ViewMetadata> new_view_metadata(NewView request) {
  ViewMetadata view;
  view.location = std::move(request.location);
  ViewVersion version = std::move(request.version);
  version.version_id = 1;
  version.schema_id = kLastAdded;
  if (version.timestamp_ms == 0) version.timestamp_ms = request.now_ms;
  std::vector<ViewUpdate> updates;
  updates.emplace_back(AssignUuid{std::move(request.uuid)});
  updates.emplace_back(AddSchema{std::move(request.schema), std::nullopt});
  updates.emplace_back(SetProperties{std::move(request.properties)});
  updates.emplace_back(AddViewVersion{std::move(version)});
  updates.emplace_back(SetCurrentViewVersion{kLastAdded});
  return apply_view_updates(std::move(view), updates, request.now_ms);
}

}  // namespace duckicelake::iceberg
