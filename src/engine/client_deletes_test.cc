// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "engine/engine_test_support.h"

namespace duckicelake::engine {
namespace {

using catalog::EqualityColumn;
using catalog::EqualityScan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Positions = std::vector<std::int64_t>;

class ClientDeletesTest : public EngineTest {
 protected:
  std::string parquet(const std::string& name, const std::string& query,
                      const std::string& options = "") {
    const std::string file = duck.path(name);
    duck.run("COPY (" + query + ") TO " + quote_literal(file) + " (FORMAT parquet" + options + ")");
    return file;
  }
  // A file whose columns have the field ids that `ids` (inner text of FIELD_IDS) gives.
  std::string with_ids(const std::string& name, const std::string& query, const std::string& ids) {
    return parquet(name, query, ", FIELD_IDS {" + ids + "}");
  }
  Error position_failure(const std::string& uri) {
    auto result = engine.read_client_position_deletes(uri);
    return result ? Error(Code::kAlreadyExists, "it was read") : result.error();
  }
  Positions matches(const std::string& data, std::vector<std::string> deletes,
                    std::vector<EqualityColumn> columns) {
    return must(engine.find_equality_matches(
        {.data_file = data, .delete_files = std::move(deletes), .columns = std::move(columns)}));
  }
  Code match_failure(const std::string& data, std::vector<std::string> deletes,
                     std::vector<EqualityColumn> columns) {
    auto result = engine.find_equality_matches(
        {.data_file = data, .delete_files = std::move(deletes), .columns = std::move(columns)});
    return result ? Code::kAlreadyExists : result.error().code();
  }
  static EqualityColumn column(std::int32_t id, const char* type,
                               std::optional<std::string> default_text = std::nullopt) {
    return {.id = FieldId(id),
            .name = "c" + std::to_string(id),
            .duckdb_type = type,
            .default_text = std::move(default_text)};
  }
};

TEST_F(ClientDeletesTest, GroupsPositionsByDataFileSortedAndWithoutDuplicates) {
  const std::string file =
      with_ids("deletes",
               "SELECT * FROM (VALUES ('s3://b/y', 7), ('s3://b/x', 9), ('s3://b/x', 2), "
               "('s3://b/y', 7), ('s3://b/x', 2), ('s3://b/y', 0)) v(a, b)",
               "a: 2147483546, b: 2147483545");
  EXPECT_THAT(
      must(engine.read_client_position_deletes(file)),
      ElementsAre(Pair("s3://b/x", ElementsAre(2, 9)), Pair("s3://b/y", ElementsAre(0, 7))));
}

TEST_F(ClientDeletesTest, FindsPositionColumnsByNameWhenThereAreNoIds) {
  const std::string file =
      parquet("names", "SELECT {'x': 1} AS row, 5::INTEGER AS pos, 'f' AS file_path");
  EXPECT_THAT(must(engine.read_client_position_deletes(file)),
              ElementsAre(Pair("f", ElementsAre(5))));
  const std::string swapped = with_ids(
      "swapped", "SELECT 'wrong' AS file_path, 1::BIGINT AS pos, 'right' AS a, 2::BIGINT AS b",
      "file_path: 1, pos: 2, a: 2147483546, b: 2147483545");
  EXPECT_THAT(must(engine.read_client_position_deletes(swapped)),
              ElementsAre(Pair("right", ElementsAre(2))));
}

TEST_F(ClientDeletesTest, TakesPathsOfPositionDeletesAsTheyAre) {
  const std::string path = "s3://bucket/it's \"q\"/[x]*?/caf\u00e9\n%20";
  const std::string file =
      parquet("odd*[name]?", "SELECT " + quote_literal(path) + " AS file_path, 3::BIGINT AS pos");
  EXPECT_THAT(must(engine.read_client_position_deletes(file)),
              ElementsAre(Pair(path, ElementsAre(3))));
  const std::string bytes = parquet("bytes", "SELECT 's3://b/f'::BLOB AS file_path, 3 AS pos");
  EXPECT_THAT(must(engine.read_client_position_deletes(bytes)),
              ElementsAre(Pair("s3://b/f", ElementsAre(3))));
}

TEST_F(ClientDeletesTest, ReadsWhatTheEngineWrites) {
  const Positions positions = {1, 5, 6};
  const auto written = must(engine.write_position_deletes("s3://b/data", positions));
  EXPECT_THAT(must(engine.read_client_position_deletes(duck.write("own", written.bytes))),
              ElementsAre(Pair("s3://b/data", positions)));
}

TEST_F(ClientDeletesTest, ReadsAFileWithoutPositions) {
  const std::string file = parquet("none", "SELECT 'f' AS file_path, 1::BIGINT AS pos WHERE 1 = 0");
  EXPECT_THAT(must(engine.read_client_position_deletes(file)), IsEmpty());
}

TEST_F(ClientDeletesTest, ReadsManyPositionsOfManyFiles) {
  const std::string file =
      parquet("many",
              "SELECT 'f' || (range % 100) AS file_path, 300000 - range AS pos "
              "FROM range(300000)");
  const auto found = must(engine.read_client_position_deletes(file));
  ASSERT_EQ(found.size(), 100u);
  for (const auto& [path, positions] : found) {
    ASSERT_EQ(positions.size(), 3000u);
    ASSERT_TRUE(std::is_sorted(positions.begin(), positions.end()));
  }
}

TEST_F(ClientDeletesTest, RefusesPositionDeletesThatAreNone) {
  const auto refuses = [&](const std::string& name, const std::string& query,
                           const std::string& why) {
    const Error error = position_failure(parquet(name, query));
    EXPECT_EQ(error.code(), Code::kCorruptData) << error.to_string();
    EXPECT_THAT(error.message(), HasSubstr(why));
  };
  refuses("nopath", "SELECT 1 AS pos", "needs the column file_path (field id 2147483546)");
  refuses("nopos", "SELECT 'f' AS file_path", "needs the column pos (field id 2147483545)");
  refuses("nullpath", "SELECT NULL::VARCHAR AS file_path, 1 AS pos", "a row without file_path");
  refuses("nullpos", "SELECT 'f' AS file_path, NULL::BIGINT AS pos", "null or below 0");
  refuses("negative", "SELECT 'f' AS file_path, -1 AS pos", "null or below 0");
  refuses("fraction", "SELECT 'f' AS file_path, 1.5 AS pos", "whole number");
  refuses("textpos", "SELECT 'f' AS file_path, '1' AS pos", "whole number");
  refuses("numberpath", "SELECT 1 AS file_path, 1 AS pos", "not text");
  refuses("structpath", "SELECT {'a': 'f'} AS file_path, 1 AS pos", "not text");
  EXPECT_EQ(position_failure(parquet("big",
                                     "SELECT 'f' AS file_path, 18446744073709551615::UBIGINT "
                                     "AS pos"))
                .code(),
            Code::kCorruptData);
  EXPECT_EQ(position_failure(duck.write("text", "this is not parquet at all")).code(),
            Code::kCorruptData);
  EXPECT_EQ(position_failure(duck.write("empty", "")).code(), Code::kCorruptData);
  EXPECT_EQ(position_failure(duck.path("gone")).code(), Code::kNotFound);
  EXPECT_EQ(position_failure("http://127.0.0.1/x").code(), Code::kInvalidArgument);
}

TEST_F(ClientDeletesTest, BoundsTheRowsOfDeleteFiles) {
  EngineConfig config = test_config();
  config.max_result_rows = 10;
  DuckdbDataEngine small(config);
  const std::string positions =
      parquet("many", "SELECT 'f' AS file_path, range AS pos FROM range(11)");
  EXPECT_EQ(small.read_client_position_deletes(positions).error().code(), Code::kPayloadTooLarge);
  const std::string six = with_ids("six", "SELECT range AS a FROM range(6)", "a: 1");
  const EqualityScan twice{
      .data_file = six, .delete_files = {six, six}, .columns = {column(1, "BIGINT")}};
  EXPECT_EQ(small.find_equality_matches(twice).error().code(), Code::kPayloadTooLarge);
  const std::string data = with_ids("data", "SELECT 1::BIGINT AS a FROM range(11)", "a: 1");
  const EqualityScan wide{
      .data_file = data, .delete_files = {six}, .columns = {column(1, "BIGINT")}};
  EXPECT_EQ(small.find_equality_matches(wide).error().code(), Code::kPayloadTooLarge);
}

TEST_F(ClientDeletesTest, RefusesMorePathBytesThanItMayKeep) {
  const std::string file = parquet("paths",
                                   "SELECT repeat('x', 1000000) || range AS file_path, 1 AS pos "
                                   "FROM range(70)");
  EXPECT_EQ(position_failure(file).code(), Code::kPayloadTooLarge);
}

TEST_F(ClientDeletesTest, MatchesRowsOfAnyDeleteFileOnAllColumns) {
  const std::string data = with_ids(
      "data", "SELECT range % 10 AS a, 's' || (range % 3) AS b, 'x' AS other FROM range(30)",
      "a: 1, b: 2, other: 3");
  const std::string one =
      with_ids("one", "SELECT 's1' AS q, 4::BIGINT AS p, 9 AS ignored", "p: 1, q: 2, ignored: 3");
  const std::string two =
      with_ids("two", "SELECT * FROM (VALUES (9, 's0'), (9, 's9')) v(x, y)", "x: 1, y: 2");
  // a = 4 and b = s1: row 4; a = 9 and b = s0: row 9.
  EXPECT_THAT(matches(data, {one, two}, {column(1, "BIGINT"), column(2, "VARCHAR")}),
              ElementsAre(4, 9));
  EXPECT_THAT(matches(data, {one}, {column(1, "BIGINT")}), ElementsAre(4, 14, 24));
  EXPECT_THAT(matches(data, {}, {column(1, "BIGINT")}), IsEmpty());
}

TEST_F(ClientDeletesTest, HoldsNullForEqualToNullAndNanForEqualToNan) {
  const std::string data = with_ids(
      "data",
      "SELECT * FROM (VALUES (NULL, NULL), (1.0::DOUBLE, 'a'), ('nan', NULL), (NULL, 'a'), "
      "('-nan', 'b')) v(d, s)",
      "d: 1, s: 2");
  const auto deletes = [&](const std::string& rows) {
    return with_ids("deletes",
                    "SELECT d::DOUBLE AS d, s::VARCHAR AS s FROM (VALUES " + rows + ") v(d, s)",
                    "d: 1, s: 2");
  };
  EXPECT_THAT(matches(data, {deletes("(NULL, NULL)")}, {column(1, "DOUBLE"), column(2, "VARCHAR")}),
              ElementsAre(0));
  EXPECT_THAT(matches(data, {deletes("(NULL, 'a')")}, {column(1, "DOUBLE")}), ElementsAre(0, 3));
  EXPECT_THAT(matches(data, {deletes("('nan'::DOUBLE, 'a')")}, {column(1, "DOUBLE")}),
              ElementsAre(2, 4));
}

TEST_F(ClientDeletesTest, TellsTheTwoZerosApart) {
  const std::string data =
      with_ids("data", "SELECT * FROM (VALUES (0.0::DOUBLE), (-0.0::DOUBLE), (1)) v(d)", "d: 1");
  const std::string minus = with_ids("minus", "SELECT -0.0::FLOAT AS d", "d: 1");
  const std::string plus = with_ids("plus", "SELECT 0.0::FLOAT AS d", "d: 1");
  EXPECT_THAT(matches(data, {minus}, {column(1, "DOUBLE")}), ElementsAre(1));
  EXPECT_THAT(matches(data, {plus}, {column(1, "DOUBLE")}), ElementsAre(0));
  EXPECT_THAT(matches(data, {plus, minus}, {column(1, "DOUBLE")}), ElementsAre(0, 1));
}

TEST_F(ClientDeletesTest, ComparesPromotedTypesInTheTypeOfNow) {
  const std::string data =
      with_ids("data", "SELECT 7::INTEGER AS i, 0.1::FLOAT AS f, 1.50::DECIMAL(5,2) AS d",
               "i: 1, f: 2, d: 3");
  const std::string deletes = with_ids(
      "deletes", "SELECT 7::BIGINT AS i, 0.1::FLOAT::DOUBLE AS f, 1.50::DECIMAL(20,2) AS d",
      "i: 1, f: 2, d: 3");
  const std::string finer = with_ids("finer", "SELECT 0.1::DOUBLE AS f", "f: 2");
  EXPECT_THAT(matches(data, {deletes},
                      {column(1, "BIGINT"), column(2, "DOUBLE"), column(3, "DECIMAL(20,2)")}),
              ElementsAre(0));
  EXPECT_THAT(matches(data, {finer}, {column(2, "DOUBLE")}), IsEmpty());
  // The other way round: an old delete file beside a data file of the wider type.
  EXPECT_THAT(matches(deletes, {data}, {column(1, "BIGINT"), column(3, "DECIMAL(20,2)")}),
              ElementsAre(0));
}

TEST_F(ClientDeletesTest, ComparesEveryTypeThatIcebergLetsItCompare) {
  const char* values[] = {"true",
                          "DATE '2024-02-29'",
                          "TIME '12:30:00.000001'",
                          "TIMESTAMP '2024-01-15 12:30:00.12'",
                          "TIMESTAMPTZ '2024-01-15 12:30:00.12+00'",
                          "TIMESTAMP_NS '2024-01-15 12:30:00.123456789'",
                          "UUID '00000000-0000-0000-0000-0000000000ab'",
                          "'\\x00\\xAB'::BLOB",
                          "'a' || chr(0) || '\u00e9'",
                          "''",
                          "12345678901234567890123456789.5::DECIMAL(38,1)"};
  for (const char* value : values) {
    const std::string type = duck.one(std::string("SELECT typeof(") + value + ")");
    const std::string data =
        with_ids("data", std::string("SELECT ") + value + " AS v UNION ALL SELECT NULL", "v: 1");
    const std::string deletes =
        with_ids("deletes", std::string("SELECT ") + value + " AS w", "w: 1");
    EXPECT_THAT(matches(data, {deletes}, {column(1, type.c_str())}), ElementsAre(0)) << value;
  }
  // An old writer's text and UUID, without their annotation.
  const std::string text = with_ids("text", "SELECT '\u00e9x'::VARCHAR AS v", "v: 1");
  const std::string bytes = with_ids("bytes", "SELECT encode('\u00e9x') AS v", "v: 1");
  EXPECT_THAT(matches(bytes, {text}, {column(1, "VARCHAR")}), ElementsAre(0));
}

TEST_F(ClientDeletesTest, FindsColumnsInStructsByTheirId) {
  const std::string data = with_ids(
      "data",
      "SELECT * FROM (VALUES ({'in': {'it''s.\"x\"': 1, 'other': 5}}), ({'in': NULL}), (NULL), "
      "({'in': {'it''s.\"x\"': 2, 'other': 1}})) v(s)",
      "s: {__duckdb_field_id: 1, 'in': {__duckdb_field_id: 2, 'it''s.\"x\"': 3, 'other': 4}}");
  const std::string deletes = with_ids("deletes", "SELECT {'renamed': 1::BIGINT} AS t",
                                       "t: {__duckdb_field_id: 1, renamed: 3}");
  EXPECT_THAT(matches(data, {deletes}, {column(3, "BIGINT")}), ElementsAre(0));
  const std::string nulls = with_ids("nulls", "SELECT NULL::BIGINT AS x", "x: 3");
  EXPECT_THAT(matches(data, {nulls}, {column(3, "BIGINT")}), ElementsAre(1, 2));
}

TEST_F(ClientDeletesTest, TakesTheDefaultOfAColumnThatTheDataFileLacks) {
  const std::string data = with_ids("data", "SELECT range AS a FROM range(3)", "a: 1");
  const std::string deletes = with_ids(
      "deletes", "SELECT 1::BIGINT AS a, 'it''s' AS b UNION ALL SELECT 2, NULL", "a: 1, b: 2");
  const std::vector<EqualityColumn> with_default = {column(1, "BIGINT"),
                                                    column(2, "VARCHAR", "it's")};
  const std::vector<EqualityColumn> without = {column(1, "BIGINT"), column(2, "VARCHAR")};
  EXPECT_THAT(matches(data, {deletes}, with_default), ElementsAre(1));
  EXPECT_THAT(matches(data, {deletes}, without), ElementsAre(2));
}

TEST_F(ClientDeletesTest, FindsColumnsOfAMappedFileByName) {
  // What ducklake_add_data_files registers: the file's own field ids mean nothing.
  const std::string data = with_ids("data", "SELECT 1 AS good, 2 AS wrong, {'x': 3} AS s",
                                    "wrong: 1, good: 9, s: {__duckdb_field_id: 5, x: 6}");
  const std::string deletes = with_ids("deletes", "SELECT 1 AS v", "v: 1");
  EqualityColumn mapped = column(1, "INTEGER");
  mapped.mapped_path = {"good"};
  EXPECT_THAT(matches(data, {deletes}, {mapped}), ElementsAre(0));
  mapped.mapped_path = {"s", "x"};
  EXPECT_THAT(matches(data, {deletes}, {mapped}), IsEmpty());
  mapped.mapped_path = {"gone"};
  mapped.default_text = "1";
  EXPECT_THAT(matches(data, {deletes}, {mapped}), ElementsAre(0));
}

TEST_F(ClientDeletesTest, KeepsPositionsOfManyRowGroups) {
  const std::string data = parquet("data", "SELECT range AS a FROM range(500000)",
                                   ", FIELD_IDS {a: 1}, ROW_GROUP_SIZE 4096");
  const std::string deletes =
      with_ids("deletes", "SELECT range * 1000 AS a FROM range(1000)", "a: 1");
  const Positions found = matches(data, {deletes}, {column(1, "BIGINT")});
  ASSERT_EQ(found.size(), 500u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<std::int64_t>(i) * 1000);
  }
}

TEST_F(ClientDeletesTest, RefusesWhatItCannotCompare) {
  const std::string data =
      with_ids("data", "SELECT 1 AS a, [1] AS l", "a: 1, l: {__duckdb_field_id: 2, element: 3}");
  const std::string plain = parquet("plain", "SELECT 1 AS a");
  EXPECT_EQ(match_failure(data, {data}, {}), Code::kInvalidArgument);
  EXPECT_EQ(match_failure(data, {data}, {column(1, "INTEGER); DROP TABLE x")}),
            Code::kInvalidArgument);
  EXPECT_EQ(match_failure(data, {data}, {column(9, "INTEGER")}), Code::kCorruptData);
  EXPECT_EQ(match_failure(data, {data}, {column(2, "INTEGER")}), Code::kCorruptData);
  EXPECT_EQ(match_failure(data, {data}, {column(3, "INTEGER")}), Code::kUnsupported);
  EXPECT_EQ(match_failure(data, {plain}, {column(1, "INTEGER")}), Code::kCorruptData);
  EXPECT_EQ(match_failure(plain, {data}, {column(1, "INTEGER")}), Code::kCorruptData);
  const std::string text = with_ids("text", "SELECT 'x' AS a", "a: 1");
  EXPECT_EQ(match_failure(data, {text}, {column(1, "INTEGER")}), Code::kCorruptData);
  EXPECT_EQ(match_failure(data, {duck.write("bad", "PAR1")}, {column(1, "INTEGER")}),
            Code::kCorruptData);
  EXPECT_EQ(match_failure(duck.path("gone"), {data}, {column(1, "INTEGER")}), Code::kNotFound);
  const std::string numbered =
      with_ids("numbered", "SELECT 1 AS a, 2 AS file_row_number", "a: 1, file_row_number: 2");
  EXPECT_EQ(match_failure(numbered, {data}, {column(1, "INTEGER")}), Code::kUnsupported);
  // A failure leaves nothing behind that the next call would meet.
  EXPECT_THAT(matches(data, {data}, {column(1, "INTEGER")}), ElementsAre(0));
}

}  // namespace
}  // namespace duckicelake::engine
