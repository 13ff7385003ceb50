// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "avro/container.h"
#include "avro/reader.h"
#include "manifest/manifest.h"
#include "manifest/manifest_schema.h"
#include "manifest/test_manifests.h"

namespace duckicelake::manifest {
namespace {

using testing::entries_of;
using testing::header_of;
using testing::test_columns;

// The same file with uncompressed blocks, so that changed bytes reach the record reader.
std::string uncompressed(const std::string& bytes) {
  const avro::ContainerReader file = avro::ContainerReader::open(bytes, {}).value();
  avro::Metadata metadata;
  for (const auto& [key, value] : file.metadata()) {
    if (!key.starts_with("avro.")) metadata.emplace_back(key, value);
  }
  avro::ContainerWriter writer(file.schema(), metadata, avro::Codec::kNull);
  avro::Decoder blocks(std::string_view(bytes).substr(4));
  while (const std::size_t count = blocks.read_block_count(1)) {
    for (std::size_t i = 0; i < 2 * count; ++i) blocks.read_bytes();
  }
  blocks.read_fixed(16);
  while (blocks.remaining() > 0) {
    const std::int64_t count = blocks.read_long();
    const std::string plain =
        avro::decompress(avro::Codec::kDeflate, blocks.read_bytes(), 1 << 20).value();
    blocks.read_fixed(16);
    avro::Decoder records(plain);
    std::size_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      avro::skip(file.schema(), file.schema().root(), records);
      const std::size_t end = plain.size() - records.remaining();
      writer.record() += plain.substr(at, end - at);
      writer.end_record();
      at = end;
    }
  }
  return std::move(writer).finish();
}

// Where the blocks begin: the sync marker, with which a file ends, stands there for the first time.
std::size_t blocks_of(const std::string& file) {
  return file.find(file.substr(file.size() - 16)) + 16;
}

template <class Decode>
void expect_no_harm(const std::string& good, const Decode& decode) {
  ASSERT_TRUE(decode(good).has_value());
  // Most of the header is a JSON schema, whose reader has tests of its own: a sample is enough
  // there.
  const std::size_t blocks = blocks_of(good);
  for (std::size_t n = 0; n < good.size(); n += n < blocks ? 23 : 1) {
    const auto cut = decode(std::string_view(good).substr(0, n));
    if (!cut.has_value()) {
      EXPECT_EQ(cut.error().code(), Code::kInvalidArgument) << n;
    }
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[n] = static_cast<char>(bad[n] ^ flip);
      const auto changed = decode(bad);
      if (!changed.has_value()) {
        EXPECT_EQ(changed.error().code(), Code::kInvalidArgument)
            << n << ' ' << changed.error().to_string();
      }
    }
  }
}

TEST(ManifestHostile, ChangedBytesDoNoHarm) {
  const std::vector<testing::TestColumn> columns = {test_columns()[5], test_columns()[15],
                                                    test_columns()[16]};
  const std::string bytes = encode_manifest(header_of(columns, 3), entries_of(columns, 3)).value();
  const auto decode = [](std::string_view b) { return decode_manifest(b, 100); };
  expect_no_harm(bytes, decode);
  const std::string plain = uncompressed(bytes);
  EXPECT_EQ(decode(plain).value().entries, entries_of(columns, 3));
  expect_no_harm(plain, decode);
}

TEST(ManifestHostile, ChangedBytesOfAListDoNoHarm) {
  std::vector<ManifestFile> files(2);
  files[0].manifest_path = "s3://bucket/a.avro";
  files[0].partitions = {
      {.contains_null = true, .contains_nan = false, .lower_bound = "a", .upper_bound = "b"}};
  const std::string bytes = encode_manifest_list({}, files).value();
  const auto decode = [](std::string_view b) { return decode_manifest_list(b, 100); };
  expect_no_harm(bytes, decode);
  const std::string plain = uncompressed(bytes);
  EXPECT_EQ(decode(plain).value(), files);
  expect_no_harm(plain, decode);
}

