// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest.h"

#include <gtest/gtest.h>

#include "avro/container.h"
#include "manifest/manifest_schema.h"
#include "manifest/test_manifests.h"

namespace duckicelake::manifest {
namespace {

using testing::delete_entries_of;
using testing::entries_of;
using testing::header_of;
using testing::test_columns;
using testing::TestColumn;

std::vector<TestColumn> columns_of(int format_version) {
  std::vector<TestColumn> columns;
  for (TestColumn& column : test_columns()) {
    if (column.format_version <= format_version) columns.push_back(std::move(column));
  }
  return columns;
}

void expect_round_trip(const ManifestHeader& header, const std::vector<ManifestEntry>& entries) {
  const Result<std::string> bytes = encode_manifest(header, entries);
  ASSERT_TRUE(bytes.has_value()) << bytes.error().to_string();
  const Result<DecodedManifest> decoded = decode_manifest(*bytes, entries.size());
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(decoded->header.format_version, header.format_version);
  EXPECT_EQ(decoded->header.content, header.content);
  EXPECT_EQ(decoded->header.schema, header.schema);
  EXPECT_EQ(decoded->header.spec, header.spec);
  EXPECT_EQ(decoded->entries, entries);
}

TEST(Manifest, EveryPartitionTypeComesBack) {
  for (const int version : {2, 3}) {
    for (const TestColumn& column : columns_of(version)) {
      SCOPED_TRACE(column.name);
      const std::vector<TestColumn> one = {column};
      expect_round_trip(header_of(one, version), entries_of(one, version));
    }
    const std::vector<TestColumn> all = columns_of(version);
    expect_round_trip(header_of(all, version), entries_of(all, version));
  }
}

TEST(Manifest, DeleteFilesComeBack) {
  for (const int version : {2, 3}) {
    const std::vector<TestColumn> columns = columns_of(version);
    ManifestHeader header = header_of(columns, version);
    header.content = ManifestContent::kDeletes;
    expect_round_trip(header, delete_entries_of(columns, version));
  }
}

TEST(Manifest, UnpartitionedAndEmptyManifestsComeBack) {
  for (const int version : {2, 3}) {
    expect_round_trip(header_of({}, version), entries_of({}, version));
    expect_round_trip(header_of({}, version), {});
  }
}

TEST(Manifest, TheHeaderSaysWhatTheManifestHolds) {
  ManifestHeader header = header_of(columns_of(2), 2);
  const auto check = [&](std::string_view content, std::string_view version) {
    const std::string bytes = encode_manifest(header, {}).value();
    const avro::ContainerReader file = avro::ContainerReader::open(bytes, {}).value();
    EXPECT_EQ(*file.find_metadata("content"), content);
    EXPECT_EQ(*file.find_metadata("format-version"), version);
    EXPECT_EQ(*file.find_metadata("schema-id"), "7");
    EXPECT_EQ(*file.find_metadata("partition-spec-id"), "5");
    EXPECT_TRUE(file.find_metadata("partition-spec")->starts_with("[{"));
    EXPECT_TRUE(file.find_metadata("schema")->starts_with("{"));
    EXPECT_EQ(*file.find_metadata("avro.codec"), "deflate");
  };
  check("data", "2");
  header.content = ManifestContent::kDeletes;
  check("deletes", "2");
  header.format_version = 3;
  check("deletes", "3");
}

TEST(Manifest, TheEntrySchemaIsThatOfTheSpecification) {
  const ManifestHeader header = header_of({test_columns()[27]}, 3);
  const auto columns = partition_columns(header.schema, header.spec).value();
  const std::string map =
      R"(["null",{"type":"array","items":{"type":"record","name":"kK_vV","fields":[)"
      R"({"name":"key","type":"int","field-id":K},{"name":"value","type":"T","field-id":V}]},)"
      R"("logicalType":"map"}],"default":null)";
  const auto map_of = [&](std::string_view key, std::string_view value, std::string_view type) {
    std::string text;
    for (const char c : map) {
      if (c == 'K')
        text += key;
      else if (c == 'V')
        text += value;
      else if (c == 'T' && text.ends_with("\"type\":\""))
        text += type;
      else
        text.push_back(c);
    }
    return text;
  };
  EXPECT_EQ(
      entry_schema(3, columns).to_json(),
      R"({"type":"record","name":"manifest_entry","fields":[)"
      R"({"name":"status","type":"int","field-id":0},)"
      R"({"name":"snapshot_id","type":["null","long"],"default":null,"field-id":1},)"
      R"({"name":"sequence_number","type":["null","long"],"default":null,"field-id":3},)"
      R"({"name":"file_sequence_number","type":["null","long"],"default":null,"field-id":4},)"
      R"({"name":"data_file","type":{"type":"record","name":"r2","fields":[)"
      R"({"name":"content","type":"int","field-id":134},)"
      R"({"name":"file_path","type":"string","field-id":100},)"
      R"({"name":"file_format","type":"string","field-id":101},)"
      R"({"name":"partition","type":{"type":"record","name":"r102","fields":[)"
      R"({"name":"na_xEFve_x20col_x2E_x65E5_x672C_xD83D_xDE00","type":["null","int"],"default":null,)"
      R"("iceberg-field-name":"naïve col.日本😀","field-id":1000}]},"field-id":102},)"
      R"({"name":"record_count","type":"long","field-id":103},)"
      R"({"name":"file_size_in_bytes","type":"long","field-id":104},)"
      R"({"name":"column_sizes","type":)" +
          map_of("117", "118", "long") +
          R"(,"field-id":108},)"
          R"({"name":"value_counts","type":)" +
          map_of("119", "120", "long") +
          R"(,"field-id":109},)"
          R"({"name":"null_value_counts","type":)" +
          map_of("121", "122", "long") +
          R"(,"field-id":110},)"
          R"({"name":"nan_value_counts","type":)" +
          map_of("138", "139", "long") +
          R"(,"field-id":137},)"
          R"({"name":"lower_bounds","type":)" +
          map_of("126", "127", "bytes") +
          R"(,"field-id":125},)"
          R"({"name":"upper_bounds","type":)" +
          map_of("129", "130", "bytes") +
          R"(,"field-id":128},)"
          R"({"name":"key_metadata","type":["null","bytes"],"default":null,"field-id":131},)"
          R"({"name":"split_offsets","type":["null",{"type":"array","items":"long","element-id":133}],"default":null,"field-id":132},)"
          R"({"name":"equality_ids","type":["null",{"type":"array","items":"int","element-id":136}],"default":null,"field-id":135},)"
          R"({"name":"sort_order_id","type":["null","int"],"default":null,"field-id":140},)"
          R"({"name":"first_row_id","type":["null","long"],"default":null,"field-id":142},)"
          R"({"name":"referenced_data_file","type":["null","string"],"default":null,"field-id":143},)"
          R"({"name":"content_offset","type":["null","long"],"default":null,"field-id":144},)"
          R"({"name":"content_size_in_bytes","type":["null","long"],"default":null,"field-id":145}]},"field-id":2}]})");
  const std::string version2 = entry_schema(2, columns).to_json();
  for (const char* name : {"first_row_id", "content_offset", "content_size_in_bytes"}) {
    EXPECT_EQ(version2.find(name), std::string::npos) << name;
  }
}

TEST(Manifest, NamesBecomeValidAvroNames) {
  EXPECT_EQ(make_avro_name("plain_9"), "plain_9");
  EXPECT_EQ(make_avro_name("a.b"), "a_x2Eb");
  EXPECT_EQ(make_avro_name("9a9"), "_9a9");
  EXPECT_EQ(make_avro_name("a b/c"), "a_x20b_x2Fc");
  EXPECT_EQ(make_avro_name("😀"), "_xD83D_xDE00");
  EXPECT_EQ(make_avro_name("\xFF\xC3"), "_xFF_xC3");
  EXPECT_EQ(make_avro_name(""), "_");
}

TEST(Manifest, NamesThatWouldClashGetTheFieldId) {
  std::vector<TestColumn> columns = {test_columns()[1], test_columns()[2]};
  columns[0].name = "a.b";
  columns[1].name = "a_x2Eb";
  const ManifestHeader header = header_of(columns, 2);
  const auto partition = partition_columns(header.schema, header.spec).value();
  EXPECT_EQ(partition[0].avro_name, "a_x2Eb");
  EXPECT_EQ(partition[1].avro_name, "a_x2Eb_1001");
  expect_round_trip(header, entries_of(columns, 2));
}

TEST(Manifest, DecimalsTakeTheFewestBytesOfTheirPrecision) {
  EXPECT_EQ(decimal_size(1), 1U);
  EXPECT_EQ(decimal_size(2), 1U);
  EXPECT_EQ(decimal_size(3), 2U);
  EXPECT_EQ(decimal_size(9), 4U);
  EXPECT_EQ(decimal_size(10), 5U);
  EXPECT_EQ(decimal_size(18), 8U);
  EXPECT_EQ(decimal_size(19), 9U);
  EXPECT_EQ(decimal_size(38), 16U);
}

TEST(Manifest, AFieldWhoseSourceIsGoneIsNull) {
  const std::vector<TestColumn> columns = {test_columns()[15],
                                           test_columns()[19]};  // identity, bucket
  ManifestHeader header = header_of(columns, 2);
  std::vector<ManifestEntry> entries = entries_of(columns, 2);
  header.schema.fields.resize(1);
  const std::string bytes = encode_manifest(header, entries).value();
  const DecodedManifest decoded = decode_manifest(bytes, 100).value();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_FALSE(decoded.entries[i].data_file.partition[0].has_value());
    // The result of bucket does not depend on the source.
    EXPECT_EQ(decoded.entries[i].data_file.partition[1], entries[i].data_file.partition[1]);
  }
}

TEST(Manifest, RefusesEntriesThatBreakTheRules) {
  const ManifestHeader header = header_of({}, 2);
  ManifestHeader header3 = header_of({}, 3);
  ManifestHeader deletes = header3;
  deletes.content = ManifestContent::kDeletes;
  const auto refused = [](const ManifestHeader& h, auto change) {
    ManifestEntry entry;
    entry.data_file.file_path = "a";
    if (h.content == ManifestContent::kDeletes) entry.data_file.content = Content::kPositionDeletes;
    EXPECT_TRUE(encode_manifest(h, std::vector{entry}).has_value());
    change(entry);
    const Result<std::string> bytes = encode_manifest(h, std::vector{entry});
    EXPECT_FALSE(bytes.has_value());
    return !bytes.has_value() && bytes.error().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused(header, [](auto& e) { e.status = EntryStatus::kExisting; }));
  EXPECT_TRUE(refused(header, [](auto& e) { e.status = EntryStatus::kDeleted; }));
  EXPECT_TRUE(refused(header, [](auto& e) { e.data_file.content = Content::kPositionDeletes; }));
  EXPECT_TRUE(refused(header, [](auto& e) { e.data_file.record_count = -1; }));
  EXPECT_TRUE(refused(header, [](auto& e) { e.data_file.partition.emplace_back(); }));
  EXPECT_TRUE(refused(header, [](auto& e) { e.data_file.first_row_id = 0; }));
  EXPECT_TRUE(refused(header, [](auto& e) { e.data_file.equality_ids = {1}; }));
  EXPECT_TRUE(refused(deletes, [](auto& e) { e.data_file.content = Content::kData; }));
  EXPECT_TRUE(refused(deletes, [](auto& e) { e.data_file.first_row_id = 0; }));
  EXPECT_TRUE(refused(deletes, [](auto& e) { e.data_file.content_offset = 4; }));
  EXPECT_TRUE(refused(deletes, [](auto& e) { e.data_file.content = Content::kEqualityDeletes; }));
  header3.format_version = 4;
  EXPECT_FALSE(encode_manifest(header3, {}).has_value());
  header3.format_version = 1;
  EXPECT_FALSE(encode_manifest(header3, {}).has_value());
}

TEST(Manifest, RefusesPartitionValuesThatDoNotFitTheirType) {
  for (const TestColumn& column : test_columns()) {
    if (column.source.kind == iceberg::TypeKind::kBinary) continue;
    if (column.transform.kind == iceberg::TransformKind::kVoid) continue;
    const std::vector<TestColumn> one = {column};
    std::vector<ManifestEntry> entries = entries_of(one, 3);
    entries[0].data_file.partition[0] = std::string(17, '\xFF');
    EXPECT_FALSE(encode_manifest(header_of(one, 3), entries).has_value()) << column.name;
  }
}

TEST(Manifest, TenThousandEntriesAreWrittenLeanly) {
  const ManifestHeader header = header_of({}, 2);
  std::vector<ManifestEntry> entries(10'000);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    DataFile& file = entries[i].data_file;
    file.file_path =
        "s3://bucket/warehouse/table/data/ducklake-" + std::to_string(i * 7919) + ".parquet";
    file.record_count = 1000;
    for (std::int32_t id = 1; id <= 20; ++id) {
      file.column_sizes.emplace_back(id, 1000 + id);
      file.value_counts.emplace_back(id, 1000);
      file.null_value_counts.emplace_back(id, 0);
      file.lower_bounds.emplace_back(id, iceberg::value_of_long(static_cast<std::int64_t>(i)));
      file.upper_bounds.emplace_back(id,
                                     iceberg::value_of_long(static_cast<std::int64_t>(i + 1000)));
    }
  }
  const std::string bytes = encode_manifest(header, entries).value();
  EXPECT_LT(bytes.size(), std::size_t{4} << 20);
  EXPECT_EQ(decode_manifest(bytes, 10'000).value().entries, entries);
  EXPECT_FALSE(decode_manifest(bytes, 9'999).has_value());
}

}  // namespace
}  // namespace duckicelake::manifest
