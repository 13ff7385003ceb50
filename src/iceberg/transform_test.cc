// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/bytes.h"
#include "iceberg/decimal.h"
#include "iceberg/default_names.h"
#include "iceberg/murmur3.h"
#include "iceberg/partition_spec.h"
#include "iceberg/table_metadata.h"
#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

Type type_of(std::string_view text) { return *parse_primitive(text); }

ValueBytes from_json(std::string_view type, std::string_view json) {
  auto value = value_from_json_text(type_of(type), json);
  EXPECT_TRUE(value.has_value()) << type << " " << json << ": " << value.error().message();
  return *value;
}

// The result as JSON, "null", or "error".
std::string apply(std::string_view transform, std::string_view type, std::string_view json) {
  auto parsed = Transform::parse(transform);
  if (!parsed.has_value()) return "bad transform";
  auto result = parsed->result_type(type_of(type));
  if (!result.has_value()) return "undefined";
  auto value = parsed->apply(type_of(type), from_json(type, json));
  if (!value.has_value()) return "error";
  return value->has_value() ? value_to_json(*result, **value) : "null";
}

TEST(Transform, RoundTripsItsText) {
  for (std::string_view text :
       {"identity", "year", "month", "day", "hour", "void", "bucket[16]", "truncate[2147483647]"}) {
    EXPECT_EQ(Transform::parse(text)->to_text(), text);
  }
  for (std::string_view text :
       {"", "bucket", "bucket[]", "bucket[0]", "bucket[-1]", "bucket[2147483648]", "bucket[1",
        "bucket[1]x", "bucket[ 1]", "bucket(16)", "years", "Identity", "truncate[1.5]", "zorder",
        "buckets[4]"}) {
    EXPECT_FALSE(Transform::parse(text).has_value()) << text;
  }
}

// Spec appendix B. The bucket of 2^31 - 1 buckets shows the hash without its sign.
TEST(Transform, HashesTheValuesOfAppendixB) {
  struct Case {
    std::string_view type;
    std::string_view json;
    std::int32_t hash;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"int", "34", 2017239379},
           {"long", "34", 2017239379},
           {"decimal(9,2)", "\"14.20\"", -500754589},
           {"decimal(38,2)", "\"14.20\"", -500754589},
           {"date", "\"2017-11-16\"", -653330422},
           {"time", "\"22:31:08\"", -662762989},
           {"timestamp", "\"2017-11-16T22:31:08\"", -2047944441},
           {"timestamp", "\"2017-11-16T22:31:08.000001\"", -1207196810},
           {"timestamptz", "\"2017-11-16T22:31:08+00:00\"", -2047944441},
           {"timestamptz", "\"2017-11-16T22:31:08.000001+00:00\"", -1207196810},
           {"timestamp_ns", "\"2017-11-16T22:31:08\"", -2047944441},
           {"timestamp_ns", "\"2017-11-16T22:31:08.000001001\"", -1207196810},
           {"timestamptz_ns", "\"2017-11-16T22:31:08+00:00\"", -2047944441},
           {"timestamptz_ns", "\"2017-11-16T22:31:08.000001001+00:00\"", -1207196810},
           {"string", "\"iceberg\"", 1210000089},
           {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", 1488055340},
           {"fixed[4]", "\"00010203\"", -188683207},
           {"binary", "\"00010203\"", -188683207}}) {
    EXPECT_EQ(apply("bucket[2147483647]", c.type, c.json),
              std::to_string((c.hash & 0x7FFFFFFF) % 2147483647))
        << c.type << " " << c.json;
    EXPECT_EQ(apply("bucket[16]", c.type, c.json), std::to_string((c.hash & 0x7FFFFFFF) % 16));
  }
  EXPECT_EQ(murmur3_32(value_of_long(1)), 1392991556) << "the table's value for hashInt(1)";
  EXPECT_EQ(murmur3_32(""), 0);
  EXPECT_EQ(murmur3_32("iceberg"), 1210000089);
}

