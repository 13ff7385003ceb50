// SPDX-License-Identifier: Apache-2.0
#include "iceberg/update_apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "iceberg/commit_test_support.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kColumns =
    R"({"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"ts","required":false,"type":"timestamptz"})";
constexpr std::string_view kSetLast = R"({"action":"set-current-schema","schema-id":-1})";

std::string add_schema_of(std::string_view fields) {
  return fmt::format(
      R"({{"action":"add-schema","schema":{{"type":"struct","schema-id":0,"fields":[{}]}}}})",
      fields);
}

std::string add_spec_of(std::string_view fields) {
  return fmt::format(R"({{"action":"add-spec","spec":{{"spec-id":0,"fields":[{}]}}}})", fields);
}

std::string add_order_of(std::string_view source, std::string_view transform) {
  return fmt::format(
      R"({{"action":"add-sort-order","sort-order":{{"order-id":9,"fields":[{{"source-id":{},"transform":"{}","direction":"asc","null-order":"nulls-first"}}]}}}})",
      source, transform);
}

TableMetadata committed(std::string_view updates, TableMetadata base = base_table()) {
  auto result = commit(std::move(base), updates);
  EXPECT_TRUE(result.has_value()) << updates << "\n" << result.error().to_string();
  return result.has_value() ? *result : TableMetadata{};
}

Error refused(std::string_view updates, TableMetadata base = base_table()) {
  auto result = commit(std::move(base), updates);
  if (!result.has_value()) return result.error();
  ADD_FAILURE() << "accepted: " << updates;
  return Error(Code::kInternal, "accepted");
}

TEST(UpdateApply, GivesANewSchemaTheNextIdAndKeepsItsColumnIds) {
  std::string fields(kColumns);
  fields += R"(,{"id":20,"name":"more","required":false,"type":"int"})";
  TableMetadata m = committed(fmt::format("[{},{}]", add_schema_of(fields), kSetLast));
  ASSERT_EQ(m.schemas.size(), 2U);
  EXPECT_EQ(m.schemas[1].schema_id, 1);
  EXPECT_EQ(m.current_schema_id, 1);
  EXPECT_EQ(m.last_column_id, 20);
  EXPECT_EQ(m.schemas[1].fields[2].id, FieldId(20));
}

TEST(UpdateApply, NeverShrinksTheLastColumnId) {
  TableMetadata m = committed(fmt::format(
      R"([{{"action":"add-schema","last-column-id":2,"schema":{{"type":"struct","fields":[{}]}}}}])",
      kColumns));
  EXPECT_EQ(m.last_column_id, 8);
}

TEST(UpdateApply, UsesTheIdOfAnEqualSchemaSpecAndOrderAgain) {
  std::string more = add_schema_of(kColumns);
  TableMetadata m = committed(fmt::format("[{},{},{},{}]", more, more, kSetLast, more));
  EXPECT_EQ(m.schemas.size(), 2U);
  EXPECT_EQ(m.current_schema_id, 1);
  // Back to the first one: added again under another id, then set as the last added.
  std::string first(kBaseTable);
  std::size_t begin = first.find("{\"type\":\"struct\",\"schema-id\":0");
  std::string schema = first.substr(begin, first.find("}],\n \"default-spec-id\"") + 1 - begin);
  schema.replace(schema.find("\"schema-id\":0"), 13, "\"schema-id\":5");
  m = committed(fmt::format(R"([{{"action":"add-schema","schema":{}}},{}])", schema, kSetLast), m);
  EXPECT_EQ(m.schemas.size(), 2U);
  EXPECT_EQ(m.current_schema_id, 0);
  // Other partition field ids make no other spec.
  std::string spec = add_spec_of(
      R"({"source-id":2,"field-id":1007,"name":"ts_day","transform":"day"},{"source-id":1,"name":"id_bucket","transform":"bucket[4]"})");
  m = committed(
      fmt::format(
          R"([{{"action":"set-default-spec","spec-id":0}},{},{{"action":"set-default-spec","spec-id":-1}}])",
          spec),
      m);
  EXPECT_EQ(m.partition_specs.size(), 2U);
  EXPECT_EQ(m.default_spec_id, 1);
  EXPECT_EQ(m.last_partition_id, 1001);
  m = committed(
      fmt::format(
          R"([{{"action":"set-default-sort-order","sort-order-id":0}},{},{{"action":"set-default-sort-order","sort-order-id":-1}}])",
          add_order_of("1", "identity")),
      m);
  EXPECT_EQ(m.sort_orders.size(), 2U);
  EXPECT_EQ(m.default_sort_order_id, 1);
  m = committed(
      R"([{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1}])",
      m);
  EXPECT_EQ(m.default_sort_order_id, 0);
}

