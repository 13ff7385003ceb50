// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "iceberg/value.h"
#include "manifest/manifest.h"

// Manifests for tests: one column for each partition type and transform, with values at the edges.
namespace duckicelake::manifest::testing {

using iceberg::Transform;
using iceberg::TransformKind;
using iceberg::Type;
using iceberg::TypeKind;
using Value = std::optional<iceberg::ValueBytes>;

struct TestColumn {
  std::string name;
  Type source;
  Transform transform;
  std::vector<Value> values;  // already transformed
  int format_version = 2;     // the first that has the type
};

inline std::string bytes_of(std::string_view hex) { return from_hex(hex).value(); }

inline std::vector<TestColumn> test_columns() {
  using iceberg::value_of_bool;
  using iceberg::value_of_double;
  using iceberg::value_of_float;
  using iceberg::value_of_int;
  using iceberg::value_of_long;
  constexpr auto kMaxInt = std::numeric_limits<std::int32_t>::max();
  constexpr auto kMinInt = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMaxLong = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMinLong = std::numeric_limits<std::int64_t>::min();
  const auto type = [](TypeKind kind) { return Type::primitive(kind); };
  const Transform identity{};
  const auto by = [](TransformKind kind, std::int32_t n = 0) { return Transform{kind, n}; };
  const std::vector<Value> ints = {value_of_int(0), std::nullopt, value_of_int(-1),
                                   value_of_int(kMaxInt), value_of_int(kMinInt)};
  const std::vector<Value> small_ints = {value_of_int(3), std::nullopt, value_of_int(0)};
  const std::vector<Value> longs = {value_of_long(0), std::nullopt, value_of_long(-1),
                                    value_of_long(kMaxLong), value_of_long(kMinLong)};
  const std::vector<Value> times = {value_of_long(0), std::nullopt, value_of_long(86'399'999'999)};
  const std::vector<Value> stamps = {value_of_long(1'700'000'000'000'001), std::nullopt,
                                     value_of_long(-1), value_of_long(0)};
  const std::vector<Value> days = {value_of_int(0), std::nullopt, value_of_int(-1),
                                   value_of_int(20'000)};
  return {
      {"boolean",
       type(TypeKind::kBoolean),
       identity,
       {value_of_bool(true), std::nullopt, value_of_bool(false)}},
      {"int", type(TypeKind::kInt), identity, ints},
      {"long", type(TypeKind::kLong), identity, longs},
      {"float",
       type(TypeKind::kFloat),
       identity,
       {value_of_float(1.5F), std::nullopt, value_of_float(-0.0F),
        value_of_float(std::numeric_limits<float>::quiet_NaN()),
        value_of_float(std::numeric_limits<float>::infinity())}},
      {"double",
       type(TypeKind::kDouble),
       identity,
       {value_of_double(0.1), std::nullopt, value_of_double(-1e300),
        value_of_double(std::numeric_limits<double>::quiet_NaN())}},
      {"decimal4",
       Type::decimal(4, 2),
       identity,
       {bytes_of("00"), std::nullopt, bytes_of("80"), bytes_of("ff7f"), bytes_of("270f")}},
      {"decimal9",
       Type::decimal(9, 0),
       identity,
       {bytes_of("01"), std::nullopt, bytes_of("8000"), bytes_of("008000"), bytes_of("3b9ac9ff")}},
      {"decimal18",
       Type::decimal(18, 3),
       identity,
       {bytes_of("7f"), std::nullopt, bytes_of("f21f494c589c0001")}},
      {"decimal38",
       Type::decimal(38, 10),
       identity,
       {bytes_of("4b3b4ca85a86c47a098a223fffffffff"), std::nullopt, bytes_of("ff")}},
      {"date", type(TypeKind::kDate), identity, days},
      {"time", type(TypeKind::kTime), identity, times},
      {"timestamp", type(TypeKind::kTimestamp), identity, stamps},
      {"timestamptz", type(TypeKind::kTimestamptz), identity, stamps},
      {"timestamp_ns", type(TypeKind::kTimestampNs), identity, stamps, 3},
      {"timestamptz_ns", type(TypeKind::kTimestamptzNs), identity, stamps, 3},
      {"string",
       type(TypeKind::kString),
       identity,
       {"", std::nullopt, "é😀", "a string of more than sixteen characters", std::string("\0", 1)}},
      {"uuid",
       type(TypeKind::kUuid),
       identity,
       {bytes_of("f79c3e09677c4bbda479512f87d3b3c1"), std::nullopt, std::string(16, '\0')}},
      {"fixed", Type::fixed(5), identity, {"12345", std::nullopt, bytes_of("00ff00ff00")}},
      {"binary", type(TypeKind::kBinary), identity, {"", std::nullopt, bytes_of("00ff80fe")}},
      {"bucket", type(TypeKind::kString), by(TransformKind::kBucket, 16), small_ints},
      {"truncate_string",
       type(TypeKind::kString),
       by(TransformKind::kTruncate, 3),
       {"é😀a", std::nullopt, "abc"}},
      {"truncate_decimal",
       Type::decimal(9, 2),
       by(TransformKind::kTruncate, 50),
       {bytes_of("1f40"), std::nullopt, bytes_of("ce")}},
      {"year", type(TypeKind::kTimestamp), by(TransformKind::kYear), ints},
      {"month", type(TypeKind::kDate), by(TransformKind::kMonth), ints},
      {"day", type(TypeKind::kTimestamptz), by(TransformKind::kDay), days},
      {"hour", type(TypeKind::kTimestamp), by(TransformKind::kHour), ints},
      {"void", type(TypeKind::kString), by(TransformKind::kVoid), {std::nullopt}},
      {"naïve col.日本😀", type(TypeKind::kInt), identity, ints},
      {"1st", type(TypeKind::kUuid), identity, {std::string(16, '\xFF'), std::nullopt}},
  };
}

inline ManifestHeader header_of(const std::vector<TestColumn>& columns, int format_version) {
  ManifestHeader header;
  header.format_version = format_version;
  header.schema.schema_id = 7;
  header.spec.spec_id = columns.empty() ? 0 : 5;
  iceberg::Field extra;
  extra.id = FieldId(1);
  extra.name = "not partitioned by";
  extra.required = true;
  extra.type = Type::primitive(TypeKind::kLong);
  header.schema.fields.push_back(extra);
  std::int32_t id = 2;
  for (const TestColumn& column : columns) {
    iceberg::Field source;
    source.id = FieldId(id);
    source.name = column.name;
    source.type = column.source;
    header.schema.fields.push_back(source);
    iceberg::PartitionField field;
    field.source_id = FieldId(id);
    field.field_id = 998 + id;
    field.name =
        column.transform.kind == TransformKind::kIdentity ? column.name : column.name + "_part";
    field.transform = column.transform;
    header.spec.fields.push_back(field);
    ++id;
  }
  return header;
}

// Entries that use every field. Their number is that of the longest list of values.
inline std::vector<ManifestEntry> entries_of(const std::vector<TestColumn>& columns,
                                             int format_version) {
  std::size_t rows = 3;
  for (const TestColumn& column : columns) rows = std::max(rows, column.values.size());
  std::vector<ManifestEntry> entries(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    ManifestEntry& entry = entries[i];
    const auto n = static_cast<std::int64_t>(i);
    entry.status = static_cast<EntryStatus>((i + 1) % 3);
    if (entry.status != EntryStatus::kAdded || i > 2) {
      entry.snapshot_id = 5'000'000'000 + n;
      entry.sequence_number = 4 + n;
      entry.file_sequence_number = 5 + n;
    }
    DataFile& file = entry.data_file;
    file.file_path = "s3://bucket/data/é " + std::to_string(i) + ".parquet";
    file.record_count = 100 + n;
    file.file_size_in_bytes = 5'000'000'000 + n;
    for (const TestColumn& column : columns) {
      file.partition.push_back(column.values[i % column.values.size()]);
    }
    if (i == 1) continue;  // leave all that is optional out
    file.column_sizes = {{1, 4096}, {2, 0}};
    file.value_counts = {{1, 100}, {2, 100}, {2'000'000'000, 1}};
    file.null_value_counts = {{1, 0}, {2, 100}};
    file.nan_value_counts = {{1, 0}};
    file.lower_bounds = {{1, iceberg::value_of_long(-5)}, {2, ""}};
    file.upper_bounds = {{1, iceberg::value_of_long(5)}, {2, bytes_of("00ff")}};
    file.split_offsets = {4, 1'000'000'000'000};
    file.sort_order_id = 0;
    file.key_metadata = bytes_of("0001ff");
    if (format_version >= 3) file.first_row_id = 1000 * n;
  }
  return entries;
}

// One entry for each kind of delete file that the version has.
inline std::vector<ManifestEntry> delete_entries_of(const std::vector<TestColumn>& columns,
                                                    int format_version) {
  std::vector<ManifestEntry> entries(format_version >= 3 ? 3 : 2);
  for (ManifestEntry& entry : entries) {
    entry.data_file.record_count = 3;
    entry.data_file.file_size_in_bytes = 1000;
    for (const TestColumn& column : columns) entry.data_file.partition.push_back(column.values[0]);
  }
  entries[0].data_file.content = Content::kPositionDeletes;
  entries[0].data_file.file_path = "s3://bucket/data/deletes.parquet";
  entries[0].data_file.referenced_data_file = "s3://bucket/data/a.parquet";
  entries[1].data_file.content = Content::kEqualityDeletes;
  entries[1].data_file.file_path = "s3://bucket/data/equality.parquet";
  entries[1].data_file.equality_ids = {1, 2};
  if (format_version < 3) return entries;
  DataFile& vector = entries[2].data_file;
  vector.content = Content::kPositionDeletes;
  vector.file_format = "PUFFIN";
  vector.file_path = "s3://bucket/data/vectors.puffin";
  vector.referenced_data_file = "s3://bucket/data/b.parquet";
  vector.content_offset = 4;
  vector.content_size_in_bytes = 42;
  return entries;
}

}  // namespace duckicelake::manifest::testing
