// SPDX-License-Identifier: Apache-2.0
#include "iceberg/sort_order_json.h"

#include "iceberg/partition_spec_json.h"
#include "iceberg/table_metadata.h"

namespace duckicelake::iceberg {
namespace {

Result<SortField> read_sort_field(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  SortField field;
  DIL_TRY(field.source_id, read_source_id(object));
  DIL_TRY(field.transform, read_transform(object));
  DIL_TRY(std::string_view direction, object.require_string("direction"));
  if (direction != "asc" && direction != "desc") return value.error("direction is not asc or desc");
  field.direction = direction == "asc" ? SortDirection::kAscending : SortDirection::kDescending;
  DIL_TRY(std::string_view nulls, object.require_string("null-order"));
  if (nulls != "nulls-first" && nulls != "nulls-last") {
    return value.error("null-order is not nulls-first or nulls-last");
  }
  field.null_order = nulls == "nulls-first" ? NullOrder::kNullsFirst : NullOrder::kNullsLast;
  return field;
}

}  // namespace

void write_sort_order(json::Writer& writer, const SortOrder& order) {
  writer.begin_object();
  writer.member("order-id", order.order_id);
  writer.key("fields");
  writer.begin_array();
  for (const SortField& field : order.fields) {
    writer.begin_object();
    writer.member("transform", field.transform.to_text());
    writer.member("source-id", field.source_id.value);
    writer.member("direction", field.direction == SortDirection::kAscending ? "asc" : "desc");
    writer.member("null-order",
                  field.null_order == NullOrder::kNullsFirst ? "nulls-first" : "nulls-last");
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

Result<SortOrder> read_sort_order(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  SortOrder order;
  DIL_TRY(order.order_id, object.require_int32("order-id"));
  DIL_TRY(json::Array fields, object.require_array("fields"));
  for (json::Value item : fields) {
    DIL_TRY(SortField field, read_sort_field(item));
    order.fields.push_back(field);
  }
  if ((order.order_id == 0) != order.fields.empty()) {
    return value.error("order-id 0 is for the order without fields, and only for it");
  }
  return order;
}

void sort_order_to_json(const SortOrder& order, std::string& out) {
  json::Writer writer(out);
  write_sort_order(writer, order);
}

Result<SortOrder> sort_order_from_json(std::string_view json) {
  DIL_TRY(json::Document document, json::Document::parse(json));
  return read_sort_order(document.root());
}

}  // namespace duckicelake::iceberg