// A manifest of one record whose bytes, and maybe schema, the test chooses.
Result<DecodedManifest> decode_forged(std::string_view record, std::string_view schema_json = {},
                                      const avro::Metadata& extra = {}) {
  const ManifestHeader header = header_of({}, 2);
  const std::string empty = encode_manifest(header, {}).value();
  const avro::ContainerReader file = avro::ContainerReader::open(empty, {}).value();
  avro::Metadata metadata;
  for (const auto& [key, value] : file.metadata()) {
    if (!key.starts_with("avro.")) metadata.emplace_back(key, value);
  }
  metadata.insert(metadata.end(), extra.begin(), extra.end());
  const avro::Schema schema =
      schema_json.empty() ? entry_schema(2, {}) : avro::Schema::parse(schema_json).value();
  avro::ContainerWriter writer(schema, metadata, avro::Codec::kDeflate);
  writer.record() += record;
  writer.end_record();
  return decode_manifest(std::move(writer).finish(), 10);
}

// Up to the map of column sizes, which follows.
std::string start_of_record() {
  std::string out;
  for (const int value : {1, 0, 0, 0, 0}) avro::append_long(out, value);  // status to content
  avro::append_bytes(out, "path");
  avro::append_bytes(out, "parquet");
  avro::append_long(out, 5);
  avro::append_long(out, 50);
  return out;
}

std::string end_of_record() {
  std::string out;
  for (int i = 0; i < 10; ++i) avro::append_long(out, 0);
  return out;
}

TEST(ManifestHostile, AcceptsTheForgedRecordWhenItIsGood) {
  const auto decoded = decode_forged(start_of_record() + std::string(1, '\0') + end_of_record());
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(decoded->entries[0].data_file.file_format, "PARQUET");
}

std::string map_of(std::int64_t count, const std::vector<std::pair<int, int>>& items) {
  std::string out;
  avro::append_long(out, 1);
  avro::append_long(out, count);
  for (const auto& [id, value] : items) {
    avro::append_long(out, id);
    avro::append_long(out, value);
  }
  avro::append_long(out, 0);
  return out;
}

TEST(ManifestHostile, RefusesMapsThatLie) {
  const auto decode = [](const std::string& map) {
    return decode_forged(start_of_record() + map + end_of_record());
  };
  EXPECT_TRUE(decode(map_of(2, {{2, 20}, {1, 10}})).has_value());
  EXPECT_EQ(decode(map_of(2, {{2, 20}, {1, 10}})).value().entries[0].data_file.column_sizes,
            (CountMap{{1, 10}, {2, 20}}));
  EXPECT_FALSE(decode(map_of(2, {{1, 20}, {1, 10}})).has_value());
  EXPECT_FALSE(decode(map_of(3, {{2, 20}, {1, 10}})).has_value());
  EXPECT_FALSE(decode(map_of(std::int64_t{1} << 30, {{2, 20}})).has_value());
  EXPECT_FALSE(decode(map_of(std::int64_t{1} << 62, {{2, 20}})).has_value());
  EXPECT_FALSE(decode(map_of(std::numeric_limits<std::int64_t>::min(), {{2, 20}})).has_value());
}

TEST(ManifestHostile, RefusesStringsOfAGigabyte) {
  std::string record;
  for (const int value : {1, 0, 0, 0, 0}) avro::append_long(record, value);
  avro::append_long(record, std::int64_t{1} << 30);
  EXPECT_FALSE(decode_forged(record + "path").has_value());
}

TEST(ManifestHostile, RefusesCompressionBombs) {
  // Millions of entries of a map that all compress to almost nothing.
  std::string map;
  avro::append_long(map, 1);
  avro::append_long(map, std::int64_t{30} << 20);
  map.append(std::size_t{60} << 20, '\0');
  const auto decoded = decode_forged(start_of_record() + map);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code(), Code::kInvalidArgument);
}