TEST(UpdateApply, ComparesIdentifierFieldsAsASet) {
  auto schema = [](std::string_view ids) {
    return fmt::format(
        R"({{"action":"add-schema","schema":{{"type":"struct","identifier-field-ids":{},"fields":[{{"id":1,"name":"a","required":true,"type":"long"}},{{"id":2,"name":"b","required":true,"type":"int"}}]}}}})",
        ids);
  };
  EXPECT_EQ(committed(fmt::format("[{},{}]", schema("[1,2]"), schema("[2,1]"))).schemas.size(), 2U);
  EXPECT_EQ(committed(fmt::format("[{},{}]", schema("[1,2]"), schema("[2]"))).schemas.size(), 3U);
}

TEST(UpdateApply, AssignsPartitionFieldIds) {
  struct Case {
    std::string_view fields;
    std::vector<std::int32_t> ids;
    std::int32_t last;
  };
  for (
      const Case& c : std::vector<Case>{
          // Left to the server: known by source and transform, or new.
          {R"({"source-id":1,"name":"b","transform":"bucket[4]"},{"source-id":3,"name":"n","transform":"truncate[2]"})",
           {1001, 1002},
           1002},
          // The client's own, equal or new.
          {R"({"source-id":2,"field-id":1000,"name":"d","transform":"day"},{"source-id":3,"field-id":1002,"name":"name","transform":"identity"})",
           {1000, 1002},
           1002},
          // A new id for a known field, as Iceberg Java makes it for another name.
          {R"({"source-id":2,"field-id":1002,"name":"day","transform":"day"})", {1002}, 1002},
          {R"({"source-id":2,"field-id":1500,"name":"day","transform":"day"},{"source-id":3,"name":"n","transform":"void"})",
           {1500, 1501},
           1501},
          // Another field's id, below 1000, out of range: reassigned.
          {R"({"source-id":3,"field-id":1000,"name":"n","transform":"identity"})", {1002}, 1002},
          {R"({"source-id":3,"field-id":5,"name":"n","transform":"identity"})", {1002}, 1002},
          {R"({"source-id":3,"field-id":2147483647,"name":"n","transform":"identity"})",
           {1002},
           1002},
          // An id that is taken by a later field of the same spec.
          {R"({"source-id":3,"name":"n","transform":"identity"},{"source-id":1,"field-id":1002,"name":"i","transform":"identity"})",
           {1003, 1002},
           1003},
          // The same field twice under two names.
          {R"({"source-id":2,"name":"d1","transform":"day"},{"source-id":2,"name":"d2","transform":"day"})",
           {1000, 1002},
           1002},
          {R"({"source-id":6,"name":"point.day","transform":"identity"})", {1002}, 1002}}) {
    TableMetadata m = committed(
        fmt::format(R"([{},{{"action":"set-default-spec","spec-id":-1}}])", add_spec_of(c.fields)));
    ASSERT_EQ(m.partition_specs.size(), 3U) << c.fields;
    EXPECT_EQ(m.partition_specs[2].spec_id, 2);
    std::vector<std::int32_t> ids;
    for (const PartitionField& field : m.partition_specs[2].fields) ids.push_back(field.field_id);
    EXPECT_EQ(ids, c.ids) << c.fields;
    EXPECT_EQ(m.last_partition_id, c.last) << c.fields;
    EXPECT_TRUE(check_metadata(m).has_value()) << c.fields;
  }
}

