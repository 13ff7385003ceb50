// SPDX-License-Identifier: Apache-2.0
#include "iceberg/table_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

Field field(int id, std::string name, std::string_view type, bool required = false) {
  Field f;
  f.id = FieldId(id);
  f.name = std::move(name);
  f.type = *parse_primitive(type);
  f.required = required;
  return f;
}

Snapshot snapshot(std::int64_t id, std::optional<std::int64_t> parent) {
  Snapshot s;
  s.snapshot_id = id;
  s.parent_snapshot_id = parent;
  s.sequence_number = id;
  s.timestamp_ms = 1700000000000 + id * 1000;
  s.manifest_list = fmt::format("s3://lake/sales/orders/metadata/snap-{}.avro", id);
  s.summary = {
      {"operation", "append"}, {"added-data-files", "1"}, {"total-records", std::to_string(id)}};
  s.schema_id = 0;
  return s;
}

TableMetadata empty_table() {
  TableMetadata m;
  m.table_uuid = "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94";
  m.location = "s3://lake/sales/orders";
  m.last_updated_ms = 1700000000000;
  m.last_column_id = 3;
  Schema schema;
  schema.fields = {field(1, "id", "long", true), field(2, "ts", "timestamptz"),
                   field(3, "größe \"x\"", "string")};
  m.schemas = {schema};
  m.partition_specs = {PartitionSpec{}};
  m.sort_orders = {SortOrder{}};
  m.properties = {{"gc.enabled", "false"}, {"comment", "line\nbreak"}};
  return m;
}

void add_history(TableMetadata& m, std::int64_t count) {
  for (std::int64_t id = 1; id <= count; ++id) {
    m.snapshots.push_back(snapshot(id, id == 1 ? std::nullopt : std::optional(id - 1)));
    if (m.format_version == 3) {
      m.snapshots.back().first_row_id = (id - 1) * 10;
      m.snapshots.back().added_rows = 10;
    }
    m.snapshot_log.push_back({m.snapshots.back().timestamp_ms, id});
  }
  m.current_snapshot_id = count;
  m.last_sequence_number = count;
  m.last_updated_ms = m.snapshots.back().timestamp_ms;
  if (m.format_version == 3) m.next_row_id = count * 10;
  SnapshotRef main;
  main.snapshot_id = count;
  m.refs["main"] = main;
}

