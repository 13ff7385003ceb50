// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/commit_test_support.h"
#include "iceberg/table_metadata_json.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

template <class T>
T only(std::string_view update) {
  auto updates = updates_of(fmt::format("[{}]", update));
  EXPECT_TRUE(updates.has_value()) << updates.error().to_string();
  if (!updates.has_value() || updates->size() != 1 || !std::holds_alternative<T>((*updates)[0])) {
    ADD_FAILURE() << update;
    return T{};
  }
  return std::get<T>((*updates)[0]);
}

std::string failure(std::string_view updates) {
  auto read = updates_of(updates);
  if (read.has_value()) return "read";
  EXPECT_EQ(read.error().code(), Code::kInvalidArgument) << updates;
  return read.error().message();
}

TEST(TableUpdate, ReadsEveryActionOfTheSpecification) {
  EXPECT_EQ(only<AssignUuid>(R"({"action":"assign-uuid","uuid":"u"})").uuid, "u");
  EXPECT_EQ(only<UpgradeFormatVersion>(R"({"action":"upgrade-format-version","format-version":3})")
                .format_version,
            3);
  auto schema = only<AddSchema>(
      R"({"action":"add-schema","last-column-id":9,"schema":{"type":"struct","schema-id":7,"identifier-field-ids":[1],"fields":[{"id":1,"name":"a","required":true,"type":"int","doc":"d"}]}})");
  EXPECT_EQ(schema.schema.schema_id, 7);
  EXPECT_EQ(schema.schema.fields.at(0).doc, "d");
  EXPECT_EQ(schema.last_column_id, 9);
  EXPECT_EQ(only<AddSchema>(R"({"action":"add-schema","schema":{"type":"struct","fields":[]}})")
                .last_column_id,
            std::nullopt);
  EXPECT_EQ(only<SetCurrentSchema>(R"({"action":"set-current-schema","schema-id":-1})").schema_id,
            kLastAdded);
  auto spec = only<AddPartitionSpec>(
      R"({"action":"add-spec","spec":{"fields":[{"source-id":1,"name":"a","transform":"identity"},{"source-id":2,"field-id":1005,"name":"b","transform":"bucket[8]"}]}})");
  EXPECT_EQ(spec.spec.fields.at(0).field_id, 0);
  EXPECT_EQ(spec.spec.fields.at(1).field_id, 1005);
  EXPECT_EQ(only<SetDefaultSpec>(R"({"action":"set-default-spec","spec-id":4})").spec_id, 4);
  EXPECT_EQ(
      only<AddSortOrder>(
          R"({"action":"add-sort-order","sort-order":{"order-id":3,"fields":[{"source-id":1,"transform":"identity","direction":"desc","null-order":"nulls-last"}]}})")
          .order.fields.size(),
      1U);
  EXPECT_EQ(only<SetDefaultSortOrder>(R"({"action":"set-default-sort-order","sort-order-id":2})")
                .order_id,
            2);
  auto snapshot = only<AddSnapshot>(
      R"({"action":"add-snapshot","snapshot":{"snapshot-id":3,"sequence-number":2,"timestamp-ms":1,"manifest-list":"s3://b/l","summary":{"operation":"append"},"schema-id":0,"first-row-id":4,"added-rows":5,"key-id":"k1"}})");
  EXPECT_EQ(snapshot.snapshot.snapshot_id, 3);
  EXPECT_EQ(snapshot.snapshot.key_id, "k1");
  auto ref = only<SetSnapshotRef>(
      R"({"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":3,"min-snapshots-to-keep":2,"max-snapshot-age-ms":10,"max-ref-age-ms":20})");
  EXPECT_EQ(ref.name, "main");
  EXPECT_EQ(ref.ref, (SnapshotRef{3, RefType::kBranch, 2, 10, 20}));
  EXPECT_THAT(only<RemoveSnapshots>(
                  R"({"action":"remove-snapshots","snapshot-ids":[1,9223372036854775807]})")
                  .snapshot_ids,
              ::testing::ElementsAre(1, 9223372036854775807));
  EXPECT_EQ(only<RemoveSnapshotRef>(R"({"action":"remove-snapshot-ref","ref-name":"t"})").name,
            "t");
  EXPECT_EQ(only<SetLocation>(R"({"action":"set-location","location":"s3://b/x"})").location,
            "s3://b/x");
  EXPECT_EQ(
      only<SetProperties>(R"({"action":"set-properties","updates":{"a":"b","c":null}})").updates,
      (std::map<std::string, std::string>{{"a", "b"}}));
  EXPECT_THAT(
      only<RemoveProperties>(R"({"action":"remove-properties","removals":["a","b"]})").removals,
      ::testing::ElementsAre("a", "b"));
  auto statistics = only<SetStatistics>(
      R"({"action":"set-statistics","snapshot-id":1,"statistics":{"snapshot-id":5,"statistics-path":"s3://b/s","file-size-in-bytes":4,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"t","snapshot-id":5,"sequence-number":1,"fields":[1],"properties":{"ndv":"1"}}],"later":{"x":1}}})");
  EXPECT_EQ(statistics.snapshot_id, 5);
  EXPECT_EQ(statistics_snapshot_id(statistics.json).value(), 5);
  EXPECT_THAT(statistics.json, HasSubstr("\"later\":{\"x\":1}"));
  EXPECT_EQ(only<RemoveStatistics>(R"({"action":"remove-statistics","snapshot-id":5})").snapshot_id,
            5);
  EXPECT_EQ(
      only<SetPartitionStatistics>(
          R"({"action":"set-partition-statistics","partition-statistics":{"snapshot-id":6,"statistics-path":"s3://b/s","file-size-in-bytes":4}})")
          .snapshot_id,
      6);
  EXPECT_EQ(
      only<RemovePartitionStatistics>(R"({"action":"remove-partition-statistics","snapshot-id":6})")
          .snapshot_id,
      6);
  EXPECT_THAT(only<RemovePartitionSpecs>(R"({"action":"remove-partition-specs","spec-ids":[1,2]})")
                  .spec_ids,
              ::testing::ElementsAre(1, 2));
  EXPECT_THAT(only<RemoveSchemas>(R"({"action":"remove-schemas","schema-ids":[3]})").schema_ids,
              ::testing::ElementsAre(3));
  auto key = only<AddEncryptionKey>(
      R"({"action":"add-encryption-key","encryption-key":{"key-id":"k\"1","encrypted-key-metadata":"a2V5","encrypted-by-id":"k0","properties":{"a":"b"}}})");
  EXPECT_EQ(key.key_id, "k\"1");
  EXPECT_EQ(encryption_key_id(key.json).value(), "k\"1");
  EXPECT_EQ(only<RemoveEncryptionKey>(R"({"action":"remove-encryption-key","key-id":"k"})").key_id,
            "k");
}

TEST(TableUpdate, ComparesActionsInAnyCaseAndNamesThemBack) {
  auto update = updates_of(R"([{"action":"Set-Location","location":"l"}])").value();
  EXPECT_EQ(action_name(update[0]), "set-location");
  EXPECT_EQ(action_name(TableUpdate(AssignUuid{})), "assign-uuid");
  EXPECT_EQ(action_name(TableUpdate(RemoveEncryptionKey{})), "remove-encryption-key");
}

TEST(TableUpdate, RefusesUnknownAndMalformedUpdatesWithTheirPlace) {
  struct Case {
    std::string_view updates, message;
  };
  for (
      const Case& c : std::initializer_list<Case>{
          {R"({})", "expected an array"},
          {R"([1])", "[0]: expected an object"},
          {R"([{}])", "\"action\" is missing"},
          {R"([{"action":1}])", "[0].action"},
          {R"([{"action":"enable-row-lineage"}])",
           "unknown update of a table: \"enable-row-lineage\""},
          {R"([{"action":"add-view-version"}])", "unknown update"},
          {R"([{"action":"set-location","location":"a"},{"action":"set-location"}])",
           "[1]: the member \"location\""},
          {R"([{"action":"set-location","location":""}])", "the location is empty"},
          {R"([{"action":"set-properties","updated":{"a":"b"}}])", "\"updates\" is missing"},
          {R"([{"action":"set-properties","updates":{"a":1}}])",
           "[0].updates.a: expected a string"},
          {R"([{"action":"remove-properties","removed":["a"]}])", "\"removals\" is missing"},
          {R"([{"action":"remove-properties","removals":[1]}])", "[0].removals[0]"},
          {R"([{"action":"add-schema","schema":{"type":"list"}}])", "must be of type struct"},
          {R"([{"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int"},{"id":1,"name":"b","required":true,"type":"int"}]}}])",
           "used twice"},
          {R"([{"action":"add-spec","spec":{"fields":[{"source-id":1,"name":"","transform":"identity"}]}}])",
           "the name is empty"},
          {R"([{"action":"add-spec","spec":{"fields":[{"source-id":1,"name":"a","transform":"bucket[0]"}]}}])",
           "positive parameter"},
          {R"([{"action":"add-spec","spec":{"fields":[{"source-id":1,"field-id":0,"name":"a","transform":"identity"}]}}])",
           "not positive"},
          {R"([{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-last"}]}}])",
           "order-id 0"},
          {R"([{"action":"set-snapshot-ref","ref-name":"","type":"tag","snapshot-id":1}])",
           "ref-name is empty"},
          {R"([{"action":"set-snapshot-ref","ref-name":"a","type":"tag","snapshot-id":1,"min-snapshots-to-keep":1}])",
           "a tag keeps no other"},
          {R"([{"action":"remove-snapshots","snapshot-ids":[1.5]}])", "snapshot-ids[0]"},
          {R"([{"action":"add-snapshot","snapshot":{"snapshot-id":1,"timestamp-ms":1}}])",
           "manifest-list"},
          {R"([{"action":"set-statistics","snapshot-id":5,"statistics":{"snapshot-id":5,"statistics-path":"p"}}])",
           "file-size-in-bytes"},
          {R"([{"action":"set-statistics","statistics":{"snapshot-id":5,"statistics-path":"p","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"t"}]}}])",
           "blob-metadata[0]"},
          {R"([{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":5,"statistics-path":"","file-size-in-bytes":1}}])",
           "statistics-path is empty"},
          {R"([{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"!"}}])",
           "not base64"},
          {R"([{"action":"add-encryption-key","encryption-key":{"key-id":"","encrypted-key-metadata":""}}])",
           "key-id is empty"}}) {
    EXPECT_THAT(failure(c.updates), HasSubstr(c.message)) << c.updates;
  }
}

