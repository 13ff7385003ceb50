// SPDX-License-Identifier: Apache-2.0
#include "iceberg/new_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

// Ids 100 and up in an order of their own: a struct, a map of structs, a list and two plain
// columns.
NewTable request() {
  NewTable table;
  table.uuid = "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94";
  table.location = "s3://b/t";
  table.now_ms = 1700000000000;
  table.schema = *schema_from_json(
      R"({"type":"struct","schema-id":4,"identifier-field-ids":[103,120],"fields":[
    {"id":110,"name":"point","required":true,"type":{"type":"struct","fields":[
      {"id":120,"name":"x","required":true,"type":"long"},
      {"id":121,"name":"inner","required":false,"type":{"type":"struct","fields":[
        {"id":122,"name":"deep","required":false,"type":"date"}]}},
      {"id":123,"name":"y","required":false,"type":"int"}]}},
    {"id":103,"name":"id","required":true,"type":"long"},
    {"id":104,"name":"m","required":false,"type":{"type":"map","key-id":130,"key":{"type":"struct","fields":[
        {"id":140,"name":"k","required":true,"type":"string"}]},
      "value-id":131,"value-required":false,"value":{"type":"struct","fields":[
        {"id":141,"name":"v","required":false,"type":"string"}]}}},
    {"id":105,"name":"l","required":false,"type":{"type":"list","element-id":150,"element":"int","element-required":true}},
    {"id":106,"name":"ts","required":false,"type":"timestamp"}]})");
  return table;
}

TEST(NewTable, NumbersColumnsAsIcebergJavaDoes) {
  auto m = new_table_metadata(request());
  ASSERT_TRUE(m.has_value()) << m.error().to_string();
  const Schema& schema = m->schemas.at(0);
  EXPECT_EQ(schema.schema_id, 0);
  std::vector<std::pair<std::string, std::int32_t>> ids;
  visit_fields(schema.fields, [&](const Field& field, const Field*) {
    ids.emplace_back(schema.name_of(field.id), field.id.value);
  });
  EXPECT_THAT(ids,
              ::testing::ElementsAre(
                  std::pair("point", 1), std::pair("point.x", 6), std::pair("point.inner", 7),
                  std::pair("point.inner.deep", 9), std::pair("point.y", 8), std::pair("id", 2),
                  std::pair("m", 3), std::pair("m.key", 10), std::pair("m.key.k", 12),
                  std::pair("m.value", 11), std::pair("m.value.v", 13), std::pair("l", 4),
                  std::pair("l.element", 14), std::pair("ts", 5)));
  EXPECT_THAT(schema.identifier_field_ids, ::testing::ElementsAre(FieldId(2), FieldId(6)));
  EXPECT_EQ(m->last_column_id, 14);
  EXPECT_EQ(m->last_partition_id, 999);
  EXPECT_EQ(m->partition_specs, std::vector<PartitionSpec>{PartitionSpec{}});
  EXPECT_EQ(m->sort_orders, std::vector<SortOrder>{SortOrder{}});
  EXPECT_EQ(m->last_updated_ms, 1700000000000);
  EXPECT_TRUE(check_metadata(*m).has_value()) << check_metadata(*m).error().to_string();
  EXPECT_EQ(metadata_from_json(metadata_to_json(*m)).value(), *m);
}

