// SPDX-License-Identifier: Apache-2.0
//
// avro_files write <folder>    writes manifests, manifest lists and Puffin files, and what they
// hold as
//                              expected.json
// avro_files dump <file>...    decodes manifests and manifest lists, prints one JSON object a line
//
// For check_avro.py, which compares both with other implementations.
#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "iceberg/type.h"
#include "json/writer.h"
#include "manifest/manifest.h"
#include "manifest/partition_column.h"
#include "manifest/test_manifests.h"
#include "puffin/deletion_vector.h"

namespace duckicelake {
namespace {

using manifest::testing::TestColumn;

void hex_member(json::Writer& out, std::string_view name, const std::optional<std::string>& bytes) {
  out.key(name);
  if (bytes)
    out.value(to_hex(*bytes));
  else
    out.null();
}

template <class Int>
void int_member(json::Writer& out, std::string_view name, const std::optional<Int>& value) {
  out.key(name);
  if (value)
    out.value(*value);
  else
    out.null();
}

void text_member(json::Writer& out, std::string_view name,
                 const std::optional<std::string>& value) {
  out.key(name);
  if (value)
    out.value(*value);
  else
    out.null();
}

template <class Map>
void map_member(json::Writer& out, std::string_view name, const Map& map) {
  out.key(name);
  out.begin_object();
  for (const auto& [id, value] : map) {
    out.key(std::to_string(id));
    if constexpr (std::is_same_v<Map, manifest::BoundMap>)
      out.value(to_hex(value));
    else
      out.value(value);
  }
  out.end_object();
}

template <class Int>
void list_member(json::Writer& out, std::string_view name, const std::vector<Int>& values) {
  out.key(name);
  out.begin_array();
  for (const Int value : values) out.value(value);
  out.end_array();
}

void write_entry(json::Writer& out, const manifest::ManifestEntry& entry) {
  const manifest::DataFile& file = entry.data_file;
  out.begin_object();
  out.member("status", static_cast<int>(entry.status));
  int_member(out, "snapshot_id", entry.snapshot_id);
  int_member(out, "sequence_number", entry.sequence_number);
  int_member(out, "file_sequence_number", entry.file_sequence_number);
  out.member("content", static_cast<int>(file.content));
  out.member("file_path", file.file_path);
  out.member("file_format", file.file_format);
  out.key("partition");
  out.begin_array();
  for (const auto& value : file.partition) {
    if (value)
      out.value(to_hex(*value));
    else
      out.null();
  }
  out.end_array();
  out.member("record_count", file.record_count);
  out.member("file_size_in_bytes", file.file_size_in_bytes);
  map_member(out, "column_sizes", file.column_sizes);
  map_member(out, "value_counts", file.value_counts);
  map_member(out, "null_value_counts", file.null_value_counts);
  map_member(out, "nan_value_counts", file.nan_value_counts);
  map_member(out, "lower_bounds", file.lower_bounds);
  map_member(out, "upper_bounds", file.upper_bounds);
  hex_member(out, "key_metadata", file.key_metadata);
  list_member(out, "split_offsets", file.split_offsets);
  list_member(out, "equality_ids", file.equality_ids);
  int_member(out, "sort_order_id", file.sort_order_id);
  int_member(out, "first_row_id", file.first_row_id);
  text_member(out, "referenced_data_file", file.referenced_data_file);
  int_member(out, "content_offset", file.content_offset);
  int_member(out, "content_size_in_bytes", file.content_size_in_bytes);
  out.end_object();
}

void write_manifest(json::Writer& out, const std::string& name,
                    const manifest::ManifestHeader& header,
                    const std::vector<manifest::ManifestEntry>& entries) {
  out.begin_object();
  out.member("file", name);
  out.member("kind", "manifest");
  out.member("format_version", header.format_version);
  out.member("content", static_cast<int>(header.content));
  out.member("schema_id", header.schema.schema_id);
  out.member("spec_id", header.spec.spec_id);
  out.key("columns");
  out.begin_array();
  const std::vector<manifest::PartitionColumn> columns =
      manifest::partition_columns(header.schema, header.spec).value();
  for (const manifest::PartitionColumn& column : columns) {
    out.begin_object();
    out.member("id", column.field_id);
    out.member("name", column.name);
    out.member("type", iceberg::primitive_to_text(column.type));
    out.end_object();
  }
  out.end_array();
  out.key("entries");
  out.begin_array();
  for (const auto& entry : entries) write_entry(out, entry);
  out.end_array();
  out.end_object();
}

void write_list(json::Writer& out, const std::string& name,
                const std::vector<manifest::ManifestFile>& files) {
  out.begin_object();
  out.member("file", name);
  out.member("kind", "list");
  out.key("manifests");
  out.begin_array();
  for (const auto& file : files) {
    out.begin_object();
    out.member("manifest_path", file.manifest_path);
    out.member("manifest_length", file.manifest_length);
    out.member("partition_spec_id", file.partition_spec_id);
    out.member("content", static_cast<int>(file.content));
    out.member("sequence_number", file.sequence_number);
    out.member("min_sequence_number", file.min_sequence_number);
    out.member("added_snapshot_id", file.added_snapshot_id);
    out.member("added_files_count", file.added_files_count);
    out.member("existing_files_count", file.existing_files_count);
    out.member("deleted_files_count", file.deleted_files_count);
    out.member("added_rows_count", file.added_rows_count);
    out.member("existing_rows_count", file.existing_rows_count);
    out.member("deleted_rows_count", file.deleted_rows_count);
    out.key("partitions");
    out.begin_array();
    for (const auto& summary : file.partitions) {
      out.begin_object();
      out.member("contains_null", summary.contains_null);
      int_member(out, "contains_nan", summary.contains_nan);
      hex_member(out, "lower_bound", summary.lower_bound);
      hex_member(out, "upper_bound", summary.upper_bound);
      out.end_object();
    }
    out.end_array();
    hex_member(out, "key_metadata", file.key_metadata);
    int_member(out, "first_row_id", file.first_row_id);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void save(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Writes one manifest and returns its record for the list.
manifest::ManifestFile add_manifest(json::Writer& out, const std::string& folder,
                                    const std::string& name, const manifest::ManifestHeader& header,
                                    const std::vector<manifest::ManifestEntry>& entries) {
  const std::string bytes = manifest::encode_manifest(header, entries).value();
  save(folder + "/" + name, bytes);
  write_manifest(out, name, header, entries);
  manifest::ManifestFile file = manifest::summarize(header, entries, 5'000'000'000, 9).value();
  file.manifest_path = folder + "/" + name;
  file.manifest_length = static_cast<std::int64_t>(bytes.size());
  file.sequence_number = 9;
  if (header.format_version >= 3 && header.content == manifest::ManifestContent::kData) {
    file.first_row_id = 500;
  }
  return file;
}

void write_version(json::Writer& out, const std::string& folder, int version) {
  const std::string prefix = "v" + std::to_string(version) + "_";
  std::vector<manifest::ManifestFile> files;
  std::vector<TestColumn> all;
  int number = 0;
  for (const TestColumn& column : manifest::testing::test_columns()) {
    if (column.format_version > version) continue;
    all.push_back(column);
    const std::vector<TestColumn> one = {column};
    files.push_back(add_manifest(out, folder, prefix + std::to_string(number++) + ".avro",
                                 manifest::testing::header_of(one, version),
                                 manifest::testing::entries_of(one, version)));
  }
  manifest::ManifestHeader header = manifest::testing::header_of(all, version);
  files.push_back(add_manifest(out, folder, prefix + "all.avro", header,
                               manifest::testing::entries_of(all, version)));
  header.content = manifest::ManifestContent::kDeletes;
  files.push_back(add_manifest(out, folder, prefix + "deletes.avro", header,
                               manifest::testing::delete_entries_of(all, version)));
  const manifest::ManifestHeader plain = manifest::testing::header_of({}, version);
  files.push_back(add_manifest(out, folder, prefix + "plain.avro", plain,
                               manifest::testing::entries_of({}, version)));
  files.push_back(add_manifest(out, folder, prefix + "empty.avro", plain, {}));

  manifest::ManifestListHeader list;
  list.format_version = version;
  list.snapshot_id = 5'000'000'000;
  list.sequence_number = 9;
  if (version >= 3) list.first_row_id = 500;
  save(folder + "/" + prefix + "list.avro", manifest::encode_manifest_list(list, files).value());
  write_list(out, prefix + "list.avro", files);
}

void write_puffin(json::Writer& out, const std::string& folder) {
  std::vector<puffin::DeletionVectorInput> inputs = {
      {"s3://bucket/empty.parquet", {}},
      {"s3://bucket/é \"few\".parquet", {1, 3, 5, 7, 9}},
      {"s3://bucket/high.parquet", {0, 0xFFFFFFFF, 0x100000000, 0x300000005}},
      {"s3://bucket/mixed.parquet", {}}};
  for (std::int64_t i = 0; i < 500'000; ++i) {
    const bool is_run = i >= 70'000 && i < 200'000;
    const bool is_dense = i >= 200'000 && i < 400'000 && i % 2 == 0;
    const bool is_sparse = i % 997 == 0;
    if (is_run || is_dense || is_sparse) inputs[3].positions.push_back(i);
  }
  const puffin::PuffinFile file = puffin::encode_deletion_vectors(inputs);
  save(folder + "/vectors.puffin", file.bytes);
  out.begin_object();
  out.member("file", "vectors.puffin");
  out.member("kind", "puffin");
  out.key("vectors");
  out.begin_array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out.begin_object();
    out.member("path", inputs[i].referenced_data_file);
    out.member("offset", file.places[i].offset);
    out.member("length", file.places[i].length);
    out.member("cardinality", file.places[i].cardinality);
    list_member(out, "positions", inputs[i].positions);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

int write_all(const std::string& folder) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const int version : {2, 3}) write_version(out, folder, version);
  write_puffin(out, folder);
  out.end_array();
  save(folder + "/expected.json", text);
  return 0;
}

int dump(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  std::string text;
  json::Writer out(text);
  auto decoded = manifest::decode_manifest(bytes, 1'000'000);
  if (decoded.has_value()) {
    write_manifest(out, path, decoded->header, decoded->entries);
  } else {
    const auto list = manifest::decode_manifest_list(bytes, 1'000'000);
    if (!list.has_value()) {
      fmt::print(stderr, "{}: {}; {}\n", path, decoded.error().to_string(),
                 list.error().to_string());
      return 1;
    }
    write_list(out, path, *list);
  }
  fmt::print("{}\n", text);
  return 0;
}

}  // namespace
}  // namespace duckicelake

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "write") return duckicelake::write_all(arguments[1]);
  if (arguments.size() < 2 || arguments[0] != "dump") {
    fmt::print(stderr, "usage: avro_files write <folder> | dump <file>...\n");
    return 2;
  }
  int code = 0;
  for (std::size_t i = 1; i < arguments.size(); ++i) code |= duckicelake::dump(arguments[i]);
  return code;
}