TEST(UpdateApply, RefusesDefinitionsThatDoNotFitTheTable) {
  struct Case {
    std::string updates;
    std::string_view message;
  };
  auto spec = [](std::string_view field) { return "[" + add_spec_of(field) + "]"; };
  auto schema = [](std::string_view field) { return "[" + add_schema_of(field) + "]"; };
  for (
      const Case& c : std::vector<Case>{
          {spec(R"({"source-id":99,"name":"a","transform":"identity"})"),
           "Cannot find source column"},
          {spec(R"({"source-id":4,"name":"a","transform":"identity"})"), "non-primitive"},
          {spec(R"({"source-id":8,"name":"a","transform":"identity"})"), "in a list or map"},
          {spec(R"({"source-id":3,"name":"a","transform":"day"})"), "not defined for string"},
          {spec(R"({"source-id":1,"name":"name","transform":"identity"})"),
           "sourced from different field"},
          {spec(R"({"source-id":1,"name":"point.x","transform":"bucket[2]"})"),
           "sourced from different field"},
          {spec(R"({"source-id":1,"name":"__mask_a","transform":"bucket[2]"})"),
           "reserved for the server"},
          {"[" + add_order_of("99", "identity") + "]", "Cannot find source column"},
          {"[" + add_order_of("8", "identity") + "]", "in a list or map"},
          {"[" + add_order_of("1", "hour") + "]", "not defined for long"},
          {schema(R"({"id":1,"name":"v","required":false,"type":"variant"})"),
           "Invalid type for v: variant is not supported until v3"},
          {schema(R"({"id":1,"name":"v","required":true,"type":"int","initial-default":1})"),
           "Invalid default for v"},
          {schema(R"({"id":1,"name":"__mask_x","required":true,"type":"int"})"),
           "column names that begin with"},
          {schema(
               R"({"id":1,"name":"s","required":true,"type":{"type":"struct","fields":[{"id":2,"name":"__MASKED_x","required":true,"type":"int"}]}})"),
           "column names that begin with"},
          {R"([{"action":"set-current-schema","schema-id":7}])", "unknown schema: 7"},
          {R"([{"action":"set-current-schema","schema-id":-1}])", "no schema has been added"},
          {R"([{"action":"set-current-schema","schema-id":-2}])", "unknown schema: -2"},
          {R"([{"action":"set-default-spec","spec-id":7}])", "unknown spec: 7"},
          {R"([{"action":"set-default-spec","spec-id":-1}])", "no spec has been added"},
          {R"([{"action":"set-default-sort-order","sort-order-id":7}])", "unknown order: 7"},
          {R"([{"action":"set-default-sort-order","sort-order-id":-1}])",
           "no sort order has been added"},
          {R"([{"action":"remove-schemas","schema-ids":[0]}])", "Cannot remove the current schema"},
          {R"([{"action":"remove-partition-specs","spec-ids":[0,1]}])",
           "Cannot remove the default partition spec"},
          {R"([{"action":"upgrade-format-version","format-version":4}])",
           "format-version 4 is not supported"},
          {R"([{"action":"upgrade-format-version","format-version":1}])",
           "format-version 1 is not supported"},
          {R"([{"action":"assign-uuid","uuid":"ab072c92-a02b-11e9-ae9c-1bb7bc9eca94"}])",
           "Cannot reassign"},
          {R"([{"action":"assign-uuid","uuid":"?"}])", "UUID"},
          {R"([{"action":"set-properties","updates":{"format-version":"3"}}])", "reserved"},
          {R"([{"action":"set-properties","updates":{"current-snapshot-id":"3"}}])", "reserved"},
          // Without its source the current spec, and the current order, are of no use.
          {"[" + add_schema_of(R"({"id":1,"name":"id","required":true,"type":"long"})") + "," +
               std::string(kSetLast) + "]",
           "Cannot find source column for partition field ts_day"},
          {"[" + add_schema_of(R"({"id":2,"name":"ts","required":false,"type":"timestamptz"})") +
               "," + std::string(kSetLast) + R"(,{"action":"set-default-spec","spec-id":0}])",
           "Cannot find source column for sort field"},
          // A column may not take the name of a partition field.
          {"[" +
               add_schema_of(std::string(kColumns) +
                             R"(,{"id":9,"name":"ts_day","required":false,"type":"date"})") +
               "," + std::string(kSetLast) + "]",
           "sourced from different field"}}) {
    Error error = refused(c.updates);
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << c.updates;
    EXPECT_THAT(error.message(), HasSubstr(c.message)) << c.updates;
  }
  TableMetadata three = committed(R"([{"action":"upgrade-format-version","format-version":3}])");
  EXPECT_EQ(three.next_row_id, 0);
  EXPECT_THAT(
      refused(R"([{"action":"upgrade-format-version","format-version":2}])", three).message(),
      HasSubstr("Cannot downgrade v3 table to v2"));
}

