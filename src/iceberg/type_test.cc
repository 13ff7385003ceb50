// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/schema.h"
#include "iceberg/table_metadata.h"
#include "iceberg/type.h"
#include "iceberg/value.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

Field field(int id, std::string name, Type type, bool required = false) {
  Field f;
  f.id = FieldId(id);
  f.name = std::move(name);
  f.type = std::move(type);
  f.required = required;
  return f;
}

Type of(TypeKind kind) { return Type::primitive(kind); }

// 1 id, 2 point{3 x, 4 y}, 5 tags list<6>, 7 props map<8, 9 struct{10 deep}>, 11 "user.ssn"
Schema nested_schema() {
  Schema schema;
  schema.schema_id = 4;
  schema.fields = {
      field(1, "id", of(TypeKind::kLong), true),
      field(2, "point",
            Type::structure(
                {field(3, "x", of(TypeKind::kDouble), true), field(4, "y", of(TypeKind::kFloat))}),
            true),
      field(5, "tags", Type::list(field(6, "", of(TypeKind::kString), true))),
      field(7, "props",
            Type::map(field(8, "", of(TypeKind::kString)),
                      field(9, "", Type::structure({field(10, "deep", Type::decimal(9, 2))})))),
      field(11, "user.ssn", Type::fixed(16)),
  };
  schema.identifier_field_ids = {FieldId(1)};
  return schema;
}

TEST(TypeText, RoundTripsEveryPrimitive) {
  for (std::string_view text : {"boolean",
                                "int",
                                "long",
                                "float",
                                "double",
                                "date",
                                "time",
                                "timestamp",
                                "timestamptz",
                                "timestamp_ns",
                                "timestamptz_ns",
                                "string",
                                "uuid",
                                "binary",
                                "variant",
                                "geometry",
                                "geography",
                                "unknown",
                                "decimal(9,2)",
                                "decimal(38,38)",
                                "decimal(1,0)",
                                "fixed[16]",
                                "fixed[2147483647]",
                                "geometry(srid:3857)",
                                "geography(srid:4326)",
                                "geography(OGC:CRS84, karney)",
                                "geography(srid:4326, vincenty)"}) {
    auto type = parse_primitive(text);
    ASSERT_TRUE(type.has_value()) << text;
    EXPECT_EQ(primitive_to_text(*type), text);
  }
}

TEST(TypeText, AcceptsTheSpacingOfOtherWritersAndKnowsTheDefaults) {
  EXPECT_EQ(*parse_primitive("decimal(9, 2)"), Type::decimal(9, 2));
  EXPECT_EQ(*parse_primitive("decimal( 9 ,2 )"), Type::decimal(9, 2));
  EXPECT_EQ(*parse_primitive("fixed[ 16 ]"), Type::fixed(16));
  EXPECT_EQ(*parse_primitive("geometry(ogc:crs84)"), of(TypeKind::kGeometry));
  EXPECT_EQ(*parse_primitive("geometry ( srid:1 )"), *parse_primitive("geometry(srid:1)"));
  EXPECT_EQ(*parse_primitive("geography(OGC:CRS84, spherical)"), of(TypeKind::kGeography));
  EXPECT_EQ(*parse_primitive("geography(srid:1,Karney)"),
            *parse_primitive("geography(srid:1, karney)"));
  EXPECT_NE(*parse_primitive("geography(srid:1, karney)"), *parse_primitive("geography(srid:1)"));
}

TEST(TypeText, RefusesEverythingElse) {
  for (std::string_view text : {"",
                                " ",
                                "integer",
                                "INT",
                                "decimal",
                                "decimal()",
                                "decimal(9)",
                                "decimal(0,0)",
                                "decimal(39,2)",
                                "decimal(9,10)",
                                "decimal(9,-1)",
                                "decimal(9,2",
                                "decimal(9,2)x",
                                "decimal(99999999999,2)",
                                "decimal(9,2,1)",
                                "decimal[9,2]",
                                "fixed",
                                "fixed[0]",
                                "fixed[-1]",
                                "fixed[2147483648]",
                                "fixed[1.5]",
                                "fixed(16)",
                                "int(4)",
                                "string[3]",
                                "geometry(a)b)",
                                "geography(x, flat)",
                                "(",
                                "[",
                                "struct",
                                "list<int>",
                                "timestamp_s",
                                "geometry(\"x\")"}) {
    EXPECT_FALSE(parse_primitive(text).has_value()) << text;
  }
  auto failed = parse_primitive(std::string(1 << 20, 'x'));
  ASSERT_FALSE(failed.has_value());
  EXPECT_LT(failed.error().message().size(), 200U);
}

