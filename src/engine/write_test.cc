// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/bytes.h"
#include "engine/engine_test_support.h"

namespace duckicelake::engine {
namespace {

using catalog::ColumnStats;
using catalog::ParquetColumn;
using catalog::TextRow;
using catalog::WrittenParquet;
using ::testing::ElementsAre;

ParquetColumn column(std::string name, std::string type, std::int32_t id,
                     std::vector<ParquetColumn> children = {}) {
  return {.name = std::move(name),
          .duckdb_type = std::move(type),
          .field_id = FieldId(id),
          .children = std::move(children),
          .is_hex_bytes = false};
}

ParquetColumn hex(ParquetColumn plain) {
  plain.is_hex_bytes = true;
  return plain;
}

const std::optional<std::string> kNull = std::nullopt;

class WriteTest : public EngineTest {
 protected:
  WrittenParquet write(const std::vector<ParquetColumn>& columns,
                       const std::vector<TextRow>& rows) {
    std::vector<std::int64_t> row_ids;
    std::vector<std::int64_t> snapshots;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      row_ids.push_back(static_cast<std::int64_t>(100 + i));
      snapshots.push_back(static_cast<std::int64_t>(7 + i));
    }
    WrittenParquet written = must(engine.write_rows(columns, rows, row_ids, snapshots));
    file_ = duck.write("written.parquet", written.bytes);
    return written;
  }
  Code failure(const std::vector<ParquetColumn>& columns, const std::vector<TextRow>& rows) {
    const std::vector<std::int64_t> ids(rows.size(), 1);
    auto result = engine.write_rows(columns, rows, ids, ids);
    return result ? Code::kAlreadyExists : result.error().code();
  }
  std::string from_file() const { return "read_parquet(" + quote_literal(file_) + ")"; }

  // Writes the cells of one column with the engine and into a DuckLake table; values and statistics
  // agree.
  void expect_as_ducklake(const ParquetColumn& wanted, const std::vector<TextRow>& cells,
                          const std::string& ducklake_type);
  std::string file_;
};

std::string sql_value(const std::optional<std::string>& cell) {
  return cell ? quote_literal(*cell) : "NULL";
}

void WriteTest::expect_as_ducklake(const ParquetColumn& wanted, const std::vector<TextRow>& cells,
                                   const std::string& ducklake_type) {
  SCOPED_TRACE(ducklake_type);
  const WrittenParquet written = write({wanted}, cells);
  duck.run("CREATE OR REPLACE TABLE l.t (c " + ducklake_type + ")");
  std::string values;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    values += (i == 0 ? "(" : ", (") + sql_value(cells[i][0]) + ", " + std::to_string(i) + ")";
  }
  duck.run("INSERT INTO l.t SELECT CAST(v AS " + ducklake_type + ") FROM (VALUES " + values +
           ") x(v, i) ORDER BY i");
  const std::string kept = duck.live_file("data");
  EXPECT_EQ(duck.rows("SELECT c FROM " + from_file() + " ORDER BY file_row_number"),
            duck.rows("SELECT c FROM read_parquet(" + quote_literal(kept) +
                      ") ORDER BY file_row_number"));
  EXPECT_EQ(duck.rows("SELECT typeof(c) FROM " + from_file() + " LIMIT 1"),
            duck.rows("SELECT typeof(c) FROM read_parquet(" + quote_literal(kept) + ") LIMIT 1"));
  const TextRows stats = duck.rows(
      "SELECT column_id, value_count, null_count, min_value, max_value, contains_nan::VARCHAR "
      "FROM __ducklake_metadata_l.ducklake_file_column_stats WHERE data_file_id = (SELECT "
      "max(data_file_id) FROM __ducklake_metadata_l.ducklake_data_file) ORDER BY column_id");
  ASSERT_EQ(written.stats.size(), stats.size());
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const ColumnStats& ours = written.stats[i];
    EXPECT_EQ(ours.min_value, stats[i][3]);
    EXPECT_EQ(ours.max_value, stats[i][4]);
    const auto nan = stats[i][5] ? std::optional(*stats[i][5] == "true") : std::nullopt;
    EXPECT_EQ(ours.contains_nan, nan);
    if (!ours.value_count) continue;  // DuckLake stores 0 and 0 where nothing was counted
    EXPECT_EQ(std::to_string(*ours.value_count), stats[i][1]);
    EXPECT_EQ(std::to_string(*ours.null_count), stats[i][2]);
  }
}

