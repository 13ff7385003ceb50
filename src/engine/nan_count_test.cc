// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "engine/engine_test_support.h"

namespace duckicelake::engine {
namespace {

using Counts = std::vector<std::optional<std::int64_t>>;

class NanCountTest : public EngineTest {
 protected:
  std::string parquet(const std::string& name, const std::string& query,
                      const std::string& options = ", FIELD_IDS {c: 1}") {
    const std::string file = duck.path(name);
    duck.run("COPY (" + query + ") TO " + quote_literal(file) + " (FORMAT parquet" + options + ")");
    return file;
  }
  Result<Counts> count(const std::string& file, std::vector<std::int32_t> ids = {1}) {
    std::vector<FieldId> columns;
    for (std::int32_t id : ids) columns.emplace_back(id);
    return engine.count_nans(file, columns, std::chrono::seconds(60));
  }
  Code code(const std::string& file) { return count(file).error().code(); }
};

TEST_F(NanCountTest, CountsEveryNanAndNothingElse) {
  const std::string file = parquet("nan", "SELECT * FROM (VALUES ('nan'::DOUBLE), (1.5)) v(c)");
  EXPECT_EQ(must(count(file)), Counts{1});
  const std::string many =
      parquet("many",
              "SELECT CASE WHEN range % 3 = 0 THEN '-nan'::FLOAT WHEN range % 3 = 1 THEN NULL ELSE "
              "'inf'::FLOAT END AS c FROM range(9000)");
  EXPECT_EQ(must(count(many)), Counts{3000});
  EXPECT_EQ(must(count(parquet("none", "SELECT 1.5::FLOAT AS c WHERE 1 = 0"))), Counts{0});
}

TEST_F(NanCountTest, CountsSeveralColumnsAtAnyDepthInOneScan) {
  const std::string file = parquet(
      "nested",
      "SELECT {'x': range, 'y': ['nan'::DOUBLE], 'f': 'nan'::FLOAT} AS s, MAP {'k': 1.5} AS m, "
      "range::DOUBLE AS plain FROM range(3)",
      ", FIELD_IDS {s: {__duckdb_field_id: 1, x: 2, y: {__duckdb_field_id: 3, element: 4}, f: 8}, "
      "m: {__duckdb_field_id: 5, key: 6, value: 7}, plain: 9}");
  // An integer, a list's element, a group, one that is nowhere and a decimal have no count.
  EXPECT_EQ(must(count(file, {8, 2, 9, 4, 1, 99, 7})),
            (Counts{3, std::nullopt, 0, std::nullopt, std::nullopt, std::nullopt, std::nullopt}));
}

TEST_F(NanCountTest, AFileWithoutFieldIdsHasNoCount) {
  EXPECT_EQ(must(count(parquet("plain", "SELECT 'nan'::DOUBLE AS c", ""))), Counts{std::nullopt});
}

TEST_F(NanCountTest, TakesFileNamesLiterallyAndKeepsTheScope) {
  parquet("nx", "SELECT 1::FLOAT AS c");
  EXPECT_EQ(must(count(parquet("n?", "SELECT 'nan'::FLOAT AS c"))), Counts{1});
  EXPECT_EQ(code("http://127.0.0.1/x"), Code::kInvalidArgument);
  EXPECT_EQ(code(duck.path("gone")), Code::kNotFound);
  EXPECT_EQ(code(duck.write("bad", "PAR1 no")), Code::kCorruptData);
}

}  // namespace
}  // namespace duckicelake::engine