TEST(Type, KnowsTheFormatVersionThatItNeeds) {
  EXPECT_EQ(required_format_version(Type::decimal(9, 2)), 2);
  for (TypeKind kind : {TypeKind::kTimestampNs, TypeKind::kTimestamptzNs, TypeKind::kVariant,
                        TypeKind::kGeometry, TypeKind::kGeography, TypeKind::kUnknown}) {
    EXPECT_EQ(required_format_version(of(kind)), 3);
    EXPECT_EQ(required_format_version(Type::list(field(1, "", of(kind)))), 3);
  }
  Schema schema = nested_schema();
  EXPECT_EQ(required_format_version(schema), 2);
  schema.fields[1].type.fields[0].write_default = value_of_double(1);
  EXPECT_EQ(required_format_version(schema), 3);
  schema = nested_schema();
  schema.fields[0].initial_default = value_of_long(1);
  EXPECT_EQ(required_format_version(schema), 3);
}

TEST(Type, EqualityIncludesParts) {
  Type a = nested_schema().fields[3].type;
  Type b = a;
  EXPECT_EQ(a, b);
  b.fields[1].type.fields[0].doc = "";
  EXPECT_NE(a, b);
}

TEST(Schema, FindsFieldsAndTheirNames) {
  Schema schema = nested_schema();
  EXPECT_EQ(schema.find(FieldId(10))->name, "deep");
  EXPECT_EQ(schema.find(FieldId(12)), nullptr);
  EXPECT_EQ(schema.name_of(FieldId(1)), "id");
  EXPECT_EQ(schema.name_of(FieldId(4)), "point.y");
  EXPECT_EQ(schema.name_of(FieldId(6)), "tags.element");
  EXPECT_EQ(schema.name_of(FieldId(8)), "props.key");
  EXPECT_EQ(schema.name_of(FieldId(10)), "props.value.deep");
  EXPECT_EQ(schema.name_of(FieldId(11)), "user.ssn");
  EXPECT_EQ(schema.name_of(FieldId(99)), "");
  EXPECT_EQ(schema.find_top_level("user.ssn")->id, FieldId(11));
  EXPECT_EQ(schema.find_top_level("x"), nullptr);
  EXPECT_EQ(schema.highest_field_id(), FieldId(11));
  EXPECT_EQ(Schema().highest_field_id(), FieldId(0));
  std::string order;
  visit_fields(schema.fields, [&](const Field& f, const Field* parent) {
    order += fmt::format("{}<{} ", f.id.value, parent == nullptr ? 0 : parent->id.value);
  });
  EXPECT_EQ(order, "1<0 2<0 3<2 4<2 5<0 6<5 7<0 8<7 9<7 10<9 11<0 ");
}

std::string check_failure(const Schema& schema) {
  auto status = check_schema(schema);
  return status.has_value() ? "fine" : status.error().message();
}

TEST(Schema, ChecksWhatReadersRelyOn) {
  EXPECT_EQ(check_failure(nested_schema()), "fine");
  auto broken = [](auto change) {
    Schema schema = nested_schema();
    change(schema);
    return check_failure(schema);
  };
  EXPECT_THAT(broken([](Schema& s) { s.fields[4].id = FieldId(10); }), HasSubstr("used twice"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[4].id = FieldId(-1); }), HasSubstr("legal range"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[4].id = FieldId(2147483540); }),
              HasSubstr("legal range"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[4].name = "id"; }), HasSubstr("name is used twice"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[1].type.fields[1].name = "x"; }), HasSubstr("twice"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[3].type.fields[0].required = false; }),
              HasSubstr("key"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[3].type.fields.pop_back(); }), HasSubstr("map"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[2].type.fields.clear(); }), HasSubstr("list"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[0].type = Type::primitive(TypeKind::kUnknown); }),
              HasSubstr("optional"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[0].initial_default = "abc"; }),
              HasSubstr("not a value"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[2].write_default = "abc"; }), HasSubstr("default"));
  EXPECT_THAT(broken([](Schema& s) { s.fields[4].type.length = 0; }), HasSubstr("fixed"));
  for (int identifier : {2, 4, 5, 6, 7, 8, 10, 11, 99}) {
    EXPECT_NE(broken([&](Schema& s) { s.identifier_field_ids = {FieldId(identifier)}; }), "fine");
  }
  EXPECT_THAT(broken([](Schema& s) { s.identifier_field_ids = {FieldId(3)}; }),
              HasSubstr("floating"));
  EXPECT_EQ(broken([](Schema& s) {
              s.fields[1].type.fields[0].type = Type::primitive(TypeKind::kInt);
              s.identifier_field_ids = {FieldId(3)};
            }),
            "fine");
}

TEST(Schema, RefusesEndlessNesting) {
  Type type = of(TypeKind::kInt);
  for (int i = 0; i < 200; ++i) type = Type::list(field(i + 2, "", std::move(type)));
  Schema schema;
  schema.fields = {field(1, "deep", type)};
  EXPECT_THAT(check_failure(schema), HasSubstr("nested"));
}