// Two schemas, two specs, a sort order, a tag and a branch, statistics, logs.
TableMetadata evolved_table() {
  TableMetadata m = empty_table();
  Schema second = m.schemas[0];
  second.schema_id = 1;
  second.fields.push_back(field(4, "amount", "decimal(18,4)"));
  Field tags = field(5, "tags", "int");
  tags.type = Type::list(field(6, "", "string", true));
  Field props = field(7, "props", "int");
  props.type = Type::map(field(8, "", "string"), field(9, "", "double"));
  Field point = field(10, "point", "int");
  point.type = Type::structure({field(11, "x", "double", true), field(12, "when", "date")});
  second.fields.insert(
      second.fields.end(),
      {tags, props, point, field(13, "raw", "fixed[16]"), field(14, "key", "uuid"),
       field(15, "blob", "binary"), field(16, "clock", "time"), field(17, "flag", "boolean"),
       field(18, "small", "int"), field(19, "ratio", "float"), field(20, "plain", "timestamp")});
  second.fields[0].doc = "the id";
  second.identifier_field_ids = {FieldId(1)};
  m.schemas.push_back(second);
  m.current_schema_id = 1;
  m.last_column_id = 20;
  PartitionSpec spec;
  spec.spec_id = 1;
  spec.fields = {{FieldId(2), 1000, "ts_day", *Transform::parse("day")},
                 {FieldId(1), 1001, "id_bucket_16", *Transform::parse("bucket[16]")},
                 {FieldId(3), 1002, "s_trunc_4", *Transform::parse("truncate[4]")},
                 {FieldId(12), 1003, "point.when_month", *Transform::parse("month")},
                 {FieldId(14), 1004, "key_null", *Transform::parse("void")}};
  m.partition_specs.push_back(spec);
  m.default_spec_id = 1;
  m.last_partition_id = 1004;
  SortOrder order;
  order.order_id = 1;
  order.fields = {
      {FieldId(1), {}, SortDirection::kAscending, NullOrder::kNullsFirst},
      {FieldId(2), *Transform::parse("hour"), SortDirection::kDescending, NullOrder::kNullsLast}};
  m.sort_orders.push_back(order);
  m.default_sort_order_id = 1;
  add_history(m, 5);
  m.snapshots[4].schema_id = 1;
  SnapshotRef tag;
  tag.snapshot_id = 2;
  tag.type = RefType::kTag;
  tag.max_ref_age_ms = 86400000;
  m.refs["v1.0 \"final\""] = tag;
  SnapshotRef branch;
  branch.snapshot_id = 3;
  branch.min_snapshots_to_keep = 2;
  branch.max_snapshot_age_ms = 1000;
  m.refs["audit"] = branch;
  m.statistics = {
      R"({"snapshot-id":5,"statistics-path":"s3://lake/sales/orders/metadata/5.puffin","file-size-in-bytes":413,"file-footer-size-in-bytes":42,"blob-metadata":[{"type":"apache-datasketches-theta-v1","snapshot-id":5,"sequence-number":5,"fields":[1],"properties":{"ndv":"3"}}]})"};
  m.partition_statistics = {
      R"({"snapshot-id":5,"statistics-path":"s3://lake/sales/orders/metadata/5.parquet","file-size-in-bytes":43})"};
  m.metadata_log = {{1700000001000, "s3://lake/sales/orders/metadata/v1.metadata.json"},
                    {1700000002000, "s3://lake/sales/orders/metadata/v2.metadata.json"}};
  return m;
}

TableMetadata version_three_table() {
  TableMetadata m = evolved_table();
  m.format_version = 3;
  Schema third = m.schemas[1];
  third.schema_id = 2;
  third.fields.push_back(field(21, "level", "int", true));
  third.fields.back().initial_default = value_of_int(-7);
  third.fields.back().write_default = value_of_int(8);
  third.fields.push_back(field(22, "price", "decimal(9,2)"));
  third.fields.back().initial_default =
      *value_from_json_text(third.fields.back().type, "\"14.20\"");
  third.fields.push_back(field(23, "since", "timestamptz"));
  third.fields.back().write_default =
      *value_from_json_text(third.fields.back().type, "\"2017-11-16T22:31:08.000001+00:00\"");
  m.schemas.push_back(third);
  m.current_schema_id = 2;
  m.last_column_id = 23;
  m.snapshots.clear();
  m.snapshot_log.clear();
  add_history(m, 5);
  m.snapshots[0].first_row_id.reset();  // from before the upgrade
  m.snapshots[0].added_rows.reset();
  return m;
}

std::string read_failure(std::string_view json) {
  auto metadata = metadata_from_json(json);
  return metadata.has_value() ? "read" : metadata.error().message();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(TableMetadata, RoundTrips) {
  for (const TableMetadata& m : {empty_table(), evolved_table(), version_three_table()}) {
    std::string json = metadata_to_json(m);
    auto again = metadata_from_json(json);
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(*again, m);
    EXPECT_EQ(metadata_to_json(*again), json);
    EXPECT_THAT(json, ::testing::Not(HasSubstr("null,")))
        << "absent members are omitted (case A-14)";
  }
}

TEST(TableMetadata, FrameAndSnapshotsMakeTheDocument) {
  for (const TableMetadata& m : {empty_table(), evolved_table(), version_three_table()}) {
    MetadataFrame frame = metadata_frame_to_json(m);
    std::string json = frame.head;
    for (std::size_t i = 0; i < m.snapshots.size(); ++i) {
      if (i > 0) json += ',';
      snapshot_to_json(m.snapshots[i], json);
    }
    json += frame.tail;
    EXPECT_EQ(json, metadata_to_json(m));
    EXPECT_TRUE(frame.head.ends_with("\"snapshots\":["));
    EXPECT_TRUE(frame.tail.starts_with("]"));
  }
}

// The files are what other implementations are shown (tests/golden/check_metadata_json.py). Set
// DIL_UPDATE_GOLDEN to write them anew after a wanted change.
TEST(TableMetadata, MatchesTheGoldenDocuments) {
  const std::pair<const char*, TableMetadata> tables[] = {
      {"empty", empty_table()}, {"evolved", evolved_table()}, {"version3", version_three_table()}};
  for (const auto& [name, metadata] : tables) {
    std::string path =
        fmt::format("{}/tests/golden/metadata/{}.metadata.json", DIL_SOURCE_DIR, name);
    if (std::getenv("DIL_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << metadata_to_json(metadata) << '\n';
    }
    std::ifstream file(path);
    ASSERT_TRUE(file.good()) << path;
    std::string golden((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(metadata_to_json(metadata) + "\n", golden);
  }
}

TEST(TableMetadata, WritesAThousandSnapshotsInLinearTime) {
  auto seconds = [](std::int64_t count) {
    TableMetadata m = empty_table();
    add_history(m, count);
    auto best = std::chrono::duration<double>::max();
    for (int i = 0; i < 3; ++i) {
      auto start = std::chrono::steady_clock::now();
      EXPECT_GT(metadata_to_json(m).size(), static_cast<std::size_t>(count) * 200);
      best =
          std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start));
    }
    return best.count();
  };
  double base = seconds(1000);
  RecordProperty("seconds_per_1000_snapshots", std::to_string(base));
  // A quadratic writer would need 64 times as long.
  EXPECT_LT(seconds(8000), base * 8 * 5 + 0.05);
}

TEST(TableMetadata, ReadsWhatOtherWritersLeaveOutOrSetToNull) {  // case A-14
  std::string json = metadata_to_json(empty_table());
  json = replaced(
      json, "\"properties\":{\"comment\":\"line\\nbreak\",\"gc.enabled\":\"false\"}",
      "\"properties\":null,\"current-snapshot-id\":-1,\"next-row-id\":null,\"encryption-keys\":[]");
  json = replaced(json, "\"refs\":{}", "\"refs\":null");
  json = replaced(json, "\"snapshots\":[]", "\"snapshots\":null,\"schema\":{\"anything\":1}");
  json = replaced(json, "\"statistics\":[]", "\"statistics\":null");
  json = replaced(json, "\"metadata-log\":[]", "\"metadata-log\":null");
  auto m = metadata_from_json(json);
  ASSERT_TRUE(m.has_value()) << m.error().message();
  TableMetadata expected = empty_table();
  expected.properties.clear();
  EXPECT_EQ(*m, expected);
}

TEST(TableMetadata, AddsMainWhenOnlyTheCurrentSnapshotIsGiven) {
  TableMetadata m = empty_table();
  add_history(m, 2);
  std::string json = metadata_to_json(m);
  json =
      replaced(json, "\"refs\":{\"main\":{\"snapshot-id\":2,\"type\":\"branch\"}}", "\"refs\":{}");
  auto again = metadata_from_json(json);
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(*again, m);
}

TEST(TableMetadata, ReadsSnapshotsFromBeforeVersionTwo) {
  auto s = snapshot_from_json(
      R"({"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"parent-snapshot-id":null,"summary":{"operation":"append","x":null},"manifest-list":"s3://b/wh/s1.avro"})");
  ASSERT_TRUE(s.has_value());
  EXPECT_EQ(s->snapshot_id, 3051729675574597004);
  EXPECT_EQ(s->sequence_number, 0);
  EXPECT_EQ(s->summary.size(), 1U);
  EXPECT_EQ(s->schema_id, std::nullopt);
}

TEST(TableMetadata, RefusesSnapshotsAndRefsThatContradictThemselves) {
  for (
      std::string_view bad :
      {R"({"timestamp-ms":1,"manifest-list":"x"})", R"({"snapshot-id":1,"manifest-list":"x"})",
       R"({"snapshot-id":1,"timestamp-ms":1})",
       R"({"snapshot-id":1,"timestamp-ms":1,"manifests":["x"]})",
       R"({"snapshot-id":-1,"timestamp-ms":1,"manifest-list":"x"})",
       R"({"snapshot-id":9223372036854775808,"timestamp-ms":1,"manifest-list":"x"})",
       R"({"snapshot-id":1.0,"timestamp-ms":1,"manifest-list":"x"})",
       R"({"snapshot-id":1,"timestamp-ms":1,"manifest-list":"x","summary":{"operation":1}})",
       R"({"snapshot-id":1,"timestamp-ms":1,"manifest-list":"x","first-row-id":0})",
       R"({"snapshot-id":1,"timestamp-ms":1,"manifest-list":"x","first-row-id":0,"added-rows":-1})"}) {
    EXPECT_FALSE(snapshot_from_json(bad).has_value()) << bad;
  }
  for (std::string_view bad :
       {R"({"type":"branch"})", R"({"snapshot-id":1})", R"({"snapshot-id":1,"type":"head"})",
        R"({"snapshot-id":1,"type":"branch","min-snapshots-to-keep":0})",
        R"({"snapshot-id":1,"type":"tag","min-snapshots-to-keep":1})",
        R"({"snapshot-id":1,"type":"tag","max-snapshot-age-ms":1})",
        R"({"snapshot-id":1,"type":"tag","max-ref-age-ms":-1})"}) {
    EXPECT_FALSE(snapshot_ref_from_json(bad).has_value()) << bad;
  }
  EXPECT_EQ(snapshot_ref_from_json(
                R"({"snapshot-id":1,"type":"tag","max-ref-age-ms":5,"min-snapshots-to-keep":null})")
                ->max_ref_age_ms,
            5);
}

TEST(TableMetadata, RefusesDocumentsThatReadersWouldRefuse) {
  std::string good = metadata_to_json(evolved_table());
  ASSERT_EQ(read_failure(good), "read");
  struct Case {
    std::string_view from, to, message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"\"format-version\":2", "\"format-version\":1", "format-version 1"},
           {"\"format-version\":2", "\"format-version\":4", "format-version 4"},
           {"\"format-version\":2", "\"format-version\":\"2\"", "format-version: expected"},
           {"\"format-version\":2", "\"format-version\":3", "\"next-row-id\" is missing"},
           {"\"format-version\":2,", "", "\"format-version\" is missing"},
           {"fb072c92-a02b", "fb072c92+a02b", "table-uuid"},
           {"\"s3://lake/sales/orders\"", "\"\"", "location: empty"},
           {"\"last-sequence-number\":5", "\"last-sequence-number\":4", "last-sequence-number"},
           {"\"last-column-id\":20", "\"last-column-id\":19", "last-column-id"},
           {"\"current-schema-id\":1", "\"current-schema-id\":7", "schema 7 is not listed"},
           {"\"schema-id\":1,", "\"schema-id\":0,", "used twice"},
           {"\"schemas\":[", "\"schemas\":[],\"x\":[", "schema 1 is not listed"},
           {"\"schemas\":", "\"schemaz\":", "\"schemas\" is missing"},
           {"\"default-spec-id\":1", "\"default-spec-id\":2", "spec 2 is not listed"},
           {"\"spec-id\":1", "\"spec-id\":0", "used twice"},
           {"\"field-id\":1000,", "", "field-id is missing"},
           {"\"last-partition-id\":1004", "\"last-partition-id\":1003", "last-partition-id"},
           {"\"source-id\":2,\"field-id\":1000", "\"source-id\":99,\"field-id\":1000",
            "source-id 99"},
           {"\"source-id\":2,\"field-id\":1000", "\"source-id\":6,\"field-id\":1000",
            "source-id 6"},
           {"\"source-id\":2,\"field-id\":1000", "\"source-id\":1,\"field-id\":1000",
            "day is not defined for long"},
           {"\"default-sort-order-id\":1", "\"default-sort-order-id\":2", "order 2 is not listed"},
           {"\"transform\":\"hour\",\"source-id\":2", "\"transform\":\"hour\",\"source-id\":3",
            "hour is not defined"},
           {"\"current-snapshot-id\":5", "\"current-snapshot-id\":4", "differs from refs.main"},
           {"\"current-snapshot-id\":5,", "", "refs.main"},
           {"\"main\":{\"snapshot-id\":5,\"type\":\"branch\"",
            "\"main\":{\"snapshot-id\":5,\"type\":\"tag\"", "refs.main: not a branch"},
           {"\"audit\":{\"snapshot-id\":3", "\"audit\":{\"snapshot-id\":9",
            "snapshot 9 is not listed"},
           {"\"snapshot-id\":4,\"parent", "\"snapshot-id\":3,\"parent", "used twice"},
           {"\"schema-id\":1}]", "\"schema-id\":8}]", "schema 8"},
           {"\"statistics\":[{\"snapshot-id\":5,", "\"statistics\":[{", "statistics[0]"},
           {"\"last-updated-ms\":1700000005000", "\"last-updated-ms\":1600000005000",
            "last-updated-ms"},
           {"\"timestamp-ms\":1700000001000,\"metadata-file\"",
            "\"timestamp-ms\":1700009001000,\"metadata-file\"", "metadata-log[1]"},
           {"\"properties\":{", "\"properties\":{\"n\":1,", "properties.n: expected a string"},
           {"\"type\":\"timestamptz\"", "\"type\":\"timestamptz_ns\"", "needs format version 3"},
           {"\"properties\":{", "\"encryption-keys\":[{}],\"properties\":{", "encryption-keys"}}) {
    EXPECT_THAT(read_failure(replaced(good, c.from, c.to)), HasSubstr(c.message))
        << c.from << " -> " << c.to;
  }
  EXPECT_EQ(metadata_from_json(replaced(good, "\"format-version\":2", "\"format-version\":1"))
                .error()
                .code(),
            Code::kUnsupported);
}

TEST(TableMetadata, RefusesEveryPrefixAndSurvivesEveryFlippedByte) {
  std::string good = metadata_to_json(version_three_table());
  for (std::size_t length = 0; length < good.size(); length += 23) {
    EXPECT_FALSE(metadata_from_json(std::string_view(good).substr(0, length)).has_value());
  }
  for (std::size_t i = 0; i < good.size(); i += 29) {
    for (char c : {'0', '"', '}', '\xff'}) {
      std::string bad = good;
      bad[i] = c;
      auto m = metadata_from_json(bad);
      if (!m.has_value()) continue;
      EXPECT_TRUE(metadata_from_json(metadata_to_json(*m)).has_value());
    }
  }
}

}  // namespace
}  // namespace duckicelake::iceberg
