// SPDX-License-Identifier: Apache-2.0
#include "rest/table_requests.h"

#include "iceberg/partition_spec_json.h"
#include "iceberg/schema_json.h"
#include "iceberg/sort_order_json.h"
#include "iceberg/table_update_json.h"
#include "rest/requests.h"

namespace duckicelake::rest {
namespace {

Result<catalog::TableRef> read_identifier(const json::Object& object) {
  catalog::TableRef out;
  DIL_TRY(const json::Value levels, object.require("namespace"));
  DIL_TRY(out.levels, read_levels(levels));
  DIL_TRY(const std::string_view name, object.require_string("name"));
  out.name = name;
  return out;
}

Status read_changes(const json::Object& object, catalog::TableCommit& commit) {
  DIL_TRY(const std::optional<json::Array> requirements, object.optional_array("requirements"));
  if (requirements) {
    DIL_TRY(commit.requirements, iceberg::read_requirements(*requirements));
  }
  DIL_TRY(const std::optional<json::Array> updates, object.optional_array("updates"));
  if (updates) {
    DIL_TRY(commit.updates, iceberg::read_table_updates(*updates));
  }
  return {};
}

}  // namespace

Result<CreateTableBody> read_create_table(std::string_view body, const catalog::Levels& levels) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object object, document.root_object());
  CreateTableBody out;
  out.request.table.levels = levels;
  DIL_TRY(const std::string_view name, object.require_string("name"));
  out.request.table.name = name;
  iceberg::NewTable& definition = out.request.definition;
  DIL_TRY(const std::optional<std::string_view> location, object.optional_string("location"));
  definition.location = location.value_or("");
  DIL_TRY(const json::Value schema, object.require("schema"));
  DIL_TRY(definition.schema, iceberg::read_schema(schema));
  if (const auto spec = object.find("partition-spec"); spec && !spec->is_null()) {
    DIL_TRY(definition.spec, iceberg::read_partition_spec(*spec));
  }
  if (const auto order = object.find("write-order"); order && !order->is_null()) {
    DIL_TRY(definition.order, iceberg::read_sort_order(*order));
  }
  DIL_TRY(definition.properties, read_string_map(object, "properties"));
  DIL_TRY(const std::optional<bool> staged, object.optional_bool("stage-create"));
  out.is_staged = staged.value_or(false);
  return out;
}

Result<catalog::TableCommit> read_commit_table(std::string_view body,
                                               const catalog::TableRef& table) {
  DIL_TRY(const json::Document document, parse_body(body, kMaxCommitBytes));
  DIL_TRY(const json::Object object, document.root_object());
  catalog::TableCommit out;
  out.table = table;
  DIL_TRY(const std::optional<json::Object> named, object.optional_object("identifier"));
  if (named) {
    DIL_TRY(const catalog::TableRef other, read_identifier(*named));
    if (other.levels != table.levels || other.name != table.name) {
      return named->value().error("is not the table of the path");
    }
  }
  DIL_CHECK_OK(read_changes(object, out));
  return out;
}

Result<std::vector<catalog::TableCommit>> read_commit_transaction(std::string_view body) {
  DIL_TRY(const json::Document document, parse_body(body, kMaxCommitBytes));
  DIL_TRY(const json::Object object, document.root_object());
  DIL_TRY(const json::Array changes, object.require_array("table-changes"));
  if (changes.size() > kMaxTransactionTables) {
    return invalid_argument("table-changes: more than {} tables", kMaxTransactionTables);
  }
  std::vector<catalog::TableCommit> out;
  for (const json::Value value : changes) {
    DIL_TRY(const json::Object change, value.as_object());
    DIL_TRY(const json::Object identifier, change.require_object("identifier"));
    catalog::TableCommit commit;
    DIL_TRY(commit.table, read_identifier(identifier));
    DIL_CHECK_OK(read_changes(change, commit));
    out.push_back(std::move(commit));
  }
  return out;
}

Result<catalog::RegisterTableRequest> read_register_table(std::string_view body,
                                                          const catalog::Levels& levels) {
  DIL_TRY(const json::Document document, parse_body(body));
  DIL_TRY(const json::Object object, document.root_object());
  catalog::RegisterTableRequest out;
  out.table.levels = levels;
  DIL_TRY(const std::string_view name, object.require_string("name"));
  out.table.name = name;
  DIL_TRY(const std::string_view location, object.require_string("metadata-location"));
  out.metadata_location = location;
  DIL_TRY(const std::optional<bool> overwrite, object.optional_bool("overwrite"));
  out.overwrites = overwrite.value_or(false);
  return out;
}

}  // namespace duckicelake::rest