TEST(SchemaJson, WritesAppendixC) {
  Schema schema = nested_schema();
  schema.fields[0].doc = "the \"id\"";
  schema.fields[4].initial_default = std::string(16, '\xab');
  std::string out;
  schema_to_json(schema, out);
  EXPECT_EQ(
      out,
      R"({"type":"struct","schema-id":4,"identifier-field-ids":[1],"fields":[)"
      R"({"id":1,"name":"id","required":true,"type":"long","doc":"the \"id\""},)"
      R"({"id":2,"name":"point","required":true,"type":{"type":"struct","fields":[)"
      R"({"id":3,"name":"x","required":true,"type":"double"},{"id":4,"name":"y","required":false,"type":"float"}]}},)"
      R"({"id":5,"name":"tags","required":false,"type":{"type":"list","element-id":6,"element":"string","element-required":true}},)"
      R"({"id":7,"name":"props","required":false,"type":{"type":"map","key-id":8,"key":"string","value-id":9,)"
      R"j("value":{"type":"struct","fields":[{"id":10,"name":"deep","required":false,"type":"decimal(9,2)"}]},"value-required":false}},)j"
      R"({"id":11,"name":"user.ssn","required":false,"type":"fixed[16]","initial-default":"ABABABABABABABABABABABABABABABAB"}]})");
  EXPECT_EQ(*schema_from_json(out), schema);
}

TEST(SchemaJson, ReadsTheExamplesOfTheSpec) {
  auto schema = schema_from_json(
      R"({"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"uuid",)"
      R"("initial-default":"0db3e2a8-9d1d-42b9-aa7b-74ebe558dceb","write-default":"ec5911be-b0a7-458c-8438-c9a3e53cffae"},)"
      R"({"id":2,"name":"data","required":false,"doc":null,"initial-default":null,)"
      R"("type":{"type":"list","element-id":3,"element-required":true,"element":"string"}}],"identifier-field-ids":null,"unknown":{}})");
  ASSERT_TRUE(schema.has_value()) << schema.error().message();
  EXPECT_EQ(schema->schema_id, 0);
  EXPECT_EQ(value_to_json(schema->fields[0].type, *schema->fields[0].write_default),
            "\"ec5911be-b0a7-458c-8438-c9a3e53cffae\"");
  EXPECT_EQ(schema->fields[1].doc, std::nullopt);
}

TEST(SchemaJson, RefusesHostileInputWithThePath) {
  struct Case {
    std::string_view json;
    std::string_view message;
  };
  for (
      const Case& c : std::initializer_list<Case>{
          {R"([])", "expected an object"},
          {R"({"fields":[]})", "\"type\" is missing"},
          {R"({"type":"list","fields":[]})", "struct"},
          {R"({"type":"struct"})", "\"fields\" is missing"},
          {R"({"type":"struct","fields":{}})", "fields: expected an array"},
          {R"({"type":"struct","fields":[1]})", "fields[0]: expected an object"},
          {R"({"type":"struct","fields":[{"id":1.5,"name":"a","required":true,"type":"int"}]})",
           "fields[0].id: expected an integer"},
          {R"({"type":"struct","fields":[{"id":4294967297,"name":"a","required":true,"type":"int"}]})",
           "32 bits"},
          {R"({"type":"struct","fields":[{"id":1,"name":"a","required":"no","type":"int"}]})",
           "fields[0].required: expected a boolean"},
          {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"integer"}]})",
           "fields[0].type: \"integer\" is not a type"},
          {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":{"type":"set"}}]})",
           "fields[0].type: the type is not"},
          {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":{"type":"list","element-id":1,"element":"int","element-required":true}}]})",
           "used twice"},
          {R"({"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int","initial-default":"x"}]})",
           "fields[0].initial-default: expected an integer"},
          {R"({"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"variant","write-default":"x"}]})",
           "no single value"},
          {R"({"type":"struct","fields":[],"identifier-field-ids":[1]})", "identifier field 1"}}) {
    auto schema = schema_from_json(c.json);
    ASSERT_FALSE(schema.has_value()) << c.json;
    EXPECT_EQ(schema.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(schema.error().message(), HasSubstr(c.message));
  }
  std::string deep = "\"int\"";
  for (int i = 0; i < 5000; ++i) {
    deep = R"({"type":"list","element-id":)" + std::to_string(i) +
           R"(,"element-required":true,"element":)" + deep + "}";
    if (i > 100) i += 100;
  }
  EXPECT_FALSE(schema_from_json(
                   R"({"type":"struct","fields":[{"id":9999,"name":"a","required":true,"type":)" +
                   deep + "}]}")
                   .has_value());
}

TEST(SchemaJson, HoldsFortyLevelsOfNestingAndALongName) {
  Type type = of(TypeKind::kInt);
  for (int i = 0; i < 20; ++i) {
    type = Type::structure({field(100 + i, "s", Type::list(field(200 + i, "", std::move(type))))});
  }
  Schema schema;
  schema.fields = {field(1, std::string(1 << 20, 'n'), type)};
  std::string out;
  schema_to_json(schema, out);
  auto again = schema_from_json(out);
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(*again, schema);
}

}  // namespace
}  // namespace duckicelake::iceberg