TEST(UpdateApply, MayDropAColumnBeforeTheSpecThatUsesIt) {
  TableMetadata m = committed(
      fmt::format(R"([{},{},{},{{"action":"set-default-spec","spec-id":-1}}])",
                  add_schema_of(R"({"id":1,"name":"id","required":true,"type":"long"})"), kSetLast,
                  add_spec_of(R"({"source-id":1,"name":"id_bucket","transform":"bucket[4]"})")));
  EXPECT_EQ(m.partition_specs.back().fields[0].field_id, 1001);
  // Void fields may stand for the column that is gone.
  m = committed(fmt::format(R"([{},{{"action":"set-default-spec","spec-id":-1}}])",
                            add_spec_of(R"({"source-id":2,"name":"ts_day","transform":"void"})")),
                m);
  EXPECT_EQ(m.default_spec_id, 3);
}

TEST(UpdateApply, LetsColumnsStayThatHadAReservedNameOrAPartitionsNameBefore) {
  TableMetadata base = base_table();
  base.schemas[0].fields[2].name = "__mask_name";
  base.schemas[0].fields[3].name = "ts_day";
  std::string fields(kColumns);
  fields +=
      R"(,{"id":3,"name":"__mask_name","required":false,"type":"string"},{"id":4,"name":"ts_day","required":false,"type":"int"})";
  TableMetadata m = committed(fmt::format("[{},{}]", add_schema_of(fields), kSetLast), base);
  EXPECT_EQ(m.current_schema_id, 1);
}

TEST(UpdateApply, RemovesSchemasAndSpecsThatAreNotCurrent) {
  TableMetadata m = committed(fmt::format(
      R"([{},{{"action":"remove-schemas","schema-ids":[1,77]}},{{"action":"remove-partition-specs","spec-ids":[0,5]}}])",
      add_schema_of(kColumns)));
  EXPECT_EQ(m.schemas.size(), 1U);
  ASSERT_EQ(m.partition_specs.size(), 1U);
  EXPECT_EQ(m.partition_specs[0].spec_id, 1);
  EXPECT_THAT(refused(fmt::format(R"([{},{{"action":"remove-schemas","schema-ids":[1]}},{}])",
                                  add_schema_of(kColumns), kSetLast))
                  .message(),
              HasSubstr("no schema has been added"));
}

TEST(UpdateApply, GuardsPropertiesOfTheServer) {
  EXPECT_EQ(refused(R"([{"action":"set-properties","updates":{"duckicelake.kind":"x"}}])").code(),
            Code::kPermissionDenied);
  EXPECT_EQ(refused(R"([{"action":"set-properties","updates":{"duckicelake.new":"x"}}])").code(),
            Code::kPermissionDenied);
  EXPECT_EQ(refused(R"([{"action":"remove-properties","removals":["duckicelake.kind"]}])").code(),
            Code::kPermissionDenied);
  TableMetadata m = committed(
      R"([{"action":"set-properties","updates":{"duckicelake.kind":"lake","a":"1"}},{"action":"remove-properties","removals":["owner","none"]}])");
  EXPECT_EQ(m.properties,
            (std::map<std::string, std::string>{{"duckicelake.kind", "lake"}, {"a", "1"}}));
}

