// SPDX-License-Identifier: Apache-2.0
#include "iceberg/requirement.h"

#include <utility>

#include "iceberg/ascii.h"

namespace duckicelake::iceberg {
namespace {

template <class... Args>
Error failed(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::kCommitFailed,
               "Requirement failed: " + fmt::format(format, std::forward<Args>(args)...));
}

Status check_id(std::string_view what, std::int32_t expected, std::int32_t actual) {
  if (expected == actual) return {};
  return failed("{} changed: expected id {} != {}", what, expected, actual);
}

// How a name of the client's is shown: whole names are useful in a message, megabytes are not.
std::string shown(const std::string& name) {
  return name.size() <= 256 ? name : fmt::format("({} bytes)", name.size());
}

struct Checker {
  const TableMetadata* base;

  Status operator()(const AssertCreate&) const {
    if (base != nullptr) return failed("table already exists");
    return {};
  }
  Status operator()(const AssertTableUuid& required) const {
    if (base == nullptr) return no_table();
    if (lower_ascii(required.uuid) == lower_ascii(base->table_uuid)) return {};
    return failed("UUID does not match: expected {} != {}", base->table_uuid, shown(required.uuid));
  }
  Status operator()(const AssertRefSnapshotId& required) const {
    if (base == nullptr) return no_table();
    auto found = base->refs.find(required.ref);
    if (found == base->refs.end()) {
      if (!required.snapshot_id.has_value()) return {};
      return failed("branch or tag {} is missing, expected {}", shown(required.ref),
                    *required.snapshot_id);
    }
    std::string_view type = found->second.type == RefType::kBranch ? "branch" : "tag";
    if (!required.snapshot_id.has_value()) {
      return failed("{} {} was created concurrently", type, shown(required.ref));
    }
    if (*required.snapshot_id == found->second.snapshot_id) return {};
    return failed("{} {} has changed: expected id {} != {}", type, shown(required.ref),
                  *required.snapshot_id, found->second.snapshot_id);
  }
  // The two "last assigned" ones hold for a table that is not there, as in Iceberg Java.
  Status operator()(const AssertLastAssignedFieldId& required) const {
    if (base == nullptr) return {};
    return check_id("last assigned field id", required.last_assigned_field_id,
                    base->last_column_id);
  }
  Status operator()(const AssertLastAssignedPartitionId& required) const {
    if (base == nullptr) return {};
    return check_id("last assigned partition id", required.last_assigned_partition_id,
                    base->last_partition_id);
  }
  Status operator()(const AssertCurrentSchemaId& required) const {
    if (base == nullptr) return no_table();
    return check_id("current schema", required.current_schema_id, base->current_schema_id);
  }
  Status operator()(const AssertDefaultSpecId& required) const {
    if (base == nullptr) return no_table();
    return check_id("default partition spec", required.default_spec_id, base->default_spec_id);
  }
  Status operator()(const AssertDefaultSortOrderId& required) const {
    if (base == nullptr) return no_table();
    return check_id("default sort order", required.default_sort_order_id,
                    base->default_sort_order_id);
  }

  static Status no_table() { return failed("table does not exist"); }
};

Result<Requirement> read_requirement(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string_view given, object.require_string("type"));
  auto is = [type = lower_ascii(given)](std::string_view known) { return type == known; };
  if (is("assert-create")) return Requirement(AssertCreate{});
  if (is("assert-table-uuid")) {
    DIL_TRY(std::string_view uuid, object.require_string("uuid"));
    return Requirement(AssertTableUuid{std::string(uuid)});
  }
  if (is("assert-ref-snapshot-id")) {
    AssertRefSnapshotId required;
    DIL_TRY(std::string_view ref, object.require_string("ref"));
    required.ref = ref;
    DIL_TRY(required.snapshot_id, object.optional_int64("snapshot-id"));
    return Requirement(std::move(required));
  }
  if (is("assert-last-assigned-field-id")) {
    DIL_TRY(std::int32_t id, object.require_int32("last-assigned-field-id"));
    return Requirement(AssertLastAssignedFieldId{id});
  }
  if (is("assert-current-schema-id")) {
    DIL_TRY(std::int32_t id, object.require_int32("current-schema-id"));
    return Requirement(AssertCurrentSchemaId{id});
  }
  if (is("assert-last-assigned-partition-id")) {
    DIL_TRY(std::int32_t id, object.require_int32("last-assigned-partition-id"));
    return Requirement(AssertLastAssignedPartitionId{id});
  }
  if (is("assert-default-spec-id")) {
    DIL_TRY(std::int32_t id, object.require_int32("default-spec-id"));
    return Requirement(AssertDefaultSpecId{id});
  }
  if (is("assert-default-sort-order-id")) {
    DIL_TRY(std::int32_t id, object.require_int32("default-sort-order-id"));
    return Requirement(AssertDefaultSortOrderId{id});
  }
  return value.error(fmt::format("unknown requirement of a table: \"{}\"",
                                 given.size() <= 64 ? given : std::string_view("(a long name)")));
}

}  // namespace

Result<std::vector<Requirement>> read_requirements(const json::Array& array) {
  if (array.size() > kMaxRequirements) {
    return array.value().error(
        fmt::format("{} requirements are over the limit of {}", array.size(), kMaxRequirements));
  }
  std::vector<Requirement> requirements;
  requirements.reserve(array.size());
  for (json::Value item : array) {
    DIL_TRY(Requirement requirement, read_requirement(item));
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

Status check_requirement(const Requirement& requirement, const TableMetadata* base) {
  return std::visit(Checker{base}, requirement);
}

}  // namespace duckicelake::iceberg
