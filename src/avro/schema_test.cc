// SPDX-License-Identifier: Apache-2.0
#include "avro/schema.h"

#include <gtest/gtest.h>

namespace duckicelake::avro {
namespace {

TEST(Schema, KeepsTheAttributesThatIcebergAdds) {
  const std::string json =
      R"({"type":"record","name":"r2","fields":[)"
      R"({"name":"a_x2Eb","type":["null",{"type":"int","logicalType":"date"}],"default":null,)"
      R"("iceberg-field-name":"a.b","field-id":1000},)"
      R"({"name":"t","type":{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true},"field-id":2},)"
      R"({"name":"d","type":{"type":"fixed","name":"d_9","size":4,"logicalType":"decimal","precision":9,"scale":2},"field-id":3},)"
      R"({"name":"l","type":{"type":"array","items":"string","element-id":5},"field-id":4},)"
      R"({"name":"m","type":{"type":"map","values":"double","key-id":7,"value-id":8},"field-id":6},)"
      R"({"name":"e","type":{"type":"enum","name":"e","symbols":["x","y"]}}]})";
  const Result<Schema> schema = Schema::parse(json);
  ASSERT_TRUE(schema.has_value()) << schema.error().to_string();
  EXPECT_EQ(schema->to_json(), json);
  const Node& root = schema->node(schema->root());
  EXPECT_EQ(root.fields[0].field_id, 1000);
  EXPECT_EQ(root.fields[0].iceberg_name, "a.b");
  EXPECT_TRUE(root.fields[0].defaults_to_null);
  EXPECT_EQ(schema->node(root.fields[1].type).adjust_to_utc, true);
  EXPECT_EQ(schema->node(root.fields[2].type).precision, 9);
  EXPECT_EQ(schema->node(root.fields[3].type).element_id, 5);
  EXPECT_EQ(schema->node(root.fields[4].type).value_id, 8);
}

TEST(Schema, FollowsReferencesToNames) {
  const std::string json =
      R"({"type":"record","name":"top","namespace":"n.s","fields":[)"
      R"({"name":"a","type":{"type":"fixed","name":"f","namespace":"n.s","size":2}},)"
      R"({"name":"b","type":"f"},{"name":"c","type":"n.s.f"},{"name":"d","type":["null","n.s.top"]}]})";
  const Result<Schema> schema = Schema::parse(json);
  ASSERT_TRUE(schema.has_value()) << schema.error().to_string();
  const Node& root = schema->node(schema->root());
  EXPECT_EQ(root.name, "n.s.top");
  EXPECT_EQ(root.fields[0].type, root.fields[1].type);
  EXPECT_EQ(root.fields[0].type, root.fields[2].type);
  EXPECT_EQ(schema->node(root.fields[3].type).children[1], schema->root());
  const Result<Schema> again = Schema::parse(schema->to_json());
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->to_json(), schema->to_json());
}

TEST(Schema, AcceptsATypeWrappedInAnObject) {
  const Result<Schema> schema = Schema::parse(R"({"type":{"type":"string"}})");
  ASSERT_TRUE(schema.has_value());
  EXPECT_EQ(schema->node(schema->root()).kind, Kind::kString);
}

TEST(Schema, IgnoresAttributesOfTheWrongType) {
  const Result<Schema> schema = Schema::parse(
      R"({"type":"record","name":"r","fields":[{"name":"a","field-id":"7","type":
          {"type":"int","logicalType":5,"adjust-to-utc":"yes","precision":-1}}]})");
  ASSERT_TRUE(schema.has_value());
  EXPECT_FALSE(schema->node(schema->root()).fields[0].field_id.has_value());
}

TEST(Schema, RefusesWhatIsNoSchema) {
  for (const char* json :
       {"",
        "{",
        "null",
        "5",
        "[]",
        "{}",
        R"("unknown")",
        R"([["int"]])",
        R"({"type":"record"})",
        R"({"type":"record","name":"r"})",
        R"({"type":"record","name":"","fields":[]})",
        R"({"type":"record","name":"r","fields":{}})",
        R"({"type":"record","name":"r","fields":[1]})",
        R"({"type":"record","name":"r","fields":[{"name":"a"}]})",
        R"({"type":"record","name":"r","fields":[{"type":"int"}]})",
        R"({"type":"array"})",
        R"({"type":"map"})",
        R"({"type":"fixed","name":"f"})",
        R"({"type":"fixed","name":"f","size":-1})",
        R"({"type":"fixed","name":"f","size":2147483647})",
        R"({"type":"fixed","size":4})",
        R"({"type":"enum","name":"e"})",
        R"({"type":"enum","name":"e","symbols":[1]})",
        R"([{"type":"fixed","name":"f","size":1},{"type":"fixed","name":"f","size":2}])"}) {
    const Result<Schema> schema = Schema::parse(json);
    ASSERT_FALSE(schema.has_value()) << json;
    EXPECT_EQ(schema.error().code(), Code::kInvalidArgument);
  }
}

TEST(Schema, RefusesDeepNesting) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"type":"array","items":)";
  EXPECT_FALSE(Schema::parse(deep).has_value());
  EXPECT_FALSE(Schema::parse(std::string(100'000, '[')).has_value());
}

TEST(Schema, RefusesTooManyTypes) {
  std::string json = "[\"int\"";
  for (int i = 0; i < 20'000; ++i) json += ",\"int\"";
  EXPECT_FALSE(Schema::parse(json + "]").has_value());
}

}  // namespace
}  // namespace duckicelake::avro
