// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "avro/container.h"
#include "manifest/manifest.h"
#include "manifest/manifest_schema.h"
#include "manifest/test_manifests.h"

namespace duckicelake::manifest {
namespace {

using testing::entries_of;
using testing::header_of;
using testing::test_columns;
using testing::TestColumn;

std::vector<ManifestFile> some_files(int format_version) {
  std::vector<ManifestFile> files(3);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto n = static_cast<std::int32_t>(i);
    files[i].manifest_path = "s3://bucket/metadata/é-m" + std::to_string(i) + ".avro";
    files[i].manifest_length = 7'000'000'000 + n;
    files[i].partition_spec_id = n;
    files[i].sequence_number = 10 + n;
    files[i].min_sequence_number = 5 + n;
    files[i].added_snapshot_id = 9'000'000'000'000'000'000 + n;
    files[i].added_files_count = 1 + n;
    files[i].existing_files_count = 2 + n;
    files[i].deleted_files_count = 3 + n;
    files[i].added_rows_count = 4'000'000'000 + n;
    files[i].existing_rows_count = 5 + n;
    files[i].deleted_rows_count = 6 + n;
  }
  files[1].content = ManifestContent::kDeletes;
  files[1].key_metadata = std::string("\0\1", 2);
  files[2].partitions = {{.contains_null = true,
                          .contains_nan = std::nullopt,
                          .lower_bound = iceberg::value_of_int(1),
                          .upper_bound = iceberg::value_of_int(5)},
                         {.contains_null = false,
                          .contains_nan = true,
                          .lower_bound = std::nullopt,
                          .upper_bound = std::nullopt}};
  if (format_version >= 3) files[0].first_row_id = 0;
  if (format_version >= 3) files[2].first_row_id = 123'456'789'012;
  return files;
}

ManifestListHeader list_header(int format_version) {
  ManifestListHeader header;
  header.format_version = format_version;
  header.snapshot_id = 77;
  header.sequence_number = 12;
  if (format_version >= 3) header.first_row_id = 1000;
  return header;
}

TEST(ManifestList, ComesBack) {
  for (const int version : {2, 3}) {
    for (const auto& files : {some_files(version), std::vector<ManifestFile>{}}) {
      const Result<std::string> bytes = encode_manifest_list(list_header(version), files);
      ASSERT_TRUE(bytes.has_value()) << bytes.error().to_string();
      const auto decoded = decode_manifest_list(*bytes, files.size());
      ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
      EXPECT_EQ(*decoded, files);
    }
  }
}

TEST(ManifestList, TheHeaderNamesTheSnapshot) {
  ManifestListHeader header = list_header(3);
  const auto value = [&](std::string_view key) {
    const std::string bytes = encode_manifest_list(header, {}).value();
    const avro::ContainerReader file = avro::ContainerReader::open(bytes, {}).value();
    const std::string* text = file.find_metadata(key);
    return text == nullptr ? std::string("absent") : *text;
  };
  EXPECT_EQ(value("snapshot-id"), "77");
  EXPECT_EQ(value("parent-snapshot-id"), "null");
  EXPECT_EQ(value("sequence-number"), "12");
  EXPECT_EQ(value("format-version"), "3");
  EXPECT_EQ(value("first-row-id"), "1000");
  header = list_header(2);
  header.parent_snapshot_id = 76;
  EXPECT_EQ(value("parent-snapshot-id"), "76");
  EXPECT_EQ(value("format-version"), "2");
  EXPECT_EQ(value("first-row-id"), "absent");
}

TEST(ManifestList, TheSchemaIsThatOfTheSpecification) {
  const std::string version2 =
      R"({"type":"record","name":"manifest_file","fields":[)"
      R"({"name":"manifest_path","type":"string","field-id":500},)"
      R"({"name":"manifest_length","type":"long","field-id":501},)"
      R"({"name":"partition_spec_id","type":"int","field-id":502},)"
      R"({"name":"content","type":"int","field-id":517},)"
      R"({"name":"sequence_number","type":"long","field-id":515},)"
      R"({"name":"min_sequence_number","type":"long","field-id":516},)"
      R"({"name":"added_snapshot_id","type":"long","field-id":503},)"
      R"({"name":"added_files_count","type":"int","field-id":504},)"
      R"({"name":"existing_files_count","type":"int","field-id":505},)"
      R"({"name":"deleted_files_count","type":"int","field-id":506},)"
      R"({"name":"added_rows_count","type":"long","field-id":512},)"
      R"({"name":"existing_rows_count","type":"long","field-id":513},)"
      R"({"name":"deleted_rows_count","type":"long","field-id":514},)"
      R"({"name":"partitions","type":["null",{"type":"array","items":{"type":"record","name":"r508","fields":[)"
      R"({"name":"contains_null","type":"boolean","field-id":509},)"
      R"({"name":"contains_nan","type":["null","boolean"],"default":null,"field-id":518},)"
      R"({"name":"lower_bound","type":["null","bytes"],"default":null,"field-id":510},)"
      R"({"name":"upper_bound","type":["null","bytes"],"default":null,"field-id":511}]},"element-id":508}],"default":null,"field-id":507},)"
      R"({"name":"key_metadata","type":["null","bytes"],"default":null,"field-id":519})";
  EXPECT_EQ(list_schema(2).to_json(), version2 + "]}");
  EXPECT_EQ(
      list_schema(3).to_json(),
      version2 +
          R"(,{"name":"first_row_id","type":["null","long"],"default":null,"field-id":520}]})");
}

TEST(ManifestList, RefusesRowIdsWhereTheyDoNotBelong) {
  std::vector<ManifestFile> files(1);
  files[0].first_row_id = 5;
  EXPECT_TRUE(encode_manifest_list(list_header(3), files).has_value());
  EXPECT_FALSE(encode_manifest_list(list_header(2), files).has_value());
  files[0].content = ManifestContent::kDeletes;
  EXPECT_FALSE(encode_manifest_list(list_header(3), files).has_value());
}

TEST(ManifestList, RefusesUnknownCounts) {
  std::vector<ManifestFile> files(1);
  files[0].existing_rows_count = -1;
  EXPECT_FALSE(encode_manifest_list(list_header(2), files).has_value());
}

const TestColumn& column_named(const std::vector<TestColumn>& columns, std::string_view name) {
  for (const TestColumn& column : columns) {
    if (column.name == name) return column;
  }
  ADD_FAILURE() << name;
  return columns[0];
}

FieldSummary summary_of(std::string_view name) {
  const std::vector<TestColumn> columns = test_columns();
  const std::vector<TestColumn> one = {column_named(columns, name)};
  const auto file = summarize(header_of(one, 3), entries_of(one, 3), 1, 1);
  return file.value().partitions.at(0);
}

TEST(Summarize, BoundsAreOrderedByType) {
  using iceberg::value_of_int;
  const FieldSummary ints = summary_of("int");
  EXPECT_TRUE(ints.contains_null);
  EXPECT_FALSE(ints.contains_nan.has_value());
  EXPECT_EQ(ints.lower_bound, value_of_int(std::numeric_limits<std::int32_t>::min()));
  EXPECT_EQ(ints.upper_bound, value_of_int(std::numeric_limits<std::int32_t>::max()));
  const FieldSummary decimals = summary_of("decimal4");
  EXPECT_EQ(decimals.lower_bound, testing::bytes_of("ff7f"));
  EXPECT_EQ(decimals.upper_bound, testing::bytes_of("270f"));
  const FieldSummary voids = summary_of("void");
  EXPECT_TRUE(voids.contains_null);
  EXPECT_FALSE(voids.lower_bound.has_value());
}

TEST(Summarize, NanIsNotABound) {
  const FieldSummary floats = summary_of("float");
  EXPECT_EQ(floats.contains_nan, true);
  EXPECT_EQ(floats.lower_bound, iceberg::value_of_float(-0.0F));
  EXPECT_EQ(floats.upper_bound, iceberg::value_of_float(std::numeric_limits<float>::infinity()));
}

TEST(Summarize, LongStringsAreCutToTrueBounds) {
  const FieldSummary strings = summary_of("string");
  EXPECT_EQ(strings.lower_bound, "");
  EXPECT_EQ(strings.upper_bound, "é😀");
  std::vector<TestColumn> columns = test_columns();
  std::vector<TestColumn> one = {column_named(columns, "string")};
  const std::string highest = "\xF4\x8F\xBF\xBF";  // U+10FFFF
  std::string long_text;
  for (int i = 0; i < 20; ++i) long_text += highest;
  one[0].values = {"abcdefghijklmnopqrst", long_text};
  const ManifestFile file = summarize(header_of(one, 2), entries_of(one, 2), 1, 1).value();
  EXPECT_EQ(file.partitions[0].lower_bound, "abcdefghijklmnop");
  // No shorter upper bound exists; leaving it out would say "all null".
  EXPECT_EQ(file.partitions[0].upper_bound, long_text);
}

TEST(Summarize, CountsFilesAndRowsByStatus) {
  std::vector<ManifestEntry> entries = entries_of({}, 2);  // added, deleted, existing
  ASSERT_EQ(entries.size(), 3U);
  const ManifestFile file = summarize(header_of({}, 2), entries, 42, 9).value();
  EXPECT_EQ(file.added_snapshot_id, 42);
  EXPECT_EQ(file.added_files_count, 1);
  EXPECT_EQ(file.deleted_files_count, 1);
  EXPECT_EQ(file.existing_files_count, 1);
  EXPECT_EQ(file.added_rows_count, 100);
  EXPECT_EQ(file.deleted_rows_count, 101);
  EXPECT_EQ(file.existing_rows_count, 102);
  EXPECT_TRUE(file.partitions.empty());
  EXPECT_EQ(file.content, ManifestContent::kData);
  EXPECT_EQ(file.partition_spec_id, 0);
}

TEST(Summarize, TheLowestSequenceNumberIsThatOfLiveEntries) {
  const auto lowest = [](std::vector<ManifestEntry> entries) {
    return summarize(header_of({}, 2), entries, 1, 9).value().min_sequence_number;
  };
  ManifestEntry added;
  ManifestEntry deleted;
  deleted.status = EntryStatus::kDeleted;
  deleted.sequence_number = 1;
  ManifestEntry existing;
  existing.status = EntryStatus::kExisting;
  existing.sequence_number = 5;
  EXPECT_EQ(lowest({}), 9);
  EXPECT_EQ(lowest({deleted}), 9);
  EXPECT_EQ(lowest({added, deleted}), 9);
  EXPECT_EQ(lowest({added, deleted, existing}), 5);
}

TEST(Summarize, RefusesRowCountsBeyond64Bits) {
  std::vector<ManifestEntry> entries(2);
  entries[0].data_file.record_count = std::numeric_limits<std::int64_t>::max();
  entries[1].data_file.record_count = 1;
  EXPECT_FALSE(summarize(header_of({}, 2), entries, 1, 1).has_value());
  entries[1].data_file.record_count = -1;
  EXPECT_FALSE(summarize(header_of({}, 2), entries, 1, 1).has_value());
}

ManifestFile listed() {
  ManifestFile file;
  file.sequence_number = 8;
  file.added_snapshot_id = 80;
  file.first_row_id = 1000;
  return file;
}

TEST(Inherit, FillsWhatIsNull) {
  std::vector<ManifestEntry> entries(4);
  for (ManifestEntry& entry : entries) entry.data_file.record_count = 10;
  entries[1].snapshot_id = 70;
  entries[1].sequence_number = 7;
  entries[1].data_file.first_row_id = 5;
  entries[2].status = EntryStatus::kDeleted;
  entries[2].sequence_number = entries[2].file_sequence_number = 3;
  ASSERT_TRUE(inherit(listed(), entries).has_value());
  EXPECT_EQ(entries[0].snapshot_id, 80);
  EXPECT_EQ(entries[0].sequence_number, 8);
  EXPECT_EQ(entries[0].file_sequence_number, 8);
  EXPECT_EQ(entries[0].data_file.first_row_id, 1000);
  EXPECT_EQ(entries[1].snapshot_id, 70);
  EXPECT_EQ(entries[1].sequence_number, 7);
  EXPECT_EQ(entries[1].file_sequence_number, 8);
  EXPECT_EQ(entries[1].data_file.first_row_id, 5);
  EXPECT_EQ(entries[2].sequence_number, 3);
  EXPECT_FALSE(entries[2].data_file.first_row_id.has_value());
  EXPECT_EQ(entries[3].data_file.first_row_id, 1010);
}

TEST(Inherit, DeleteFilesGetNoRowIds) {
  ManifestFile file = listed();
  file.content = ManifestContent::kDeletes;
  std::vector<ManifestEntry> entries(1);
  ASSERT_TRUE(inherit(file, entries).has_value());
  EXPECT_FALSE(entries[0].data_file.first_row_id.has_value());
}

TEST(Inherit, RefusesExistingEntriesWithoutSequenceNumbers) {
  std::vector<ManifestEntry> entries(1);
  entries[0].status = EntryStatus::kExisting;
  EXPECT_FALSE(inherit(listed(), entries).has_value());
  // In a manifest of version 1 it is 0.
  ManifestFile first = listed();
  first.sequence_number = 0;
  ASSERT_TRUE(inherit(first, entries).has_value());
  EXPECT_EQ(entries[0].sequence_number, 0);
}

TEST(Inherit, RefusesRowIdsBeyond64Bits) {
  std::vector<ManifestEntry> entries(1);
  entries[0].data_file.record_count = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(inherit(listed(), entries).has_value());
}

}  // namespace
}  // namespace duckicelake::manifest