TEST(TableUpdate, BoundsTheNumberOfUpdates) {
  auto repeated = [](std::string_view update, std::size_t count) {
    std::string json = "[";
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) json += ',';
      json += update;
    }
    return json + "]";
  };
  std::string_view remove = R"({"action":"remove-schemas","schema-ids":[]})";
  EXPECT_EQ(failure(repeated(remove, kMaxUpdates)), "read");
  EXPECT_THAT(failure(repeated(remove, kMaxUpdates + 1)), HasSubstr("over the limit of 10000"));
  std::string_view add = R"({"action":"add-spec","spec":{"fields":[]}})";
  EXPECT_EQ(failure(repeated(add, kMaxDefinitionUpdates)), "read");
  EXPECT_THAT(failure(repeated(add, kMaxDefinitionUpdates + 1)), HasSubstr("over 1000 changes"));
}

TEST(TableUpdate, KeepsLongNamesOutOfMessages) {
  std::string json = fmt::format(R"([{{"action":"{}"}}])", std::string(1'000'000, 'x'));
  EXPECT_LT(failure(json).size(), 200U);
}

TEST(TableMetadata, KeepsEncryptionKeysAndTheKeyOfASnapshot) {
  TableMetadata m = base_table();
  m.format_version = 3;
  m.next_row_id = 0;
  m.encryption_keys = {R"({"key-id":"a","encrypted-key-metadata":"a2V5"})",
                       R"({"key-id":"b","encrypted-key-metadata":"a2V5","encrypted-by-id":"a"})"};
  Snapshot s;
  s.snapshot_id = 1;
  s.manifest_list = "s3://b/l";
  s.timestamp_ms = 1700000000000;
  s.key_id = "b";
  m.snapshots.push_back(s);
  auto again = metadata_from_json(metadata_to_json(m));
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(*again, m);
  m.encryption_keys.push_back(m.encryption_keys[0]);
  EXPECT_THAT(metadata_from_json(metadata_to_json(m)).error().message(), HasSubstr("used twice"));
}

}  // namespace
}  // namespace duckicelake::iceberg
