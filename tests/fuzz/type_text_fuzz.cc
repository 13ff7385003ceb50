// SPDX-License-Identifier: Apache-2.0
// Feeds "type NUL transform NUL bytes" to the parsers of type and transform texts, and the bytes to
// all that is done with single values.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "iceberg/type.h"
#include "iceberg/value.h"

namespace iceberg = duckicelake::iceberg;

namespace {

void use_value(const iceberg::Type& type, std::string_view bytes) {
  (void)iceberg::widen_bound(type, bytes);
  std::string json = iceberg::value_to_json(type, bytes);
  if (!iceberg::is_valid_value(type, bytes)) return;
  iceberg::ValueBytes lower = iceberg::truncate_lower(type, bytes);
  DIL_ASSERT(iceberg::is_valid_value(type, lower) &&
             iceberg::compare_values(type, lower, bytes) <= 0);
  if (auto upper = iceberg::truncate_upper(type, bytes)) {
    DIL_ASSERT(iceberg::is_valid_value(type, *upper) &&
               iceberg::compare_values(type, *upper, bytes) >= 0);
  }
  if (auto again = iceberg::value_from_json_text(type, json)) {
    DIL_ASSERT(iceberg::value_to_json(type, *again) == json);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto next = [&] {
    std::size_t end = input.find('\0');
    std::string_view piece = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    return piece;
  };
  auto type = iceberg::parse_primitive(next());
  auto transform = iceberg::Transform::parse(next());
  if (transform.has_value()) {
    DIL_ASSERT(iceberg::Transform::parse(transform->to_text()).value() == *transform);
  }
  if (!type.has_value()) return 0;
  DIL_ASSERT(iceberg::parse_primitive(iceberg::primitive_to_text(*type)).value() == *type);
  use_value(*type, input);
  if (auto value = iceberg::value_from_json_text(*type, input)) use_value(*type, *value);
  if (!transform.has_value()) return 0;
  auto result = transform->result_type(*type);
  auto applied = transform->apply(*type, iceberg::ValueBytes(input));
  if (applied.has_value() && applied->has_value()) {
    DIL_ASSERT(result.has_value() && iceberg::is_valid_value(*result, **applied));
  }
  return 0;
}
