// SPDX-License-Identifier: Apache-2.0
// Feeds bodies of commits and of creations: what can be read is applied to a small table, to a
// table that does not exist yet and to a small view. Whatever is accepted must be metadata that
// reads back as the same.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "iceberg/new_table.h"
#include "iceberg/partition_spec_json.h"
#include "iceberg/requirement.h"
#include "iceberg/schema_json.h"
#include "iceberg/sort_order_json.h"
#include "iceberg/table_update_json.h"
#include "iceberg/update_apply.h"
#include "iceberg/view_update.h"
#include "json/value.h"

namespace iceberg = duckicelake::iceberg;
namespace json = duckicelake::json;

namespace {

constexpr std::string_view kTable =
    R"({"format-version":2,"table-uuid":"fb072c92-a02b-11e9-ae9c-1bb7bc9eca94","location":"s3://b/t",)"
    R"("last-sequence-number":0,"last-updated-ms":1700000000000,"last-column-id":6,)"
    R"("current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[)"
    R"({"id":1,"name":"id","required":true,"type":"long"},)"
    R"({"id":2,"name":"ts","required":false,"type":"timestamptz"},)"
    R"({"id":3,"name":"p","required":false,"type":{"type":"struct","fields":[)"
    R"({"id":4,"name":"x","required":false,"type":"int"}]}},)"
    R"({"id":5,"name":"l","required":false,"type":{"type":"list","element-id":6,)"
    R"("element":"string","element-required":false}}]}],)"
    R"("default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[)"
    R"({"source-id":2,"field-id":1000,"name":"ts_day","transform":"day"}]}],)"
    R"("last-partition-id":1000,"default-sort-order-id":0,)"
    R"("sort-orders":[{"order-id":0,"fields":[]}],"properties":{"a":"b"},)"
    R"("statistics":[{"snapshot-id":1,"statistics-path":"s3://b/s"}]})";

constexpr std::string_view kView =
    R"({"view-uuid":"fa6506c3-7681-40c8-86dc-e36561f83385","format-version":1,"location":"s3://b/v",)"
    R"("schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"n","required":false,)"
    R"("type":"long"}]}],"current-version-id":1,"versions":[{"version-id":1,"timestamp-ms":1,)"
    R"("schema-id":0,"summary":{},"default-namespace":["a"],"representations":[{"type":"sql",)"
    R"("sql":"select 1","dialect":"spark"}]}],"version-log":[{"timestamp-ms":1,"version-id":1}]})";

void check_round_trip(const iceberg::TableMetadata& metadata) {
  auto again = iceberg::metadata_from_json(iceberg::metadata_to_json(metadata));
  DIL_ASSERT(again.has_value() && *again == metadata);
}

void apply_to_table(iceberg::TableMetadata metadata,
                    const std::vector<iceberg::TableUpdate>& updates, bool creates_table) {
  iceberg::ApplyState state;
  state.creates_table = creates_table;
  for (const iceberg::TableUpdate& update : updates) {
    (void)iceberg::action_name(update);
    if (!iceberg::apply_definition_update(metadata, update, state).has_value()) return;
  }
  if (iceberg::check_definitions(metadata).has_value()) check_round_trip(metadata);
}

void commit_to_table(const json::Object& body) {
  static const iceberg::TableMetadata base = iceberg::metadata_from_json(kTable).value();
  if (auto array = body.require_array("requirements"); array.has_value()) {
    if (auto requirements = iceberg::read_requirements(*array); requirements.has_value()) {
      for (const iceberg::Requirement& requirement : *requirements) {
        (void)iceberg::check_requirement(requirement, &base).has_value();
        (void)iceberg::check_requirement(requirement, nullptr).has_value();
      }
    }
  }
  auto array = body.require_array("updates");
  if (!array.has_value()) return;
  auto updates = iceberg::read_table_updates(*array);
  if (!updates.has_value()) return;
  apply_to_table(base, *updates, false);
  apply_to_table(iceberg::TableMetadata{}, *updates, true);
}

void commit_to_view(const json::Object& body) {
  static const iceberg::ViewMetadata base = iceberg::view_metadata_from_json(kView).value();
  if (auto array = body.require_array("requirements"); array.has_value()) {
    if (auto requirements = iceberg::read_view_requirements(*array); requirements.has_value()) {
      for (const iceberg::ViewRequirement& requirement : *requirements) {
        (void)iceberg::check_view_requirement(requirement, &base).has_value();
      }
    }
  }
  auto array = body.require_array("updates");
  if (!array.has_value()) return;
  auto updates = iceberg::read_view_updates(*array);
  if (!updates.has_value()) return;
  auto view = iceberg::apply_view_updates(base, *updates, 2);
  if (!view.has_value()) return;
  auto again = iceberg::view_metadata_from_json(iceberg::view_metadata_to_json(*view));
  DIL_ASSERT(again.has_value() && *again == *view);
}

void create_table(const json::Object& body) {
  auto schema_json = body.require("schema");
  if (!schema_json.has_value()) return;
  auto schema = iceberg::read_schema(*schema_json);
  if (!schema.has_value()) return;
  iceberg::NewTable request;
  request.uuid = "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94";
  request.location = "s3://b/t";
  request.schema = *schema;
  request.format_version = 3;
  if (auto spec_json = body.require("partition-spec"); spec_json.has_value()) {
    auto spec = iceberg::read_partition_spec(*spec_json);
    if (!spec.has_value()) return;
    request.spec = *spec;
  }
  if (auto order_json = body.require("write-order"); order_json.has_value()) {
    auto order = iceberg::read_sort_order(*order_json);
    if (!order.has_value()) return;
    request.order = *order;
  }
  auto metadata = iceberg::new_table_metadata(std::move(request));
  if (metadata.has_value()) check_round_trip(*metadata);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  json::ParseLimits limits;
  limits.max_depth = iceberg::kSchemaJsonDepth;
  auto document = json::Document::parse(text, limits);
  if (!document.has_value()) return 0;
  auto body = document->root_object();
  if (!body.has_value()) return 0;
  commit_to_table(*body);
  commit_to_view(*body);
  create_table(*body);
  return 0;
}