TEST(NewTable, MovesSpecAndOrderToTheNewIds) {
  NewTable table = request();
  table.spec = PartitionSpec{7,
                             {{FieldId(106), 1234, "ts_day", *Transform::parse("day")},
                              {FieldId(120), 5, "point.x", {}},
                              {FieldId(103), 0, "id", *Transform::parse("void")}}};
  table.order =
      SortOrder{9, {{FieldId(122), {}, SortDirection::kDescending, NullOrder::kNullsLast}}};
  auto m = new_table_metadata(std::move(table));
  ASSERT_TRUE(m.has_value()) << m.error().to_string();
  EXPECT_EQ(m->partition_specs.at(0),
            (PartitionSpec{0,
                           {{FieldId(5), 1000, "ts_day", *Transform::parse("day")},
                            {FieldId(6), 1001, "point.x", {}},
                            {FieldId(2), 1002, "id", *Transform::parse("void")}}}));
  EXPECT_EQ(m->last_partition_id, 1002);
  EXPECT_EQ(m->default_sort_order_id, 1);
  EXPECT_EQ(m->sort_orders.at(0).order_id, 1);
  EXPECT_EQ(m->sort_orders.at(0).fields.at(0).source_id, FieldId(9));
  EXPECT_TRUE(check_metadata(*m).has_value());
}

TEST(NewTable, TakesItsVersionFromThePropertiesAndDropsWhatStandsForMetadata) {
  NewTable table = request();
  table.properties = {
      {"format-version", "3"}, {"uuid", "x"}, {"current-schema", "{}"}, {"owner", "ann"}};
  auto m = new_table_metadata(std::move(table));
  ASSERT_TRUE(m.has_value()) << m.error().to_string();
  EXPECT_EQ(m->format_version, 3);
  EXPECT_EQ(m->next_row_id, 0);
  EXPECT_EQ(m->properties, (std::map<std::string, std::string>{{"owner", "ann"}}));
}

TEST(NewTable, RefusesPartsThatDoNotFit) {
  struct Case {
    void (*change)(NewTable&);
    std::string_view message;
    Code code = Code::kInvalidArgument;
  };
  for (const Case& c : std::vector<Case>{
           {[](NewTable& t) { t.properties["format-version"] = "1"; },
            "format-version 1 is not supported"},
           {[](NewTable& t) { t.properties["format-version"] = "three"; }, "not a number"},
           {[](NewTable& t) { t.format_version = 4; }, "format-version 4"},
           {[](NewTable& t) { t.properties["duckicelake.x"] = ""; }, "belongs to the server",
            Code::kPermissionDenied},
           {[](NewTable& t) { t.properties["commit.retry.num-retries"] = "x"; },
            "must have integer value"},
           {[](NewTable& t) { t.properties["commit.retry.num-retries"] = "-1"; }, "non negative"},
           {[](NewTable& t) { t.uuid = "x"; }, "no uuid"},
           {[](NewTable& t) { t.location = ""; }, "no location"},
           {[](NewTable& t) { t.schema.fields[4].type.kind = TypeKind::kTimestampNs; },
            "Invalid type for ts: timestamp_ns is not supported until v3"},
           {[](NewTable& t) { t.schema.fields[4].name = "__masked_ts"; }, "reserved"},
           {[](NewTable& t) { t.schema.fields[4].id = FieldId(103); }, "used twice"},
           {[](NewTable& t) { t.schema.identifier_field_ids = {FieldId(999)}; },
            "identifier field 999"},
           {[](NewTable& t) { t.spec = PartitionSpec{0, {{FieldId(5), 0, "a", {}}}}; },
            "Cannot find source column"},
           {[](NewTable& t) { t.spec = PartitionSpec{0, {{FieldId(103), 0, "ts", {}}}}; },
            "sourced from different field"},
           {[](NewTable& t) { t.spec = PartitionSpec{0, {{FieldId(150), 0, "a", {}}}}; },
            "in a list or map"},
           {[](NewTable& t) {
              t.spec = PartitionSpec{0, {{FieldId(103), 0, "a", {}}, {FieldId(106), 0, "a", {}}}};
            },
            "more than once"},
           {[](NewTable& t) { t.order = SortOrder{1, {{FieldId(5), {}, {}, {}}}}; },
            "Cannot find source column for sort field"}}) {
    NewTable table = request();
    c.change(table);
    auto m = new_table_metadata(std::move(table));
    ASSERT_FALSE(m.has_value()) << c.message;
    EXPECT_EQ(m.error().code(), c.code);
    EXPECT_THAT(m.error().message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace duckicelake::iceberg