TEST_F(WriteTest, WritesEveryScalarTypeAndItsStatisticsAsDuckLakeDoes) {
  duck.attach_lake();
  struct Case {
    const char* type;
    std::vector<TextRow> cells;
  };
  const Case cases[] = {
      {"BOOLEAN", {{"true"}, {"f"}, {kNull}}},
      {"TINYINT", {{"-128"}, {"127"}}},
      {"SMALLINT", {{"-32768"}, {"7"}}},
      {"INTEGER", {{"-2147483648"}, {"2147483647"}, {kNull}}},
      {"BIGINT", {{"-9223372036854775808"}, {"9223372036854775807"}}},
      {"HUGEINT", {{"-170141183460469231731687303715884105728"}, {"5"}}},
      {"UTINYINT", {{"0"}, {"255"}}},
      {"USMALLINT", {{"65535"}}},
      {"UINTEGER", {{"4294967295"}, {"1"}}},
      {"UBIGINT", {{"18446744073709551615"}, {"1"}}},
      {"UHUGEINT", {{"340282366920938463463374607431768211455"}}},
      {"FLOAT", {{"0.1"}, {"NaN"}, {"-Infinity"}, {kNull}}},
      {"FLOAT", {{"-0.0"}, {"1.5"}}},
      {"DOUBLE", {{"1e300"}, {"nan"}, {"-1.5"}}},
      {"DOUBLE", {{"nan"}, {"nan"}}},
      {"DOUBLE", {{"inf"}, {"-0.0"}}},
      {"DECIMAL(4,1)", {{"1.5"}, {"-999.9"}}},
      {"DECIMAL(10,2)", {{"1.5"}, {"-0.05"}}},
      {"DECIMAL(18,4)", {{"12345678901234.5678"}, {"-0.5"}}},
      {"DECIMAL(38,10)", {{"1234567890123456789012345678.0123456789"}, {"-0.5"}}},
      {"DATE", {{"2024-02-29"}, {"infinity"}, {"0044-03-15 (BC)"}}},
      {"TIME", {{"12:30:00.0001"}, {"00:00:00"}}},
      {"TIMETZ", {{"12:30:00+02"}, {"00:00:00-05"}}},
      {"TIMESTAMP", {{"2024-01-15 12:30:00.12"}, {"infinity"}, {"-infinity"}}},
      {"TIMESTAMP_S", {{"2024-01-15 12:30:00"}, {"1969-01-01 00:00:00"}}},
      {"TIMESTAMP_MS", {{"2024-01-15 12:30:00.123"}}},
      {"TIMESTAMP_NS", {{"2024-01-15 12:30:00.123456789"}}},
      {"TIMESTAMPTZ", {{"2024-01-15 12:30:00.12+02"}, {"1960-01-01 00:00:00+00"}}},
      {"TIMESTAMP WITH TIME ZONE", {{"2024-01-15 12:30:00+05:30"}}},
      {"INTERVAL", {{"1 mon 2 days 00:00:03"}, {"1 year"}}},
      {"VARCHAR", {{std::string(300, 'a')}, {""}, {"NULL"}, {"zz\u00e9"}}},
      {"VARCHAR", {{std::string(800, 'z')}, {std::string(900, 'a')}}},
      {"VARCHAR", {{"it's \"q\" {a: 1, b: [2]}\n\t\\x"}, {kNull}}},
      {"JSON", {{R"({"a":[1,null]})"}, {R"("x")"}}},
      {"UUID",
       {{"00000000-0000-0000-0000-000000000001"}, {"FFFFFFFF-ffff-ffff-ffff-ffffffffffff"}}},
      {"BLOB", {{"\\x00\\xAB"}, {"ab"}, {""}}},
      {"INTEGER", {{kNull}, {kNull}}},
      {"VARCHAR", {{kNull}}},
  };
  for (const Case& c : cases) expect_as_ducklake(column("c", c.type, 1), c.cells, c.type);
}