// values.tsv is PyIceberg's work (tests/golden/make_values.py).
TEST(Transform, AgreesWithAnotherImplementation) {
  std::ifstream file(DIL_SOURCE_DIR "/tests/golden/values.tsv");
  ASSERT_TRUE(file.good());
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::vector<std::string> columns(1);
    for (char c : line) {
      if (c == '\t') {
        columns.emplace_back();
      } else {
        columns.back() += c;
      }
    }
    ASSERT_EQ(columns.size(), 4U) << line;
    Type type = type_of(columns[0]);
    ValueBytes source = *from_hex(columns[2]);
    ASSERT_TRUE(is_valid_value(type, source)) << line;
    if (columns[1].empty()) {
      EXPECT_EQ(value_from_json_text(type, value_to_json(type, source)).value(), source) << line;
      if (type.kind == TypeKind::kDecimal) {
        EXPECT_EQ(value_of_decimal(*decimal_from_bytes(source)), source) << line;
      }
      continue;
    }
    auto result = Transform::parse(columns[1])->apply(type, source);
    ASSERT_TRUE(result.has_value() && result->has_value()) << line;
    EXPECT_EQ(to_hex(**result), columns[3]) << line;
  }
  EXPECT_GT(lines, 500);
}

TEST(Transform, HashesPaddedDecimalsLikeMinimalOnes) {
  Transform bucket = *Transform::parse("bucket[1000]");
  Type type = Type::decimal(9, 2);
  EXPECT_EQ(**bucket.apply(type, std::string("\xff\xff\xff\x80", 4)), **bucket.apply(type, "\x80"));
}

TEST(Transform, HashesNanosecondsBefore1970ByTheirFlooredMicrosecond) {
  Transform bucket = *Transform::parse("bucket[1000000]");
  EXPECT_EQ(**bucket.apply(type_of("timestamp_ns"), value_of_long(-1)),
            **bucket.apply(type_of("timestamp"), value_of_long(-1)));
}

TEST(Transform, TruncatesLikeTheSpec) {
  EXPECT_EQ(apply("truncate[10]", "int", "1"), "0");
  EXPECT_EQ(apply("truncate[10]", "int", "-1"), "-10");
  EXPECT_EQ(apply("truncate[10]", "long", "1"), "0");
  EXPECT_EQ(apply("truncate[10]", "long", "-1"), "-10");
  EXPECT_EQ(apply("truncate[10]", "long", "-10"), "-10");
  EXPECT_EQ(apply("truncate[50]", "decimal(9,2)", "\"10.65\""), "\"10.50\"");
  EXPECT_EQ(apply("truncate[50]", "decimal(9,2)", "\"-0.01\""), "\"-0.50\"");
  EXPECT_EQ(apply("truncate[10]", "decimal(38,0)", "\"-99999999999999999999999999999999999999\""),
            "\"-100000000000000000000000000000000000000\"");
  EXPECT_EQ(apply("truncate[3]", "string", "\"iceberg\""), "\"ice\"");
  EXPECT_EQ(apply("truncate[2]", "string", "\"é😀x\""), "\"é😀\"");
  EXPECT_EQ(apply("truncate[9]", "string", "\"é\""), "\"é\"");
  EXPECT_EQ(apply("truncate[3]", "binary", "\"0102030405\""), "\"010203\"");
  EXPECT_EQ(apply("truncate[10]", "int", "2147483647"), "2147483640");
  EXPECT_EQ(apply("truncate[10]", "int", "-2147483648"), "error");
  EXPECT_EQ(apply("truncate[8]", "int", "-2147483648"), "-2147483648");
  EXPECT_EQ(apply("truncate[10]", "long", "-9223372036854775808"), "error");
  auto edge =
      Transform::parse("truncate[10]")->apply(Type::decimal(38, 0), "\x80" + std::string(15, '\0'));
  EXPECT_FALSE(edge.has_value());
}

TEST(Transform, CountsPeriodsFrom1970AndFloorsBefore) {
  struct Case {
    std::string_view type;
    std::string_view json;
    std::string_view year, month, day, hour;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"date", "\"2017-11-16\"", "47", "574", "\"2017-11-16\"", "undefined"},
           {"date", "\"1969-12-31\"", "-1", "-1", "\"1969-12-31\"", "undefined"},
           {"date", "\"1970-01-01\"", "0", "0", "\"1970-01-01\"", "undefined"},
           {"date", "\"0001-01-01\"", "-1969", "-23628", "\"0001-01-01\"", "undefined"},
           {"timestamp", "\"2017-11-16T22:31:08.000001\"", "47", "574", "\"2017-11-16\"", "419686"},
           {"timestamp", "\"1969-12-31T23:59:59.999999\"", "-1", "-1", "\"1969-12-31\"", "-1"},
           {"timestamptz", "\"1969-12-31T22:59:59+00:00\"", "-1", "-1", "\"1969-12-31\"", "-2"},
           {"timestamp_ns", "\"1969-12-31T23:59:59.999999999\"", "-1", "-1", "\"1969-12-31\"",
            "-1"},
           {"timestamptz_ns", "\"2017-11-16T22:31:08.000001001+00:00\"", "47", "574",
            "\"2017-11-16\"", "419686"}}) {
    EXPECT_EQ(apply("year", c.type, c.json), c.year) << c.json;
    EXPECT_EQ(apply("month", c.type, c.json), c.month) << c.json;
    EXPECT_EQ(apply("day", c.type, c.json), c.day) << c.json;
    EXPECT_EQ(apply("hour", c.type, c.json), c.hour) << c.json;
  }
  for (std::int64_t edge :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_FALSE(
        Transform::parse("hour")->apply(type_of("timestamp"), value_of_long(edge)).has_value());
    EXPECT_TRUE(
        Transform::parse("hour")->apply(type_of("timestamp_ns"), value_of_long(edge)).has_value());
    EXPECT_TRUE(
        Transform::parse("year")->apply(type_of("timestamp"), value_of_long(edge)).has_value());
  }
}

