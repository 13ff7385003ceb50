// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "engine/engine_test_support.h"

namespace duckicelake::engine {
namespace {

using catalog::DeletedPosition;
using catalog::SnapshotRun;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReadTest : public EngineTest {
 protected:
  std::vector<std::int64_t> positions(const std::string& uri) {
    std::vector<std::int64_t> out;
    for (const DeletedPosition& deleted : must(engine.read_position_deletes(uri))) {
      out.push_back(deleted.position);
    }
    return out;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> dated_positions(const std::string& uri) {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (const DeletedPosition& deleted : must(engine.read_position_deletes(uri))) {
      out.emplace_back(deleted.position, deleted.snapshot_id.value_or(-1));
    }
    return out;
  }
  // COPY of a query to a file of the test's folder.
  std::string parquet(const std::string& name, const std::string& query,
                      const std::string& options = "") {
    const std::string file = duck.path(name);
    duck.run("COPY (" + query + ") TO " + quote_literal(file) + " (FORMAT parquet" + options + ")");
    return file;
  }
  Code failure(const std::string& uri) {
    auto result = engine.read_position_deletes(uri);
    return result ? Code::kAlreadyExists : result.error().code();
  }
};

TEST_F(ReadTest, ReadsTheDeleteFileOfOneDelete) {
  duck.attach_lake();
  duck.run("CREATE TABLE l.t AS SELECT range i FROM range(100)");
  duck.run("DELETE FROM l.t WHERE i IN (3, 50, 99)");
  EXPECT_THAT(dated_positions(duck.live_file("delete")),
              ElementsAre(std::pair(3, -1), std::pair(50, -1), std::pair(99, -1)));
}

TEST_F(ReadTest, ReadsTheSnapshotOfEachPositionOfACumulativeDeleteFile) {
  duck.attach_lake();
  duck.run("CREATE TABLE l.t AS SELECT range i FROM range(100)");
  duck.run("DELETE FROM l.t WHERE i = 50");
  duck.run("DELETE FROM l.t WHERE i IN (3, 99)");
  duck.run("DELETE FROM l.t WHERE i = 7");
  EXPECT_THAT(dated_positions(duck.live_file("delete")),
              ElementsAre(std::pair(3, 3), std::pair(7, 4), std::pair(50, 2), std::pair(99, 3)));
}

TEST_F(ReadTest, ReadsAManyRowDeleteFileWhole) {
  duck.attach_lake();
  duck.run("CREATE TABLE l.t AS SELECT range i FROM range(400000)");
  duck.run("DELETE FROM l.t WHERE i % 2 = 0");
  const auto found = must(engine.read_position_deletes(duck.live_file("delete")));
  ASSERT_EQ(found.size(), 200000u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].position, static_cast<std::int64_t>(2 * i));
  }
}

TEST_F(ReadTest, ReadsTheRunsOfAMergedFile) {
  duck.attach_lake();
  duck.run("CREATE TABLE l.t (i BIGINT)");
  duck.run("INSERT INTO l.t SELECT range FROM range(3)");
  duck.run("INSERT INTO l.t SELECT range FROM range(5)");
  duck.run("INSERT INTO l.t SELECT range FROM range(1)");
  duck.run("CALL ducklake_merge_adjacent_files('l')");
  const std::string file = duck.live_file("data");
  const auto runs = must(engine.read_row_snapshots(file));
  ASSERT_EQ(runs.size(), 3u);
  std::int64_t next = 0;
  for (const SnapshotRun& run : runs) {
    EXPECT_EQ(run.first_position, next);
    next += run.count;
  }
  EXPECT_EQ(next, 9);
  EXPECT_EQ(runs[0].snapshot_id, 2);
  EXPECT_EQ(runs[0].count, 3);
  EXPECT_EQ(runs[2].snapshot_id, 4);
  // The counts are those that DuckLake shows at each version.
  EXPECT_EQ(duck.one("SELECT count(*) FROM l.t AT (VERSION => 3)"),
            std::to_string(runs[0].count + runs[1].count));
  // Row ids without a gap are not embedded: the file's row_id_start tells them.
  EXPECT_EQ(must(engine.read_min_row_id(file)), std::nullopt);
}

TEST_F(ReadTest, ReadsTheSmallestRowIdOfAMergedFileWithGaps) {
  duck.attach_lake();
  duck.run("CREATE TABLE l.t (i BIGINT)");
  duck.run("INSERT INTO l.t SELECT range FROM range(3)");
  duck.run("INSERT INTO l.t SELECT range + 100 FROM range(5)");
  duck.run("INSERT INTO l.t SELECT range + 200 FROM range(2)");
  duck.run("DELETE FROM l.t WHERE i BETWEEN 100 AND 104");
  duck.run("DELETE FROM l.t WHERE i = 0");
  duck.run("CALL ducklake_rewrite_data_files('l', 't', delete_threshold => 0.1)");
  duck.run("CALL ducklake_merge_adjacent_files('l')");
  const std::string file = duck.live_file("data");
  EXPECT_EQ(must(engine.read_row_snapshots(file)).size(), 2u);
  EXPECT_EQ(std::to_string(must(engine.read_min_row_id(file)).value()),
            duck.one("SELECT min(rowid) FROM l.t"));
}

TEST_F(ReadTest, ReadsFlushedInlinedRowsAndDeletes) {
  duck.attach_lake("DATA_INLINING_ROW_LIMIT 10");
  duck.run("CREATE TABLE l.t (i BIGINT)");
  duck.run("INSERT INTO l.t VALUES (1), (2)");
  duck.run("INSERT INTO l.t VALUES (3)");
  duck.run("DELETE FROM l.t WHERE i = 2");
  duck.run("CALL ducklake_flush_inlined_data('l')");
  const std::string file = duck.live_file("data");
  const auto runs = must(engine.read_row_snapshots(file));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].snapshot_id, 2);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[1].snapshot_id, 3);
  EXPECT_EQ(must(engine.read_min_row_id(file)), 0);
  EXPECT_THAT(positions(duck.live_file("delete")), ElementsAre(1));
}