TEST(UpdateApply, ReplacesStatisticsBySnapshot) {
  auto set = [](int id, std::string_view path) {
    return fmt::format(
        R"({{"action":"set-statistics","statistics":{{"snapshot-id":{},"statistics-path":"{}","file-size-in-bytes":4,"file-footer-size-in-bytes":1,"blob-metadata":[]}}}})",
        id, path);
  };
  TableMetadata m = committed(fmt::format("[{},{},{}]", set(1, "a"), set(12, "b"), set(1, "c")));
  ASSERT_EQ(m.statistics.size(), 2U);
  EXPECT_THAT(m.statistics[0], HasSubstr("\"c\""));
  m = committed(
      R"([{"action":"remove-statistics","snapshot-id":1},{"action":"remove-statistics","snapshot-id":2}])",
      m);
  ASSERT_EQ(m.statistics.size(), 1U);
  EXPECT_THAT(m.statistics[0], HasSubstr("\"b\""));
  m = committed(
      R"([{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":1,"statistics-path":"p","file-size-in-bytes":4}}])",
      m);
  EXPECT_EQ(m.partition_statistics.size(), 1U);
  EXPECT_TRUE(committed(R"([{"action":"remove-partition-statistics","snapshot-id":1}])", m)
                  .partition_statistics.empty());
}

TEST(UpdateApply, KeepsTheFirstEncryptionKeyOfAnId) {
  auto add = [](std::string_view id, std::string_view key) {
    return fmt::format(
        R"({{"action":"add-encryption-key","encryption-key":{{"key-id":"{}","encrypted-key-metadata":"{}"}}}})",
        id, key);
  };
  TableMetadata m = committed(
      fmt::format("[{},{},{}]", add("é\\n", "AAAA"), add("é\\n", "BBBB"), add("b", "CCCC")));
  ASSERT_EQ(m.encryption_keys.size(), 2U);
  EXPECT_THAT(m.encryption_keys[0], HasSubstr("AAAA"));
  m = committed(
      R"([{"action":"remove-encryption-key","key-id":"é\n"},{"action":"remove-encryption-key","key-id":"x"}])",
      m);
  ASSERT_EQ(m.encryption_keys.size(), 1U);
}

TEST(UpdateApply, LeavesSnapshotsToTheCaller) {
  for (
      std::string_view update :
      {R"([{"action":"add-snapshot","snapshot":{"snapshot-id":1,"timestamp-ms":1,"manifest-list":"l"}}])",
       R"([{"action":"set-snapshot-ref","ref-name":"a","type":"tag","snapshot-id":1}])",
       R"([{"action":"remove-snapshots","snapshot-ids":[1]}])",
       R"([{"action":"remove-snapshot-ref","ref-name":"a"}])"}) {
    EXPECT_EQ(refused(update).code(), Code::kInternal);
  }
}

TEST(UpdateApply, BuildsAStagedTableFromNothing) {
  std::string updates = fmt::format(
      R"([{{"action":"assign-uuid","uuid":"AB072C92-a02b-11e9-ae9c-1bb7bc9eca94"}},{{"action":"upgrade-format-version","format-version":3}},{},{},{},{{"action":"set-default-spec","spec-id":-1}},{},{{"action":"set-default-sort-order","sort-order-id":-1}},{{"action":"set-location","location":"s3://b/new"}},{{"action":"set-properties","updates":{{"a":"b","format-version":"3"}}}}])",
      add_schema_of(std::string(kColumns) +
                    R"(,{"id":3,"name":"v","required":false,"type":"variant"})"),
      kSetLast, add_spec_of(R"({"source-id":2,"field-id":1000,"name":"ts_day","transform":"day"})"),
      add_order_of("2", "hour"));
  ApplyState state;
  state.creates_table = true;
  auto m = commit(TableMetadata{}, updates, state);
  ASSERT_TRUE(m.has_value()) << m.error().to_string();
  EXPECT_EQ(m->table_uuid, "ab072c92-a02b-11e9-ae9c-1bb7bc9eca94");
  EXPECT_EQ(m->format_version, 3);
  EXPECT_EQ(m->current_schema_id, 0);
  EXPECT_EQ(m->default_spec_id, 0);
  EXPECT_EQ(m->default_sort_order_id, 1);
  EXPECT_EQ(m->last_column_id, 3);
  EXPECT_EQ(m->last_partition_id, 1000);
  EXPECT_EQ(m->properties, (std::map<std::string, std::string>{{"a", "b"}}));
  EXPECT_TRUE(check_metadata(*m).has_value()) << check_metadata(*m).error().to_string();
}

