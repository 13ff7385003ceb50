// SPDX-License-Identifier: Apache-2.0
// Parquet footers. What is read must hold together, and fit a schema or not without harm.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parquet/footer.h"
#include "translate/footer_facts.h"

namespace {

using namespace duckicelake;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

iceberg::Schema schema() {
  iceberg::Schema out;
  constexpr iceberg::TypeKind kLast = iceberg::TypeKind::kBinary;
  for (int kind = 0; kind <= static_cast<int>(kLast); ++kind) {
    iceberg::Field field;
    field.id = FieldId(kind + 1);
    field.name = "f";
    field.type = iceberg::Type::primitive(static_cast<iceberg::TypeKind>(kind));
    out.fields.push_back(field);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const iceberg::Schema kSchema = schema();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Result<parquet::Footer> footer = parquet::parse_footer(input);
  if (!footer.has_value()) {
    check(footer.error().code() == Code::kCorruptData);
    return 0;
  }
  for (const parquet::Leaf& leaf : footer->leaves) {
    check(leaf.low.has_value() == leaf.high.has_value());
    check(!leaf.null_count || (*leaf.null_count >= 0 && *leaf.null_count <= leaf.value_count));
    check(leaf.is_repeated || leaf.value_count == footer->row_count);
  }
  for (const auto& [id, facts] : translate::facts_of_footer(*footer, kSchema)) {
    check(facts.low.has_value() == facts.high.has_value());
  }
  return 0;
}
