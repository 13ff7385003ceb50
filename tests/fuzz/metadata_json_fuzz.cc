// SPDX-License-Identifier: Apache-2.0
// Feeds documents to the JSON parser and to every Iceberg codec over it. What is read must be
// written in a form that reads back as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "iceberg/table_metadata.h"
#include "json/value.h"

namespace iceberg = duckicelake::iceberg;
namespace json = duckicelake::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto document = json::Document::parse(text)) {
    std::string canonical = document->root().to_text();
    auto again = json::Document::parse(canonical);
    DIL_ASSERT(again.has_value() && again->root().to_text() == canonical);
  }
  if (auto metadata = iceberg::metadata_from_json(text)) {
    std::string written = iceberg::metadata_to_json(*metadata);
    auto again = iceberg::metadata_from_json(written);
    DIL_ASSERT(again.has_value() && iceberg::metadata_to_json(*again) == written);
  }
  if (auto schema = iceberg::schema_from_json(text)) {
    std::string written;
    iceberg::schema_to_json(*schema, written);
    auto again = iceberg::schema_from_json(written);
    DIL_ASSERT(again.has_value() && *again == *schema);
  }
  if (auto spec = iceberg::partition_spec_from_json(text)) {
    std::string written;
    iceberg::partition_spec_to_json(*spec, written);
  }
  if (auto order = iceberg::sort_order_from_json(text)) {
    std::string written;
    iceberg::sort_order_to_json(*order, written);
    DIL_ASSERT(iceberg::sort_order_from_json(written).value() == *order);
  }
  if (auto snapshot = iceberg::snapshot_from_json(text)) {
    std::string written;
    iceberg::snapshot_to_json(*snapshot, written);
    DIL_ASSERT(iceberg::snapshot_from_json(written).value() == *snapshot);
  }
  (void)iceberg::snapshot_ref_from_json(text).has_value();
  return 0;
}
