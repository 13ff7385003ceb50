// SPDX-License-Identifier: Apache-2.0
#include "translate/name_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "translate/file_entry.h"
#include "translate/value_text.h"

namespace duckicelake::translate {
namespace {

using iceberg::Field;
using iceberg::Type;
using iceberg::TypeKind;
using testing::ElementsAre;
using testing::HasSubstr;

Field field(std::int32_t id, std::string name, Type type) {
  Field out;
  out.id = FieldId(id);
  out.name = std::move(name);
  out.type = std::move(type);
  return out;
}

iceberg::Schema schema() {
  iceberg::Schema out;
  out.fields = {field(1, "id", Type::primitive(TypeKind::kLong)),
                field(2, "s", Type::structure({field(3, "a", Type::primitive(TypeKind::kInt))})),
                field(4, "l", Type::list(field(5, "element", Type::primitive(TypeKind::kInt)))),
                field(6, "m",
                      Type::map(field(7, "key", Type::primitive(TypeKind::kString)),
                                field(8, "value", Type::primitive(TypeKind::kInt)))),
                field(9, "d", Type::primitive(TypeKind::kString))};
  return out;
}

constexpr std::string_view kMapping = R"([
  {"field-id": 1, "names": ["id", "number"]},
  {"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["a", "old"]}]},
  {"field-id": 4, "names": ["l"], "fields": [{"field-id": 5, "names": ["element"]}]},
  {"field-id": 6, "names": ["m"], "fields": [{"field-id": 7, "names": ["key"]},
                                             {"field-id": 8, "names": ["value"]}]},
  {"field-id": 9, "names": ["d"]}, {"names": ["nobody's"]}])";

Result<std::vector<ducklake::NameMappingRow>> mapped(std::vector<ParquetNode> nodes,
                                                     std::string path = "s3://b/t/x.parquet",
                                                     std::optional<std::string> partition = "",
                                                     std::string_view mapping = kMapping) {
  iceberg::PartitionSpec spec;
  manifest::DataFile file;
  file.file_path = std::move(path);
  if (partition != "") {
    iceberg::PartitionField by;
    by.source_id = FieldId(9);
    by.name = "d";
    by.transform.kind = iceberg::TransformKind::kIdentity;
    spec.fields = {by};
    file.partition = {partition};
  }
  return map_by_name(mapping, schema(), spec, file, nodes);
}

// "source→target<parent"
std::vector<std::string> words(const Result<std::vector<ducklake::NameMappingRow>>& rows) {
  std::vector<std::string> out;
  if (!rows.has_value()) return {std::string(rows.error().message())};
  for (const ducklake::NameMappingRow& row : *rows) {
    std::string word = row.source_name + "→" + std::to_string(row.target_field_id.value);
    if (row.parent_column) word += "<" + std::to_string(*row.parent_column);
    if (row.is_partition) word += " in path";
    out.push_back(std::move(word));
  }
  return out;
}

TEST(NameMapping, FindsColumnsByAnyOfTheirNamesInAnyOrder) {
  EXPECT_THAT(words(mapped({{"extra", {}, 0}, {"number", {}, 0}, {"d", {}, 0}})),
              ElementsAre("number→1", "d→9"));
  EXPECT_THAT(words(mapped({{"id", {}, 0}, {"number", {}, 0}})), ElementsAre("id→1"))
      << "one column of the file for one of the table";
}

TEST(NameMapping, FollowsStructsListsAndMapsAsDuckLakeDoes) {
  EXPECT_THAT(words(mapped({{"s", {}, 2}, {"x", {}, 0}, {"old", {}, 0}, {"id", {}, 0}})),
              ElementsAre("s→2", "old→3<0", "id→1"));
  EXPECT_THAT(words(mapped({{"l", {}, 1}, {"list", {}, 1}, {"item", {}, 0}})),
              ElementsAre("l→4", "list→5<0"));
  EXPECT_THAT(words(mapped({{"l", {}, 1}, {"array", {}, 0}})), ElementsAre("l→4", "array→5<0"));
  EXPECT_THAT(words(mapped({{"m", {}, 1}, {"key_value", {}, 2}, {"key", {}, 0}, {"value", {}, 0}})),
              ElementsAre("m→6", "key→7<0", "value→8<0"));
}

TEST(NameMapping, TakesAMissingPartitionColumnFromThePathThatSaysTheSame) {
  const std::vector<ParquetNode> nodes = {{"id", {}, 0}};
  EXPECT_THAT(words(mapped(nodes, "s3://b/t/d=a%20b/x.parquet", "a b")),
              ElementsAre("id→1", "d→9 in path"));
  EXPECT_THAT(words(mapped(nodes, "s3://b/t/d=__HIVE_DEFAULT_PARTITION__/x", std::nullopt)),
              ElementsAre("id→1", "d→9 in path"));
  for (const char* path :
       {"s3://b/t/x.parquet", "s3://b/t/d=b/x", "s3://b/t/d=a", "s3://b/d=a/d=a/x",
        "s3://b/t/d=%6/x", "s3://b/t/d=/x", "s3://b/t/D=a/x"}) {
    EXPECT_THAT(words(mapped(nodes, path, "a")), ElementsAre(HasSubstr("d=<value>"))) << path;
  }
  EXPECT_THAT(words(mapped(nodes, "s3://b/t/d=Null/x", "Null")),
              ElementsAre(HasSubstr("d=<value>")))
      << "DuckDB reads the word as NULL";
  EXPECT_THAT(words(mapped({{"id", {}, 0}, {"d", {}, 0}}, "s3://b/t/x", "a")),
              ElementsAre("id→1", "d→9"));
}

TEST(NameMapping, RefusesWhatItCannotRead) {
  const std::vector<ParquetNode> nodes = {{"id", {}, 0}};
  for (const char* bad :
       {"", "{}", "[1]", R"([{"field-id": 1}])", R"([{"field-id": "1", "names": []}])",
        R"([{"field-id": 1, "names": [2]}])"}) {
    const auto rows = mapped(nodes, "s3://b/x", "", bad);
    ASSERT_FALSE(rows.has_value()) << bad;
    EXPECT_EQ(rows.error().code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(mapped({{"unknown", {}, 0}}).has_value());
  EXPECT_FALSE(mapped({{"s", {}, 5}}).has_value()) << "children that are not there";
  EXPECT_FALSE(mapped({{"s", {}, std::int64_t{1} << 62}}).has_value());
  EXPECT_FALSE(mapped(std::vector<ParquetNode>(200, {"s", {}, 1})).has_value());
}

TEST(NameMapping, NamesThatAClientAddedStay) {
  const auto rows = *mapped({{"number", {}, 0}}, "s3://b/t/d=a/x", "a");
  const auto with = [&](std::string_view clients) {
    return name_mapping_json(schema(), rows, clients).value();
  };
  EXPECT_THAT(with(R"([{"field-id": 1, "names": ["renamed", "number"]}])"),
              HasSubstr(R"({"field-id":1,"names":["number","renamed"]})"));
  // Those that would lead to two fields, or cannot be read, do not.
  for (const char* bad : {R"([{"field-id": 9, "names": ["number"]}])", "{", "[1]", "[{}]"}) {
    EXPECT_EQ(with(bad), with("")) << bad;
  }
}

TEST(NameMapping, FilesOfCommitsWithColumnsInTheirPathDoNotStopTheTable) {
  auto rows = *mapped({{"number", {}, 0}}, "s3://b/t/d=a/x", "a");
  const auto text = name_mapping_json(schema(), rows);
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr(R"({"field-id":1,"names":["number"]})"));
  rows.back().column_id = 1;
  EXPECT_FALSE(name_mapping_json(schema(), rows).has_value());
}

}  // namespace
}  // namespace duckicelake::translate
