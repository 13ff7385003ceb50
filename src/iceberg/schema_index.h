// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "iceberg/partition_spec.h"
#include "iceberg/schema.h"

namespace duckicelake::iceberg {

// Look-up tables over one schema for binding specs and sort orders to it. Linear in the schema in
// time and space, whatever its names are. Refers to the schema, which must outlive it unchanged.
class SchemaIndex {
 public:
  explicit SchemaIndex(const Schema& schema);

  struct Entry {
    const Field* field = nullptr;
    bool below_collection = false;  // inside a list or map: no source of a partition or sort field
  };
  // nullptr when absent.
  const Entry* find(FieldId id) const;
  // True when a column other than `source` has the full dotted name.
  bool has_other_column(std::string_view name, FieldId source) const;
  std::size_t size() const { return entries_.size(); }

 private:
  void add(const std::vector<Field>& fields, std::uint64_t prefix_hash, bool is_top,
           bool below_collection);

  const Schema& schema_;
  std::unordered_map<std::int32_t, Entry> entries_;
  // By hash of the full name. The names themselves are not kept: nested ones repeat their prefix,
  // so that their sum can be quadratic in the schema.
  std::unordered_multimap<std::uint64_t, FieldId> by_name_;
};

// kInvalidArgument unless the spec fits the schema: field names are unique, not empty, not reserved
// and not those of other columns; sources are primitive columns outside lists and maps that the
// transform takes. A void field's source may be gone.
Status check_partition_spec(const SchemaIndex& index, const PartitionSpec& spec);
// The sources alone: for a spec that exists, whose names may have been overtaken by new columns.
Status check_partition_sources(const SchemaIndex& index, const PartitionSpec& spec);
// The same for the sources of a sort order.
Status check_sort_order(const SchemaIndex& index, const SortOrder& order);

// kInvalidArgument in Iceberg Java's words when the schema needs a higher format version.
Status check_schema_version(const Schema& schema, int format_version);

}  // namespace duckicelake::iceberg
