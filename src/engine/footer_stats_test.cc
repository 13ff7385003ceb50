// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "engine/engine_test_support.h"

namespace duckicelake::engine {
namespace {

using catalog::ColumnStats;
using catalog::FooterStats;

const std::optional<std::string> kNone;

class FooterStatsTest : public EngineTest {
 protected:
  std::string parquet(const std::string& name, const std::string& query,
                      const std::string& options = ", FIELD_IDS {c: 1}") {
    const std::string file = duck.path(name);
    duck.run("COPY (" + query + ") TO " + quote_literal(file) + " (FORMAT parquet" + options + ")");
    return file;
  }
  FooterStats read(const std::string& file, std::vector<std::int32_t> ids = {1}) {
    std::vector<FieldId> leaves;
    for (std::int32_t id : ids) leaves.emplace_back(id);
    return must(engine.read_footer_stats(file, leaves));
  }
  ColumnStats column(const std::string& file) { return read(file).columns.at(0); }
  // As the text forms of min and max.
  std::pair<std::string, std::string> bounds(const std::string& file) {
    const ColumnStats stats = column(file);
    return {stats.min_value.value_or("<none>"), stats.max_value.value_or("<none>")};
  }
};

// What the footer of a file says is what DuckDB's writer told DuckLake.
TEST_F(FooterStatsTest, GivesBoundsInDuckLakesForm) {
  duck.attach_lake();
  struct Case {
    const char* type;
    const char* values;
  };
  const Case cases[] = {
      {"BOOLEAN", "(true), (false), (NULL)"},
      {"BOOLEAN", "(true)"},
      {"TINYINT", "(-128), (127)"},
      {"INTEGER", "(-5), (30), (4)"},
      {"BIGINT", "(-9223372036854775808), (9223372036854775807)"},
      {"UINTEGER", "(4294967295), (1)"},
      {"UBIGINT", "(18446744073709551615), (1)"},
      {"FLOAT", "(0.1), (-2.5), (NULL)"},
      {"DOUBLE", "(1e300), (-1.5)"},
      {"DECIMAL(4,1)", "(1.5), (-999.9)"},
      {"DECIMAL(18,4)", "(12345678901234.5678), (-0.5)"},
      {"DECIMAL(38,10)", "(1234567890123456789012345678.0123456789), (-0.5)"},
      {"DATE", "('2024-02-29'), ('0044-03-15 (BC)')"},
      {"TIME", "('12:30:00.0001'), ('00:00:00')"},
      {"TIMESTAMP", "('2024-01-15 12:30:00.12'), ('1960-01-01 00:00:00')"},
      {"TIMESTAMP_MS", "('2024-01-15 12:30:00.123')"},
      {"TIMESTAMP_NS", "('2024-01-15 12:30:00.123456789')"},
      {"TIMESTAMPTZ", "('2024-01-15 12:30:00.12+02'), ('1960-01-01 00:00:00+00')"},
      {"VARCHAR", "('zz\u00e9'), (''), ('it''s')"},
      {"UUID",
       "('00000000-0000-0000-0000-0000000000ab'), ('ffffffff-ffff-ffff-ffff-ffffffffffff')"},
      {"BLOB", "('\\x00\\xAB'::BLOB), ('ab\\x5C'::BLOB), (''::BLOB)"},
      {"JSON", "('{\"a\":1}')"},
      {"INTEGER", "(NULL), (NULL)"},
  };
  int number = 0;
  for (const Case& c : cases) {
    const std::string name = "t" + std::to_string(++number);
    duck.run("CREATE TABLE l." + name + " AS SELECT CAST(v AS " + c.type + ") AS c FROM (VALUES " +
             c.values + ") x(v)");
    const std::string of_table =
        " WHERE data_file_id = (SELECT max(data_file_id) FROM "
        "__ducklake_metadata_l.ducklake_data_file)";
    const std::string file =
        duck.path("data/main/" + name + "/") +
        duck.one("SELECT path FROM __ducklake_metadata_l.ducklake_data_file" + of_table);
    const auto kept = duck.rows(
        "SELECT column_size_bytes, value_count, null_count, min_value, max_value FROM "
        "__ducklake_metadata_l.ducklake_file_column_stats" +
        of_table);
    const auto kept_file = duck.rows(
        "SELECT record_count, file_size_bytes, footer_size FROM "
        "__ducklake_metadata_l.ducklake_data_file" +
        of_table);
    const FooterStats footer = read(file);
    ASSERT_EQ(footer.columns.size(), 1u) << c.type;
    const ColumnStats& stats = footer.columns[0];
    EXPECT_EQ(stats.min_value, kept[0][3]) << c.type;
    EXPECT_EQ(stats.max_value, kept[0][4]) << c.type;
    EXPECT_EQ(std::to_string(stats.column_size_bytes.value()), kept[0][0]) << c.type;
    EXPECT_EQ(std::to_string(stats.value_count.value()), kept[0][1]) << c.type;
    EXPECT_EQ(std::to_string(stats.null_count.value()), kept[0][2]) << c.type;
    EXPECT_EQ(std::to_string(footer.record_count), kept_file[0][0]);
    EXPECT_EQ(std::to_string(footer.file_size), kept_file[0][1]);
    EXPECT_EQ(std::to_string(footer.footer_size), kept_file[0][2]);
  }
}

TEST_F(FooterStatsTest, ComparesBoundsOfRowGroupsInTheirType) {
  const std::string numbers = parquet("numbers", "SELECT range::INTEGER AS c FROM range(20000)",
                                      ", FIELD_IDS {c: 1}, ROW_GROUP_SIZE 2048");
  EXPECT_EQ(bounds(numbers), std::pair(std::string("0"), std::string("19999")));
  const ColumnStats stats = column(numbers);
  EXPECT_EQ(stats.value_count, 20000);
  EXPECT_EQ(stats.null_count, 0);
  // A row group of nulls alone has no bounds and hides none.
  const std::string nulls = parquet(
      "nulls", "SELECT CASE WHEN range < 2048 THEN NULL ELSE range END AS c FROM range(5000)",
      ", FIELD_IDS {c: 1}, ROW_GROUP_SIZE 2048");
  EXPECT_EQ(bounds(nulls), std::pair(std::string("2048"), std::string("4999")));
  EXPECT_EQ(column(nulls).null_count, 2048);
  // DuckDB's writer gives no bounds to a row group with long text.
  const std::string mixed =
      parquet("mixed",
              "SELECT CASE WHEN range < 2048 THEN 'a' ELSE repeat('b', 2000) || range END AS c "
              "FROM range(4096)",
              ", FIELD_IDS {c: 1}, ROW_GROUP_SIZE 2048");
  EXPECT_EQ(column(mixed).max_value, kNone);
}

TEST_F(FooterStatsTest, GivesNoBoundThatMayBeCut) {
  const std::string file = parquet("long", "SELECT repeat('\u00e9', 700) AS c");
  EXPECT_EQ(bounds(file), std::pair(std::string("<none>"), std::string("<none>")));
  EXPECT_EQ(column(file).value_count, 1);
}

TEST_F(FooterStatsTest, KnowsNothingOfNan) {
  const std::string file = parquet("nan", "SELECT * FROM (VALUES ('nan'::DOUBLE), (1.5)) v(c)");
  EXPECT_EQ(column(file).contains_nan, std::nullopt);
  EXPECT_EQ(must(engine.count_nans(file, FieldId(1))), 1);
  EXPECT_EQ(must(engine.count_nans(file, FieldId(2))), 0);
  const std::string many =
      parquet("many",
              "SELECT CASE WHEN range % 3 = 0 THEN '-nan'::FLOAT WHEN range % 3 = 1 THEN NULL ELSE "
              "'inf'::FLOAT END AS c FROM range(9000)");
  EXPECT_EQ(must(engine.count_nans(many, FieldId(1))), 3000);
}

TEST_F(FooterStatsTest, FindsLeavesByFieldIdAtAnyDepth) {
  const std::string file = parquet(
      "nested",
      "SELECT {'x': range, 'y': [range, NULL], 'f': 'nan'::FLOAT} AS s, MAP {'k': 1.5} AS m, "
      "range AS plain FROM range(3)",
      ", FIELD_IDS {s: {__duckdb_field_id: 1, x: 2, y: {__duckdb_field_id: 3, element: 4}, f: 8}, "
      "m: {__duckdb_field_id: 5, key: 6, value: 7}}");
  const FooterStats footer = read(file, {7, 2, 4, 1, 99});
  ASSERT_EQ(footer.columns.size(), 3u);  // 1 is a group, 99 is nowhere
  EXPECT_EQ(footer.record_count, 3);
  EXPECT_EQ(footer.columns[0].field_id, FieldId(7));
  EXPECT_EQ(footer.columns[0].value_count, std::nullopt);
  EXPECT_EQ(footer.columns[0].min_value, kNone);
  EXPECT_GT(footer.columns[0].column_size_bytes.value(), 0);
  EXPECT_EQ(footer.columns[1].field_id, FieldId(2));
  EXPECT_EQ(footer.columns[1].max_value, "2");
  EXPECT_EQ(footer.columns[2].null_count, std::nullopt);
  EXPECT_EQ(must(engine.count_nans(file, FieldId(8))), 3);
  EXPECT_EQ(engine.count_nans(file, FieldId(7)).error().code(), Code::kCorruptData);  // a decimal
  EXPECT_EQ(engine.count_nans(file, FieldId(2)).error().code(), Code::kCorruptData);
}

TEST_F(FooterStatsTest, ReadsAFileWithoutRows) {
  const std::string file = parquet("none", "SELECT 1 AS c WHERE 1 = 0");
  const FooterStats footer = read(file);
  EXPECT_EQ(footer.record_count, 0);
  EXPECT_EQ(footer.columns.at(0).min_value, kNone);
  EXPECT_TRUE(read(file, {}).columns.empty());
}

TEST_F(FooterStatsTest, TakesFileNamesLiterallyAndKeepsTheScope) {
  parquet("axb", "SELECT 1 AS c");
  EXPECT_EQ(bounds(parquet("a*b", "SELECT 2 AS c")), std::pair(std::string("2"), std::string("2")));
  EXPECT_EQ(must(engine.count_nans(parquet("n?", "SELECT 'nan'::FLOAT AS c"), FieldId(1))), 1);
  const std::vector<FieldId> one = {FieldId(1)};
  EXPECT_EQ(engine.read_footer_stats("http://127.0.0.1/x", one).error().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(engine.read_footer_stats(duck.path("gone"), one).error().code(), Code::kNotFound);
  EXPECT_EQ(engine.read_footer_stats(duck.write("bad", "PAR1 no"), one).error().code(),
            Code::kCorruptData);
}

// Each byte of the footer in turn: an error or an answer, never a crash, and the engine survives.
TEST_F(FooterStatsTest, SurvivesEveryDamagedFooterByte) {
  const std::string good = parquet("good", "SELECT 'text' || range AS c FROM range(10)");
  std::ifstream in(good, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const std::vector<FieldId> one = {FieldId(1)};
  const auto footer = static_cast<std::size_t>(read(good).footer_size) + 8;
  for (std::size_t i = bytes.size() - footer; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    auto result = engine.read_footer_stats(duck.write("damaged", damaged), one);
    if (!result) {
      EXPECT_THAT(result.error().code(),
                  ::testing::AnyOf(Code::kCorruptData, Code::kInternal, Code::kUnavailable))
          << i << " " << result.error().to_string();
    }
  }
  EXPECT_EQ(bounds(good), std::pair(std::string("text0"), std::string("text9")));
}

}  // namespace
}  // namespace duckicelake::engine