TEST(ManifestHostile, RefusesOtherShapes) {
  std::string schema = entry_schema(2, {}).to_json();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = schema;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return decode_forged("", changed);
  };
  EXPECT_FALSE(
      with(R"("name":"status","type":"int")", R"("name":"status","type":"string")").has_value());
  EXPECT_FALSE(
      with(R"("type":"string","field-id":100)", R"("type":"int","field-id":100)").has_value());
  EXPECT_FALSE(with(R"("field-id":104)", R"("field-id":103)").has_value());
  EXPECT_FALSE(with(R"("field-id":104)", R"("field-id":9999)").has_value());
  EXPECT_FALSE(
      with(R"("name":"value","type":"long")", R"("name":"value","type":"string")").has_value());
  EXPECT_FALSE(decode_forged("", R"("int")").has_value());
  EXPECT_FALSE(decode_forged("", R"({"type":"record","name":"r","fields":[]})").has_value());
}

TEST(ManifestHostile, RefusesHeadersThatAreMissingOrWrong) {
  const std::string record = start_of_record() + std::string(1, '\0') + end_of_record();
  // Of a repeated key the last one counts.
  for (const auto& [key, value] :
       avro::Metadata{{"format-version", "4"},
                      {"format-version", "0"},
                      {"format-version", "two"},
                      {"format-version", ""},
                      {"content", "both"},
                      {"content", "deletes"},
                      {"partition-spec-id", "-1"},
                      {"partition-spec-id", "1}"},
                      {"partition-spec", "["},
                      {"partition-spec", "{}"},
                      {"partition-spec", R"([{"name":"a","transform":"void","source-id":1}])"},
                      {"schema", ""},
                      {"schema", "[]"},
                      {"schema-id", "99999999999"}}) {
    const auto decoded = decode_forged(record, {}, {{key, value}});
    ASSERT_FALSE(decoded.has_value()) << key << ' ' << value;
    EXPECT_EQ(decoded.error().code(), Code::kInvalidArgument) << decoded.error().to_string();
  }
  EXPECT_TRUE(decode_forged(record, {}, {{"unknown", "\xFF"}}).has_value());
}

TEST(ManifestHostile, SkipsUnknownFields) {
  const std::string schema =
      R"({"type":"record","name":"e","fields":[
        {"name":"new","type":{"type":"map","values":["null","double",{"type":"array","items":"bytes"}]},"field-id":900},
        {"name":"data_file","type":{"type":"record","name":"f","fields":[
          {"name":"file_size_in_bytes","type":"int","field-id":104},
          {"name":"record_count","type":["long","null"],"field-id":103},
          {"name":"old","type":"string"},
          {"name":"partition","type":{"type":"record","name":"p","fields":[]},"field-id":102},
          {"name":"file_format","type":"string","field-id":101},
          {"name":"file_path","type":"bytes","field-id":100}]},"field-id":2},
        {"name":"snapshot_id","type":["int","null"],"field-id":1},
        {"name":"status","type":"long"}]})";
  std::string record;
  avro::append_long(record, 1);
  avro::append_bytes(record, "key");
  avro::append_long(record, 2);
  avro::append_long(record, 1);
  avro::append_bytes(record, "item");
  avro::append_long(record, 0);
  avro::append_long(record, 0);
  avro::append_long(record, 7);
  avro::append_long(record, 0);
  avro::append_long(record, 70);
  avro::append_bytes(record, "gone");
  avro::append_bytes(record, "orc");
  avro::append_bytes(record, "path");
  avro::append_long(record, 0);
  avro::append_long(record, 12);
  avro::append_long(record, 2);
  const auto decoded = decode_forged(record, schema);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  const ManifestEntry& entry = decoded->entries.at(0);
  EXPECT_EQ(entry.status, EntryStatus::kDeleted);
  EXPECT_EQ(entry.snapshot_id, 12);
  EXPECT_EQ(entry.data_file.file_path, "path");
  EXPECT_EQ(entry.data_file.file_format, "ORC");
  EXPECT_EQ(entry.data_file.record_count, 70);
  EXPECT_EQ(entry.data_file.file_size_in_bytes, 7);
}