TEST(Transform, IsDefinedForTheTypesOfTheSpecOnly) {
  const std::string_view names[] = {"boolean",   "int",          "long",         "float",
                                    "double",    "decimal(9,2)", "date",         "time",
                                    "timestamp", "timestamptz",  "timestamp_ns", "timestamptz_ns",
                                    "string",    "uuid",         "fixed[4]",     "binary",
                                    "variant",   "geometry",     "geography",    "unknown"};
  auto defined = [&](std::string_view transform) {
    std::string out;
    for (std::string_view name : names) {
      auto type = Transform::parse(transform)->result_type(type_of(name));
      out += !type.has_value()              ? '-'
             : *type == type_of(name)       ? 's'
             : type->kind == TypeKind::kInt ? 'i'
                                            : 'd';
    }
    return out;
  };
  EXPECT_EQ(defined("identity"), "ssssssssssssssss---s");
  EXPECT_EQ(defined("bucket[4]"), "-si--iiiiiiiiiii----");
  EXPECT_EQ(defined("truncate[4]"), "-ss--s------s--s----");
  EXPECT_EQ(defined("year"), "------i-iiii--------");
  EXPECT_EQ(defined("day"), "------s-dddd--------");
  EXPECT_EQ(defined("hour"), "--------iiii--------");
  EXPECT_EQ(defined("void"), "ssssssssssssssssssss");
  EXPECT_FALSE(Transform::parse("identity")->result_type(Type::structure({})).has_value());
  EXPECT_EQ(Transform::parse("void")->result_type(Type::structure({}))->kind, TypeKind::kInt);
}

TEST(Transform, KeepsNullAndRefusesForeignBytes) {
  for (std::string_view text : {"identity", "bucket[4]", "truncate[4]", "void"}) {
    auto null = Transform::parse(text)->apply(type_of("long"), std::nullopt);
    ASSERT_TRUE(null.has_value());
    EXPECT_FALSE(null->has_value());
  }
  EXPECT_FALSE(Transform::parse("void")->apply(type_of("long"), value_of_long(1))->has_value());
  EXPECT_FALSE(Transform::parse("bucket[4]")->apply(type_of("long"), "abc").has_value());
  EXPECT_FALSE(Transform::parse("truncate[4]")->apply(type_of("string"), "\xff").has_value());
  EXPECT_FALSE(
      (Transform{TransformKind::kBucket, 0}.apply(type_of("int"), value_of_int(1)).has_value()));
}

TEST(PartitionSpecJson, RoundTripsTheExampleOfTheSpec) {
  std::string text =
      R"({"spec-id":3,"fields":[{"source-id":4,"field-id":1000,"name":"ts_day","transform":"day"},)"
      R"({"source-id":1,"field-id":1001,"name":"id_bucket","transform":"bucket[16]"}]})";
  auto spec = partition_spec_from_json(text);
  ASSERT_TRUE(spec.has_value());
  std::string out;
  partition_spec_to_json(*spec, out);
  EXPECT_EQ(out, text);
  out.clear();
  partition_fields_to_json(*spec, out);
  EXPECT_EQ(out, text.substr(text.find('['), text.size() - 1 - text.find('[')));
}