TEST_F(ReadTest, ReadsTheRowIdsOfARewrittenFile) {
  duck.attach_lake();
  duck.run("CREATE TABLE l.t AS SELECT range i FROM range(100)");
  duck.run("DELETE FROM l.t WHERE i < 90");
  duck.run("CALL ducklake_rewrite_data_files('l', 't', delete_threshold => 0.1)");
  const std::string file = duck.live_file("data");
  EXPECT_EQ(must(engine.read_min_row_id(file)), 90);
}

TEST_F(ReadTest, SaysThatAPlainFileHasNoLineage) {
  const std::string file = parquet("plain", "SELECT 1 AS i");
  EXPECT_THAT(must(engine.read_row_snapshots(file)), IsEmpty());
  EXPECT_EQ(must(engine.read_min_row_id(file)), std::nullopt);
}

TEST_F(ReadTest, FindsColumnsByEitherConventionOfFieldIds) {
  const std::string iceberg = parquet("ice", "SELECT 'f' AS a, 5::BIGINT AS b",
                                      ", FIELD_IDS {a: 2147483546, b: 2147483545}");
  EXPECT_THAT(positions(iceberg), ElementsAre(5));
  const std::string ducklake = parquet("duck", "SELECT 'f' AS a, 6::BIGINT AS b, 12::BIGINT AS c",
                                       ", FIELD_IDS {a: 2147483646, b: 2147483645, c: 2147483539}");
  EXPECT_THAT(dated_positions(ducklake), ElementsAre(std::pair(6, 12)));
}

TEST_F(ReadTest, TrustsAFieldIdMoreThanAName) {
  const std::string file = parquet("swapped", "SELECT 1::BIGINT AS pos, 2::BIGINT AS other",
                                   ", FIELD_IDS {pos: 7, other: 2147483545}");
  EXPECT_THAT(positions(file), ElementsAre(2));
}

TEST_F(ReadTest, FallsBackToNames) {
  const std::string file = parquet(
      "names",
      "SELECT 'f' AS file_path, 9::INTEGER AS pos, 4::BIGINT AS _ducklake_internal_snapshot_id");
  EXPECT_THAT(dated_positions(file), ElementsAre(std::pair(9, 4)));
}

TEST_F(ReadTest, IgnoresColumnsInsideAStruct) {
  const std::string file = parquet(
      "nested", "SELECT {'pos': 77, '_ducklake_internal_row_id': 1} AS row, 3::BIGINT AS pos");
  EXPECT_THAT(positions(file), ElementsAre(3));
  EXPECT_EQ(must(engine.read_min_row_id(file)), std::nullopt);
}

TEST_F(ReadTest, SortsPositionsAndKeepsTheSmallerSnapshotOfATwice) {
  const std::string file =
      parquet("twice",
              "SELECT * FROM (VALUES (9, 5), (2, 8), (9, 3), (2, 9), (4, NULL), (4, 1)) v(pos, "
              "_ducklake_internal_snapshot_id)");
  EXPECT_THAT(dated_positions(file),
              ElementsAre(std::pair(2, 8), std::pair(4, -1), std::pair(9, 3)));
}

TEST_F(ReadTest, RefusesFilesThatAreNoDeleteFiles) {
  EXPECT_EQ(failure(parquet("nopos", "SELECT 1 AS x")), Code::kCorruptData);
  EXPECT_EQ(failure(parquet("null", "SELECT NULL::BIGINT AS pos")), Code::kCorruptData);
  EXPECT_EQ(failure(parquet("negative", "SELECT -1 AS pos")), Code::kCorruptData);
  EXPECT_EQ(failure(parquet("text", "SELECT 'a' AS pos")), Code::kCorruptData);
  EXPECT_EQ(failure(parquet("two", "SELECT 1::BIGINT AS a, 2::BIGINT AS b",
                            ", FIELD_IDS {a: 2147483545, b: 2147483645}")),
            Code::kCorruptData);
}