TEST(ManifestHostile, ReadsVersion1WithItsDefaults) {
  const std::string schema =
      R"({"type":"record","name":"manifest_entry","fields":[
        {"name":"status","type":"int","field-id":0},{"name":"snapshot_id","type":"long","field-id":1},
        {"name":"data_file","type":{"type":"record","name":"r2","fields":[
          {"name":"file_path","type":"string","field-id":100},{"name":"file_format","type":"string","field-id":101},
          {"name":"partition","type":{"type":"record","name":"r102","fields":[
            {"name":"day","type":["null","int"],"default":null,"field-id":1000}]},"field-id":102},
          {"name":"record_count","type":"long","field-id":103},
          {"name":"file_size_in_bytes","type":"long","field-id":104},
          {"name":"block_size_in_bytes","type":"long","field-id":105}]},"field-id":2}]})";
  avro::ContainerWriter writer(
      avro::Schema::parse(schema).value(),
      {{"schema",
        R"({"type":"struct","fields":[{"id":1,"name":"d","required":false,"type":"timestamp"}]})"},
       {"partition-spec", R"([{"name":"day","transform":"day","source-id":1}])"}},
      avro::Codec::kSnappy);
  std::string& record = writer.record();
  avro::append_long(record, 0);
  avro::append_long(record, 99);
  avro::append_bytes(record, "path");
  avro::append_bytes(record, "PARQUET");
  avro::append_long(record, 1);
  avro::append_long(record, 19'000);
  avro::append_long(record, 10);
  avro::append_long(record, 1000);
  avro::append_long(record, 64 << 20);
  writer.end_record();
  const auto decoded = decode_manifest(std::move(writer).finish(), 10);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(decoded->header.format_version, 1);
  EXPECT_EQ(decoded->header.content, ManifestContent::kData);
  EXPECT_EQ(decoded->header.spec.spec_id, 0);
  EXPECT_EQ(decoded->header.spec.fields.at(0).field_id, 1000);
  const ManifestEntry& entry = decoded->entries.at(0);
  EXPECT_EQ(entry.status, EntryStatus::kExisting);
  EXPECT_EQ(entry.data_file.content, Content::kData);
  EXPECT_EQ(entry.data_file.partition.at(0), iceberg::value_of_int(19'000));
  EXPECT_FALSE(entry.sequence_number.has_value());
}

TEST(ManifestHostile, ReadsListsOfVersion1WithTheirDefaults) {
  const std::string schema =
      R"({"type":"record","name":"manifest_file","fields":[
        {"name":"manifest_path","type":"string","field-id":500},{"name":"manifest_length","type":"long","field-id":501},
        {"name":"partition_spec_id","type":"int","field-id":502},
        {"name":"added_snapshot_id","type":["null","long"],"default":null,"field-id":503},
        {"name":"added_data_files_count","type":["null","int"],"default":null,"field-id":504},
        {"name":"partitions","type":["null",{"type":"array","items":{"type":"record","name":"r508","fields":[
          {"name":"contains_null","type":"boolean","field-id":509}]},"element-id":508}],"default":null,"field-id":507}]})";
  const auto decode = [&](int branch) {
    avro::ContainerWriter writer(avro::Schema::parse(schema).value(), {}, avro::Codec::kNull);
    avro::append_bytes(writer.record(), "path");
    avro::append_long(writer.record(), 100);
    avro::append_long(writer.record(), 0);
    avro::append_long(writer.record(), branch);
    if (branch == 1) avro::append_long(writer.record(), 5);
    avro::append_long(writer.record(), 0);
    avro::append_long(writer.record(), 0);
    writer.end_record();
    return decode_manifest_list(std::move(writer).finish(), 1);
  };
  const auto decoded = decode(1);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(decoded->at(0).added_snapshot_id, 5);
  EXPECT_EQ(decoded->at(0).added_files_count, -1);
  EXPECT_EQ(decoded->at(0).sequence_number, 0);
  EXPECT_EQ(decoded->at(0).content, ManifestContent::kData);
  EXPECT_FALSE(decode(0).has_value());
}

}  // namespace
}  // namespace duckicelake::manifest