TEST_F(WriteTest, WritesNestedTypesAndTheirStatisticsAsDuckLakeDoes) {
  duck.attach_lake();
  expect_as_ducklake(column("c", "INTEGER[]", 1, {column("element", "INTEGER", 2)}),
                     {{"[1, NULL, 3]"}, {"[]"}, {kNull}, {"[]"}}, "INTEGER[]");
  expect_as_ducklake(column("c", "STRUCT(a INTEGER, b VARCHAR)", 1,
                            {column("a", "INTEGER", 2), column("b", "VARCHAR", 3)}),
                     {{"{'a': 1, 'b': 'x, }y'}"},
                      {"{'a': NULL, 'b': NULL}"},
                      {"{'a': 2, 'b': 'it\\'s \"q\" [1]'}"},
                      {"{'a': 3, 'b': 'NULL'}"},
                      {"{'a': 4, 'b': ''}"},
                      {kNull}},
                     "STRUCT(a INTEGER, b VARCHAR)");
  expect_as_ducklake(column("c", "MAP(VARCHAR, DOUBLE)", 1,
                            {column("key", "VARCHAR", 2), column("value", "DOUBLE", 3)}),
                     {{"{'k=1'=1.5, k2=nan}"}, {"{}"}, {kNull}}, "MAP(VARCHAR, DOUBLE)");
  expect_as_ducklake(
      column("c", "STRUCT(x DOUBLE, y VARCHAR[])[]", 1,
             {column("element", "STRUCT(x DOUBLE, y VARCHAR[])", 2,
                     {column("x", "DOUBLE", 3),
                      column("y", "VARCHAR[]", 4, {column("element", "VARCHAR", 5)})})}),
      {{"[{'x': nan, 'y': [a, NULL, 'NULL', '']}, {'x': 1, 'y': NULL}, NULL]"}, {"[]"}},
      "STRUCT(x DOUBLE, y VARCHAR[])[]");
}

// DuckDB's own text of nested values, as DuckLake keeps it in an inlined table, gives the values
// back.
TEST_F(WriteTest, RoundTripsNastyStringsInNestedText) {
  const std::string values =
      "[{'s': s, 'l': [s, NULL, s], 'm': MAP {s: s}}] FROM (VALUES ('a,b'), ('it''s'), ('\"q\"'), "
      "('{x}'), ('[y]'), ('NULL'), (''), (' lead'), ('back\\slash'), ('k=v'), ('a: b'), "
      "('new\nline'), "
      "('\u00e9\U0001F600'), ('(p)'), ('''')) v(s)";
  TextRows texts = duck.rows("SELECT " + values);
  std::vector<TextRow> cells;
  for (auto& text : texts) cells.push_back({text[0]});
  write({column("c", "STRUCT(s VARCHAR, l VARCHAR[], m MAP(VARCHAR, VARCHAR))[]", 1,
                {column("element", "STRUCT(s VARCHAR, l VARCHAR[], m MAP(VARCHAR, VARCHAR))", 2,
                        {column("s", "VARCHAR", 3),
                         column("l", "VARCHAR[]", 4, {column("element", "VARCHAR", 5)}),
                         column("m", "MAP(VARCHAR, VARCHAR)", 6,
                                {column("key", "VARCHAR", 7), column("value", "VARCHAR", 8)})})})},
        cells);
  EXPECT_EQ(duck.rows("SELECT c[1].s, c[1].l[1], c[1].l[2], c[1].l[3], c[1].m[c[1].s] FROM " +
                      from_file() + " ORDER BY file_row_number"),
            duck.rows("SELECT c.s, c.l[1], c.l[2], c.l[3], c.m[c.s] FROM (SELECT unnest(x) c FROM "
                      "(SELECT " +
                      values + ") q(x))"));
}

TEST_F(WriteTest, TakesHexBytesForBlobAndText) {
  const WrittenParquet written = write(
      {hex(column("b", "BLOB", 1)), hex(column("s", "VARCHAR", 2)), hex(column("j", "JSON", 3))},
      {{"00ffAB", "610062", "7b2261223a317d"},
       {"\\x7b7d", "27225c4e554c4c7d2c", "6e756c6c"},
       {"", "", "2222"},
       {kNull, kNull, kNull},
       {"27", "4e554c4c", "31"}});
  EXPECT_EQ(duck.rows("SELECT hex(b), hex(encode(s)), j FROM " + from_file()),
            (TextRows{{"00FFAB", "610062", R"({"a":1})"},
                      {"7B7D", "27225C4E554C4C7D2C", "null"},
                      {"", "", "\"\""},
                      {kNull, kNull, kNull},
                      {"27", "4E554C4C", "1"}}));
  EXPECT_EQ(written.stats[0].min_value, "");
  EXPECT_EQ(written.stats[0].max_value, "7B7D");
  EXPECT_EQ(written.stats[1].null_count, 1);
  EXPECT_EQ(written.stats[1].value_count, 4);
}