TEST_F(ReadTest, RefusesBytesThatAreNoParquet) {
  const std::string good = parquet("good", "SELECT range AS pos FROM range(1000)");
  std::string bytes;
  {
    std::ifstream in(good, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_EQ(failure(duck.write("empty", "")), Code::kCorruptData);
  EXPECT_EQ(failure(duck.write("tiny", "PAR1")), Code::kCorruptData);
  EXPECT_EQ(failure(duck.write("text", "this is not parquet at all")), Code::kCorruptData);
  EXPECT_EQ(failure(duck.write("cut", bytes.substr(0, bytes.size() - 5))), Code::kCorruptData);
  std::string flipped = bytes;
  for (std::size_t i = bytes.size() / 2; i + 12 < bytes.size(); ++i) {
    flipped[i] = static_cast<char>(flipped[i] ^ 0x5a);
  }
  EXPECT_EQ(failure(duck.write("flipped", flipped)), Code::kCorruptData);
  std::string huge_footer = bytes;
  for (std::size_t i = 0; i < 4; ++i) huge_footer[bytes.size() - 8 + i] = '\x7f';
  EXPECT_EQ(failure(duck.write("footer", huge_footer)), Code::kCorruptData);
  // The engine goes on working.
  EXPECT_EQ(positions(good).size(), 1000u);
}

// Each byte of the footer in turn: an error or an answer, never a crash, and the engine survives.
TEST_F(ReadTest, SurvivesEveryDamagedFooterByte) {
  const std::string good = parquet("good", "SELECT range AS pos FROM range(10)");
  std::ifstream in(good, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  for (std::size_t i = 4; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    auto result = engine.read_position_deletes(duck.write("damaged", damaged));
    if (!result) {
      EXPECT_THAT(result.error().code(),
                  ::testing::AnyOf(Code::kCorruptData, Code::kInternal, Code::kUnavailable,
                                   Code::kPayloadTooLarge))
          << i << " " << result.error().to_string();
    }
  }
  EXPECT_EQ(positions(good).size(), 10u);
}

TEST_F(ReadTest, SaysNotFoundForAFileThatIsGone) {
  EXPECT_EQ(failure(duck.path("nothing.parquet")), Code::kNotFound);
  EXPECT_EQ(failure(duck.path("no*thing.parquet")), Code::kNotFound);
}

TEST_F(ReadTest, TakesFileNamesLiterally) {
  parquet("axb", "SELECT 111 AS pos");
  parquet("r1b", "SELECT 111 AS pos");
  int number = 0;
  for (const char* name :
       {"a*b", "a?b", "r[1]b", "r[!x]b", "**", "it's", "q\"q", "back\\slash", "per%20cent",
        "sp ace", "{a,b}", "semi;colon", "new\nline", "\u00e9\u00df", "x=1", "#hash", "~"}) {
    ++number;
    const std::string file = parquet(name, "SELECT " + std::to_string(number) + " AS pos");
    EXPECT_THAT(positions(file), ElementsAre(number)) << name;
  }
}

TEST_F(ReadTest, RefusesOtherAddresses) {
  for (const char* uri : {"http://127.0.0.1/x", "https://h/x", "relative.parquet", "", "hf://d/x",
                          "gcs://b/k", "file:///etc/passwd", "duckdb:x", "S3://b/k"}) {
    EXPECT_EQ(failure(uri), Code::kInvalidArgument) << uri;
  }
  EXPECT_EQ(failure(std::string("s3://b/a\0b", 10)), Code::kInvalidArgument);
  EXPECT_EQ(failure("s3://b/\xff"), Code::kInvalidArgument);
  EXPECT_EQ(failure("s3://b/k"), Code::kInvalidArgument);  // no object store is configured
  EngineConfig config = test_config();
  config.s3 = S3Config{.endpoint = "http://127.0.0.1:1",
                       .region = "us-east-1",
                       .access_key = "key",
                       .secret_key = Secret("secret"),
                       .session_token = {},
                       .path_style = true,
                       .ca_file = {},
                       .scope = "s3://mine/"};
  config.allow_local_files = false;
  DuckdbDataEngine strict(config);
  EXPECT_EQ(strict.read_position_deletes("/etc/passwd").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(strict.read_position_deletes("s3://other/k").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(strict.read_position_deletes("s3://mine/k").error().code(), Code::kUnavailable);
  EXPECT_EQ(strict.read_min_row_id("s3a://mine/k?s3_endpoint=h").error().code(),
            Code::kUnavailable);
}

TEST_F(ReadTest, BoundsWhatAFileMayMakeItAllocate) {
  EngineConfig config = test_config();
  config.max_result_rows = 10;
  DuckdbDataEngine small(config);
  const std::string file = parquet("many", "SELECT range AS pos FROM range(11)");
  EXPECT_EQ(small.read_position_deletes(file).error().code(), Code::kPayloadTooLarge);
  const std::string runs =
      parquet("runs", "SELECT range AS _ducklake_internal_snapshot_id FROM range(11)");
  EXPECT_EQ(small.read_row_snapshots(runs).error().code(), Code::kPayloadTooLarge);
}

}  // namespace
}  // namespace duckicelake::engine