TEST(PartitionSpecJson, LeavesMissingIdsToTheServerAndRefusesTheRest) {
  auto spec = partition_spec_from_json(
      R"({"spec-id":null,"fields":[{"source-ids":[4],"name":"a","transform":"identity"}]})");
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->spec_id, 0);
  EXPECT_EQ(spec->fields[0].field_id, 0);
  EXPECT_EQ(spec->fields[0].source_id, FieldId(4));
  for (
      std::string_view fields :
      {R"([{"name":"a","transform":"day"}])", R"([{"source-id":1,"transform":"day"}])",
       R"([{"source-id":1,"name":"a","transform":"days"}])",
       R"([{"source-id":1,"name":"","transform":"day"}])",
       R"([{"source-id":1,"field-id":0,"name":"a","transform":"day"}])",
       R"([{"source-id":1,"name":"a","transform":"day"},{"source-id":2,"name":"a","transform":"day"}])",
       R"([{"source-id":1,"field-id":1000,"name":"a","transform":"day"},{"source-id":2,"field-id":1000,"name":"b","transform":"day"}])",
       R"([{"source-ids":[],"name":"a","transform":"day"}])"}) {
    EXPECT_FALSE(partition_spec_from_json(fmt::format(R"({{"fields":{}}})", fields)).has_value())
        << fields;
  }
  EXPECT_EQ(
      partition_spec_from_json(R"({"fields":[{"source-ids":[1,2],"name":"a","transform":"day"}]})")
          .error()
          .code(),
      Code::kUnsupported);
}

TEST(SortOrderJson, RoundTripsTheExampleOfTheSpec) {
  std::string text =
      R"({"order-id":1,"fields":[{"transform":"identity","source-id":2,"direction":"asc","null-order":"nulls-first"},)"
      R"({"transform":"bucket[4]","source-id":3,"direction":"desc","null-order":"nulls-last"}]})";
  auto order = sort_order_from_json(text);
  ASSERT_TRUE(order.has_value());
  std::string out;
  sort_order_to_json(*order, out);
  EXPECT_EQ(out, text);
  EXPECT_TRUE(sort_order_from_json(R"({"order-id":0,"fields":[]})").has_value());
  for (
      std::string_view bad :
      {R"({"order-id":1,"fields":[]})", R"({"fields":[]})", R"({"order-id":0})",
       R"({"order-id":0,"fields":[{"transform":"identity","source-id":2,"direction":"asc","null-order":"nulls-first"}]})",
       R"({"order-id":1,"fields":[{"transform":"identity","source-id":2,"direction":"up","null-order":"nulls-first"}]})",
       R"({"order-id":1,"fields":[{"transform":"identity","source-id":2,"direction":"asc","null-order":"first"}]})"}) {
    EXPECT_FALSE(sort_order_from_json(bad).has_value()) << bad;
  }
}

TEST(DefaultNames, FollowIcebergJavaAndStayUnique) {
  auto name = [](std::string_view transform) {
    return default_partition_name("ts", *Transform::parse(transform));
  };
  EXPECT_EQ(name("identity"), "ts");
  EXPECT_EQ(name("year"), "ts_year");
  EXPECT_EQ(name("month"), "ts_month");
  EXPECT_EQ(name("day"), "ts_day");
  EXPECT_EQ(name("hour"), "ts_hour");
  EXPECT_EQ(name("bucket[16]"), "ts_bucket_16");
  EXPECT_EQ(name("truncate[4]"), "ts_trunc_4");
  EXPECT_EQ(name("void"), "ts_null");

  Schema schema = *schema_from_json(
      R"({"type":"struct","fields":[{"id":1,"name":"ts","required":false,"type":"date"},)"
      R"({"id":2,"name":"ts_day","required":false,"type":"int"},)"
      R"({"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"ts","required":false,"type":"date"}]}}]})");
  std::vector<PartitionField> taken;
  auto add = [&](int source, std::string_view transform) {
    PartitionField field;
    field.source_id = FieldId(source);
    field.transform = *Transform::parse(transform);
    field.name = unique_partition_name(schema, taken, field.source_id, field.transform);
    taken.push_back(field);
    return field.name;
  };
  EXPECT_EQ(add(1, "identity"), "ts");
  EXPECT_EQ(add(1, "identity"), "ts_2");
  EXPECT_EQ(add(1, "day"), "ts_day_2") << "a column is called ts_day";
  EXPECT_EQ(add(2, "identity"), "ts_day");
  EXPECT_EQ(add(1, "day"), "ts_day_3");
  EXPECT_EQ(add(4, "day"), "s.ts_day");
  EXPECT_EQ(add(77, "year"), "field_77_year");
}

}  // namespace
}  // namespace duckicelake::iceberg