TEST_F(WriteTest, WritesFieldIdsAndLineage) {
  const WrittenParquet written =
      write({column("a", "BIGINT", 11),
             column("s", "STRUCT(x INTEGER, y INTEGER[])", 12,
                    {column("x", "INTEGER", 13),
                     column("y", "INTEGER[]", 14, {column("element", "INTEGER", 15)})}),
             column("m", "MAP(INTEGER, DATE)", 16,
                    {column("key", "INTEGER", 17), column("value", "DATE", 18)})},
            {{"1", "{'x': 1, 'y': [2]}", "{1=2024-01-01}"}, {"2", kNull, kNull}});
  EXPECT_EQ(duck.rows("SELECT name, field_id FROM parquet_schema(" + quote_literal(file_) +
                      ") WHERE field_id IS NOT NULL ORDER BY field_id"),
            (TextRows{{"a", "11"},
                      {"s", "12"},
                      {"x", "13"},
                      {"y", "14"},
                      {"element", "15"},
                      {"m", "16"},
                      {"key", "17"},
                      {"value", "18"},
                      {"_ducklake_internal_snapshot_id", "2147483539"},
                      {"_ducklake_internal_row_id", "2147483540"}}));
  EXPECT_EQ(duck.rows("SELECT _ducklake_internal_row_id, _ducklake_internal_snapshot_id FROM " +
                      from_file()),
            (TextRows{{"100", "7"}, {"101", "8"}}));
  std::vector<std::int32_t> leaf_ids;
  for (const ColumnStats& stats : written.stats) leaf_ids.push_back(stats.field_id.value);
  EXPECT_THAT(leaf_ids, ElementsAre(11, 13, 15, 17, 18));
  EXPECT_EQ(written.record_count, 2);
  const std::string_view tail(written.bytes.data() + written.bytes.size() - 8, 4);
  EXPECT_EQ(written.footer_size, read_little_endian<std::int32_t>(tail));
  // The engine reads back what it wrote.
  EXPECT_EQ(must(engine.read_min_row_id(file_)), 100);
  const auto runs = must(engine.read_row_snapshots(file_));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].snapshot_id, 8);
}

TEST_F(WriteTest, QuotesNamesOfColumnsAndFields) {
  const std::string nasty = "it's \"x\".y {z}: [\u00e9] -- ;";
  const WrittenParquet written =
      write({column(nasty, "INTEGER", 1),
             column("select", "STRUCT(...)", 2,
                    {column(nasty, "INTEGER", 3), column("from", "VARCHAR", 4)}),
             column("a.b", "INTEGER", 5)},
            {{"1", "{'from': 'x'}", "3"}});
  ASSERT_EQ(written.stats.size(), 4u);
  EXPECT_EQ(written.stats[0].min_value, "1");
  EXPECT_EQ(written.stats[3].max_value, "3");
  EXPECT_EQ(duck.one("SELECT " + quote_identifier(nasty) + " FROM " + from_file()), "1");
  EXPECT_EQ(duck.one("SELECT \"select\".\"from\" FROM " + from_file()), "x");
}

TEST_F(WriteTest, KeepsTheOrderOfManyRows) {
  constexpr std::int64_t kRows = 300'000;
  std::vector<TextRow> rows;
  for (std::int64_t i = 0; i < kRows; ++i) rows.push_back({std::to_string(i * 7 % kRows)});
  const WrittenParquet written = write({column("i", "BIGINT", 1)}, rows);
  EXPECT_EQ(written.record_count, kRows);
  EXPECT_EQ(duck.one("SELECT count(*) FROM " + from_file() +
                     " WHERE i <> file_row_number * 7 % 300000 OR _ducklake_internal_row_id <> "
                     "file_row_number + 100"),
            "0");
}

TEST_F(WriteTest, WritesAFileWithoutRows) {
  const WrittenParquet written = write({column("i", "BIGINT", 1)}, {});
  EXPECT_EQ(written.record_count, 0);
  EXPECT_EQ(duck.one("SELECT count(*) FROM " + from_file()), "0");
}

TEST_F(WriteTest, WritesGeometry) {
  write({column("g", "GEOMETRY", 1)}, {{"POINT (1 2)"}, {kNull}});
  EXPECT_EQ(duck.one("SELECT g FROM " + from_file()), "POINT (1 2)");
}

TEST_F(WriteTest, RefusesCellsThatDoNotParse) {
  EXPECT_EQ(failure({column("i", "INTEGER", 1)}, {{"1"}, {"x"}}), Code::kCorruptData);
  EXPECT_EQ(failure({column("i", "INTEGER", 1)}, {{"2147483648"}}), Code::kCorruptData);
  EXPECT_EQ(failure({column("d", "DATE", 1)}, {{"2024-02-30"}}), Code::kCorruptData);
  EXPECT_EQ(failure({column("j", "JSON", 1)}, {{"{"}}), Code::kCorruptData);
  EXPECT_EQ(failure({column("s", "VARCHAR", 1)}, {{"\xff"}}), Code::kCorruptData);
  EXPECT_EQ(failure({hex(column("s", "VARCHAR", 1))}, {{"ff"}}), Code::kCorruptData);
  EXPECT_EQ(failure({hex(column("b", "BLOB", 1))}, {{"0"}}), Code::kCorruptData);
  EXPECT_EQ(failure({column("l", "INTEGER[]", 1, {column("element", "INTEGER", 2)})}, {{"[1"}}),
            Code::kCorruptData);
  // A failure leaves nothing behind that the next call would meet.
  write({column("i", "INTEGER", 1)}, {{"1"}});
}