TEST(UpdateApply, RefusesAStagedTableThatMissesAPart) {
  std::string uuid = R"({"action":"assign-uuid","uuid":"ab072c92-a02b-11e9-ae9c-1bb7bc9eca94"})";
  std::string location = R"({"action":"set-location","location":"s3://b/new"})";
  std::string spec = add_spec_of("");
  std::string schema = add_schema_of(kColumns);
  ApplyState state;
  state.creates_table = true;
  struct Case {
    std::string updates;
    std::string_view message;
  };
  for (const Case& c : std::vector<Case>{
           {"[]", "no uuid"},
           {fmt::format("[{}]", uuid), "no location"},
           {fmt::format("[{},{}]", uuid, location), "no current schema"},
           {fmt::format("[{},{},{}]", uuid, location, schema), "no default partition spec"},
           {fmt::format("[{}]", add_spec_of(R"({"source-id":2,"name":"a","transform":"day"})")),
            "no current schema yet"},
           {fmt::format("[{}]", add_order_of("1", "identity")), "no current schema yet"}}) {
    auto m = commit(TableMetadata{}, c.updates, state);
    ASSERT_FALSE(m.has_value()) << c.updates;
    EXPECT_THAT(m.error().message(), HasSubstr(c.message)) << c.updates;
  }
  EXPECT_TRUE(
      commit(TableMetadata{}, fmt::format("[{},{},{},{}]", uuid, location, schema, spec), state)
          .has_value());
}

// What one request of the greatest size can make the server do must stay within seconds.
TEST(UpdateApply, BoundsTheWorkOfAHostileCommit) {
  TableMetadata wide = base_table();
  std::vector<Field>& fields = wide.schemas[0].fields;
  for (int i = 0; i < 20'000; ++i) {
    Field field = fields[2];
    field.id = FieldId(100 + i);
    field.name = fmt::format("c{}", i);
    fields.push_back(field);
  }
  wide.last_column_id = 30'000;
  ApplyState state;
  state.work = 18'000'000;  // the rest is enough to see
  auto start = std::chrono::steady_clock::now();
  Status status;
  for (std::int32_t i = 0; i < 10'000 && status.has_value(); ++i) {
    AddPartitionSpec update;
    update.spec.fields = {{FieldId(1), 0, fmt::format("p{}", i), {TransformKind::kBucket, i + 1}}};
    status = apply_definition_update(wide, update, state);
  }
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(status.error().message(), HasSubstr("too many definitions"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(UpdateApply, HandlesLongNestedNamesInLinearSpace) {
  TableMetadata base = base_table();
  Field deep = base.schemas[0].fields[3];
  deep.name = std::string(1 << 20, 'n');
  deep.type.fields.clear();
  for (int i = 0; i < 2'000; ++i) {
    Field leaf = base.schemas[0].fields[2];
    leaf.id = FieldId(100 + i);
    leaf.name = fmt::format("leaf{}", i);
    deep.type.fields.push_back(leaf);
  }
  base.schemas[0].fields[3] = deep;
  base.last_column_id = 3'000;
  TableMetadata m = committed(
      fmt::format("[{}]", add_spec_of(R"({"source-id":101,"name":"l","transform":"identity"})")),
      base);
  EXPECT_EQ(m.partition_specs.size(), 3U);
}

}  // namespace
}  // namespace duckicelake::iceberg
