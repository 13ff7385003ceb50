// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "iceberg/requirement.h"
#include "iceberg/table_metadata.h"
#include "iceberg/table_update_json.h"
#include "iceberg/update_apply.h"
#include "iceberg/view_update.h"
#include "json/value.h"

namespace duckicelake::iceberg {

template <class T>
Result<T> read_json(std::string_view json, Result<T> (*read)(const json::Array&)) {
  json::ParseLimits limits;
  limits.max_depth = 256;
  DIL_TRY(json::Document document, json::Document::parse(json, limits));
  DIL_TRY(json::Array array, document.root().as_array());
  return read(array);
}

inline Result<std::vector<TableUpdate>> updates_of(std::string_view json) {
  return read_json(json, read_table_updates);
}
inline Result<std::vector<Requirement>> requirements_of(std::string_view json) {
  return read_json(json, read_requirements);
}
inline Result<std::vector<ViewUpdate>> view_updates_of(std::string_view json) {
  return read_json(json, read_view_updates);
}

// Reads, applies and checks as a commit does.
inline Result<TableMetadata> commit(TableMetadata metadata, std::string_view updates,
                                    ApplyState state = {}) {
  DIL_TRY(auto list, updates_of(updates));
  for (const TableUpdate& update : list) {
    DIL_CHECK_OK(apply_definition_update(metadata, update, state));
  }
  DIL_CHECK_OK(check_definitions(metadata));
  return metadata;
}

// Columns 1 id long required, 2 ts timestamptz, 3 name string, 4 point {5 x double, 6 day date},
// 7 tags list<8 string>; schema 0, spec 0 unpartitioned, spec 1 (current) day(ts) as 1000 and
// bucket[4](id) as 1001, orders 0 and 1 (current, by id).
inline constexpr std::string_view kBaseTable = R"({
 "format-version":2,"table-uuid":"fb072c92-a02b-11e9-ae9c-1bb7bc9eca94","location":"s3://b/t",
 "last-sequence-number":0,"last-updated-ms":1700000000000,"last-column-id":8,
 "current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[
  {"id":1,"name":"id","required":true,"type":"long"},
  {"id":2,"name":"ts","required":false,"type":"timestamptz"},
  {"id":3,"name":"name","required":false,"type":"string"},
  {"id":4,"name":"point","required":false,"type":{"type":"struct","fields":[
   {"id":5,"name":"x","required":false,"type":"double"},
   {"id":6,"name":"day","required":false,"type":"date"}]}},
  {"id":7,"name":"tags","required":false,"type":
   {"type":"list","element-id":8,"element":"string","element-required":false}}]}],
 "default-spec-id":1,"partition-specs":[{"spec-id":0,"fields":[]},{"spec-id":1,"fields":[
  {"source-id":2,"field-id":1000,"name":"ts_day","transform":"day"},
  {"source-id":1,"field-id":1001,"name":"id_bucket","transform":"bucket[4]"}]}],
 "last-partition-id":1001,"default-sort-order-id":1,"sort-orders":[{"order-id":0,"fields":[]},
  {"order-id":1,"fields":[{"transform":"identity","source-id":1,"direction":"asc",
   "null-order":"nulls-first"}]}],
 "properties":{"owner":"ann","duckicelake.kind":"lake"}})";

inline TableMetadata base_table() {
  auto metadata = metadata_from_json(kBaseTable);
  EXPECT_TRUE(metadata.has_value()) << metadata.error().to_string();
  return *metadata;
}

}  // namespace duckicelake::iceberg