TEST_F(WriteTest, RefusesTypesThatAreNotOnTheList) {
  for (const char* type :
       {"INTEGER) AS x, (SELECT 1", "ENUM('a')", "VARCHAR; DROP TABLE x", "", "DECIMAL(39,1)",
        "DECIMAL(5,6)", "DECIMAL(5", "INTEGER[3]", "UNION(a INT)", "STRUCT(a INTEGER)",
        "MAP(INTEGER, INTEGER)", "INTEGER[]"}) {
    EXPECT_EQ(failure({column("c", type, 1)}, {{"1"}}), Code::kInvalidArgument) << type;
  }
  // Parquet's interval has unsigned parts.
  EXPECT_EQ(failure({column("c", "INTERVAL", 1)}, {{"-1 year"}}), Code::kUnsupported);
  EXPECT_EQ(failure({column("c", "VARIANT", 1)}, {{"1"}}), Code::kUnsupported);
  EXPECT_EQ(failure({column("c", "INTEGER", 1, {column("x", "INTEGER", 2)})}, {{"1"}}),
            Code::kInvalidArgument);
  ParquetColumn deep = column("element", "INTEGER", 1);
  for (int i = 0; i < 100; ++i) deep = column("element", "INTEGER[]", 1, {deep});
  EXPECT_EQ(failure({deep}, {{"[]"}}), Code::kInvalidArgument);
}

TEST_F(WriteTest, RefusesShapesThatDoNotMatch) {
  EXPECT_EQ(failure({}, {}), Code::kInvalidArgument);
  EXPECT_EQ(failure({column("i", "INTEGER", 1)}, {{"1", "2"}}), Code::kInvalidArgument);
  const std::vector<ParquetColumn> columns = {column("i", "INTEGER", 1)};
  const std::vector<TextRow> rows = {{"1"}};
  const std::vector<std::int64_t> one = {1};
  EXPECT_EQ(engine.write_rows(columns, rows, one, {}).error().code(), Code::kInvalidArgument);
  EXPECT_NE(failure({column("a", "INTEGER", 1), column("A", "INTEGER", 2)}, {{"1", "2"}}),
            Code::kAlreadyExists);
}

TEST_F(WriteTest, WritesPositionDeletesInIcebergsForm) {
  const std::string path = "s3://bucket/it's \"q\"/[x]*?.parquet";
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < 5000; ++i) positions.push_back(i * 3);
  const WrittenParquet written = must(engine.write_position_deletes(path, positions));
  const std::string file = duck.write("deletes.parquet", written.bytes);
  EXPECT_EQ(written.record_count, 5000);
  EXPECT_EQ(duck.rows("SELECT name, type, field_id FROM parquet_schema(" + quote_literal(file) +
                      ") WHERE field_id IS NOT NULL"),
            (TextRows{{"file_path", "BYTE_ARRAY", "2147483546"}, {"pos", "INT64", "2147483545"}}));
  EXPECT_EQ(
      duck.rows("SELECT DISTINCT file_path, (SELECT count(*) FROM read_parquet(" +
                quote_literal(file) + ") WHERE pos <> file_row_number * 3) FROM read_parquet(" +
                quote_literal(file) + ")"),
      (TextRows{{path, "0"}}));
  ASSERT_EQ(written.stats.size(), 2u);
  EXPECT_EQ(written.stats[0].min_value, path);
  EXPECT_EQ(written.stats[1].field_id, FieldId(2147483545));
  EXPECT_EQ(written.stats[1].max_value, "14997");
  EXPECT_EQ(must(engine.read_position_deletes(file)).size(), 5000u);
}

TEST_F(WriteTest, RefusesPositionsThatAreNoSet) {
  const auto code = [&](std::vector<std::int64_t> positions) {
    return engine.write_position_deletes("f", positions).error().code();
  };
  EXPECT_EQ(code({}), Code::kInvalidArgument);
  EXPECT_EQ(code({-1}), Code::kInvalidArgument);
  EXPECT_EQ(code({1, 1}), Code::kInvalidArgument);
  EXPECT_EQ(code({2, 1}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace duckicelake::engine
