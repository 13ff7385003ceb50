// SPDX-License-Identifier: Apache-2.0
#include "store/inlined_table.h"

#include <filesystem>
#include <functional>

#include "engine/lake.h"
#include "pg/live/fixture.h"
#include "store/commit_rows.h"

namespace duckicelake::store {
namespace {

using ducklake::ColumnRow;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

// A DuckLake in which DuckDB keeps rows in PostgreSQL (nothing here reaches its object store), and
// two DuckDB sessions: `old_` is open all the time.
class InlinedTableLive : public pg::PgLive {
 protected:
  void SetUp() override {
    PgLive::SetUp();
    if (HasFatalFailure()) return;
    old_ = open(engine::AttachMode::kCreateIfMissing);
    run(*old_, "CALL lake.set_option('data_inlining_row_limit', 10)");
    connection_.emplace(connect());
    lake_ = open_lake(*connection_, "lake", schema_);
    ASSERT_TRUE(lake_) << lake_.error().to_string();
  }

  std::unique_ptr<engine::Lake> open(engine::AttachMode mode) {
    engine::EngineConfig engine;
    engine.library_path = DIL_DUCKDB_LIBRARY;
    engine.extension_directory = DIL_DUCKDB_EXTENSIONS;
    engine.temp_directory = std::filesystem::temp_directory_path().string();
    engine.s3 = engine::S3Config{};  // never asked: all rows are in PostgreSQL
    engine::LakeConfig lake{
        .postgres = {.host = config_.endpoints[0].host,
                     .port = config_.endpoints[0].port,
                     .user = config_.user,
                     .password = config_.password,
                     .database = config_.database,
                     .options = ""},
        .metadata_schema = schema_.name(),
        .data_path = mode == engine::AttachMode::kCreateIfMissing ? "s3://nowhere/data/" : ""};
    auto opened = engine::Lake::open(engine, lake, mode);
    if (!opened) throw std::runtime_error(opened.error().to_string());
    return std::move(*opened);
  }
  static void run(engine::Lake& lake, const std::string& sql) {
    const Texts statements = {sql};
    const Status done = lake.run_statements(statements);
    EXPECT_TRUE(done) << sql << ": " << done.error().to_string();
  }
  static Texts texts(engine::Lake& lake, const std::string& sql) {
    auto rows = lake.query_text(sql);
    if (!rows) return {rows.error().to_string()};
    Texts out;
    for (const auto& row : *rows) {
      std::string line;
      for (const auto& cell : row) line += (line.empty() ? "" : "|") + cell.value_or("-");
      out.push_back(line);
    }
    return out;
  }
  Texts inlined_tables(TableId table) {
    auto rows =
        connection_->exec(for_schema("SELECT table_name FROM {schema}.ducklake_inlined_data_tables "
                                     "WHERE table_id = $1 ORDER BY schema_version"),
                          {table});
    Texts out;
    for (const pg::Row row : *rows) out.emplace_back(*row.text(0));
    return out;
  }
  // "name type" of each column.
  Texts columns_of(const std::string& table) {
    auto rows = connection_->exec(
        "SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
        "JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 ORDER BY a.attnum",
        {schema_.name(), table});
    Texts out;
    for (const pg::Row row : *rows) out.emplace_back(*row.text(0));
    return out;
  }
  TableId table_id(const std::string& name) {
    auto rows = connection_->exec(
        for_schema("SELECT table_id FROM {schema}.ducklake_table WHERE table_name = $1"), {name});
    return TableId(*rows->row(0).int64(0));
  }
  std::vector<ColumnRow> live_columns(TableId table) {
    auto rows = connection_->exec(
        for_schema("SELECT column_id, column_order, column_name, column_type, nulls_allowed, "
                   "parent_column FROM {schema}.ducklake_column WHERE table_id = $1 "
                   "AND end_snapshot IS NULL"),
        {table});
    std::vector<ColumnRow> out;
    for (const pg::Row row : *rows) {
      pg::RowReader in(row);
      ColumnRow column;
      column.column_id = FieldId(static_cast<std::int32_t>(in.int64()));
      column.order = in.int64();
      column.name = in.text();
      column.type = in.text();
      column.nulls_allowed = in.boolean();
      if (const auto parent = in.optional_int64()) {
        column.parent = FieldId(static_cast<std::int32_t>(*parent));
      }
      out.push_back(std::move(column));
    }
    return out;
  }

  // What an Iceberg client's change of columns does to the catalog: `change` gets the live columns
  // and answers those after it.
  Status change_columns(TableId table,
                        const std::function<void(std::vector<ColumnRow>& columns)>& change) {
    const std::vector<ColumnRow> before = live_columns(table);
    std::vector<ColumnRow> after = before;
    change(after);
    pg::Transaction transaction(*connection_);
    SlotNeeds needs;
    needs.changes_schema = true;
    DIL_TRY(const Slot slot, take_slot(transaction, *lake_, needs));
    std::vector<std::int64_t> ended;
    for (const ColumnRow& column : before) ended.push_back(column.column_id.value);
    DIL_CHECK_OK(end_columns(transaction, *lake_, table, slot.snapshot, ended));
    DIL_CHECK_OK(insert_columns(transaction, *lake_, table, slot.snapshot, after));
    DIL_CHECK_OK(insert_schema_version(transaction, *lake_, table, slot));
    DIL_CHECK_OK(add_inlined_table(transaction, *lake_, table, slot, after));
    DIL_CHECK_OK(record_slot(transaction, *lake_, slot.snapshot,
                             {.changes_made = fmt::format("altered_table:{}", table.value),
                              .author = "test",
                              .message = "",
                              .extra = {}}));
    return transaction.commit();
  }
  static ColumnRow column(std::int32_t id, const char* name, const char* type) {
    ColumnRow row;
    row.column_id = FieldId(id);
    row.order = id;
    row.name = name;
    row.type = type;
    return row;
  }

  std::unique_ptr<engine::Lake> old_;
  std::optional<pg::Connection> connection_;
  Result<Lake> lake_ = Error(Code::kInternal, "not opened");
};

TEST_F(InlinedTableLive, GivesColumnsTheTypesThatDuckDBGivesThem) {
  run(*old_,
      "CREATE TABLE lake.main.t (k INTEGER, \"c \"\"0\" BOOLEAN, c1 TINYINT, c2 SMALLINT, c3 "
      "BIGINT, "
      "c4 HUGEINT, c5 UTINYINT, c6 USMALLINT, c7 UINTEGER, c8 UBIGINT, c9 UHUGEINT, c10 FLOAT, "
      "c11 DOUBLE, c12 DECIMAL(4,1), c13 DECIMAL(38,10), c14 DATE, c15 TIME, c16 TIMETZ, "
      "c17 TIMESTAMP, c18 TIMESTAMP_S, c19 TIMESTAMP_MS, c20 TIMESTAMP_NS, c21 TIMESTAMPTZ, "
      "c22 INTERVAL, c23 VARCHAR, c24 JSON, c25 BLOB, c26 UUID, c27 STRUCT(a INTEGER, b VARCHAR), "
      "c28 INTEGER[], c29 MAP(VARCHAR, INTEGER))");
  const TableId table = table_id("t");
  ASSERT_OK(change_columns(table, [](std::vector<ColumnRow>& columns) {
    columns.push_back(column(1000, "last", "int64"));
  }));
  const Texts tables = inlined_tables(table);
  ASSERT_EQ(tables.size(), 2u);
  Texts expected = columns_of(tables[0]);
  ASSERT_EQ(expected.size(), 34u);
  expected.emplace_back("last bigint");
  EXPECT_EQ(columns_of(tables[1]), expected);
}

TEST_F(InlinedTableLive, LetsOldAndNewDuckDBSessionsGoOnWriting) {
  run(*old_, "CREATE TABLE lake.main.t (id INTEGER, v VARCHAR, s STRUCT(a INTEGER))");
  run(*old_, "INSERT INTO lake.main.t VALUES (1, 'one', {'a': 1}), (2, 'two', {'a': 2})");
  const TableId table = table_id("t");
  ASSERT_OK(change_columns(table, [](std::vector<ColumnRow>& columns) {
    columns.push_back(column(10, "w", "varchar"));
  }));
  const auto fresh = open(engine::AttachMode::kExisting);
  int id = 100;
  for (engine::Lake* session : {old_.get(), fresh.get()}) {
    const std::string n = std::to_string(id);
    const std::string next = std::to_string(id + 1);
    run(*session, "INSERT INTO lake.main.t VALUES (" + n + ", 'x', {'a': 3}, 'w')");
    run(*session, "INSERT INTO lake.main.t (id) VALUES (" + next + ")");
    run(*session, "UPDATE lake.main.t SET w = 'new' WHERE id IN (1, " + next + ")");
    run(*session, "DELETE FROM lake.main.t WHERE id = " + n);
    id += 100;
  }
  for (engine::Lake* session : {old_.get(), fresh.get()}) {
    EXPECT_THAT(texts(*session, "SELECT id, v, s.a, w FROM lake.main.t ORDER BY id"),
                ElementsAre("1|one|1|new", "2|two|2|-", "101|-|-|new", "201|-|-|new"));
  }
}

TEST_F(InlinedTableLive, FollowsRenamesPromotionsMovesAndDrops) {
  run(*old_, "CREATE TABLE lake.main.t (id INTEGER, v VARCHAR, gone VARCHAR)");
  run(*old_, "INSERT INTO lake.main.t VALUES (1, 'one', 'x')");
  const TableId table = table_id("t");
  ASSERT_OK(change_columns(table, [](std::vector<ColumnRow>& columns) {
    for (ColumnRow& c : columns) {
      if (c.name == "id") c.type = "int64";
      if (c.name == "id") c.order = 9;
      if (c.name == "v") c.name = "named";
    }
    std::erase_if(columns, [](const ColumnRow& c) { return c.name == "gone"; });
  }));
  run(*old_, "INSERT INTO lake.main.t VALUES ('big', 4000000000)");
  run(*old_, "UPDATE lake.main.t SET named = 'uno' WHERE id = 1");
  EXPECT_THAT(texts(*old_, "FROM lake.main.t ORDER BY id"), ElementsAre("uno|1", "big|4000000000"));
  EXPECT_THAT(columns_of(inlined_tables(table).back()),
              ElementsAre("row_id bigint", "begin_snapshot bigint", "end_snapshot bigint",
                          "named bytea", "id bigint"));
}

TEST_F(InlinedTableLive, LeavesATableAloneThatHasNoInlinedTable) {
  run(*old_, "CALL lake.set_option('data_inlining_row_limit', 0)");
  run(*old_, "CREATE TABLE lake.main.t (id INTEGER)");
  const TableId table = table_id("t");
  ASSERT_OK(change_columns(table, [](std::vector<ColumnRow>& columns) {
    columns.push_back(column(10, "xmin", "int32"));
  }));
  EXPECT_THAT(inlined_tables(table), IsEmpty());
}

TEST_F(InlinedTableLive, MakesNoneForColumnsThatDuckDBDoesNotInline) {
  run(*old_, "CREATE TABLE lake.main.t (id INTEGER)");
  run(*old_, "INSERT INTO lake.main.t VALUES (1)");
  const TableId table = table_id("t");
  const std::string long_name(64, 'n');
  for (const auto& [name, type] :
       {std::pair("g", "variant"), std::pair("g", "geometry"), std::pair("Row_Id", "int32"),
        std::pair(long_name.c_str(), "int32")}) {
    ASSERT_OK(change_columns(table, [&](std::vector<ColumnRow>& columns) {
      std::erase_if(columns, [](const ColumnRow& c) { return c.column_id.value >= 10; });
      columns.push_back(column(10, name, type));
    }));
    EXPECT_EQ(inlined_tables(table).size(), 1u) << name << " " << type;
    EXPECT_THAT(texts(*old_, "SELECT id FROM lake.main.t"), ElementsAre("1"));
  }
  // Inlining begins again with columns that allow it.
  ASSERT_OK(change_columns(table, [](std::vector<ColumnRow>& columns) {
    std::erase_if(columns, [](const ColumnRow& c) { return c.column_id.value >= 10; });
  }));
  EXPECT_EQ(inlined_tables(table).size(), 2u);
  run(*old_, "INSERT INTO lake.main.t VALUES (2)");
  EXPECT_THAT(texts(*old_, "SELECT id FROM lake.main.t ORDER BY id"), ElementsAre("1", "2"));
}

TEST_F(InlinedTableLive, RefusesNamesThatPostgresKeepsForItself) {
  run(*old_, "CREATE TABLE lake.main.t (id INTEGER)");
  const TableId table = table_id("t");
  const auto add = [](const char* type) {
    return [type](std::vector<ColumnRow>& columns) { columns.push_back(column(10, "ctid", type)); };
  };
  EXPECT_EQ(change_columns(table, add("int32")).error().code(), Code::kInvalidArgument);
  run(*old_, "INSERT INTO lake.main.t VALUES (2)");
  EXPECT_THAT(texts(*old_, "SELECT id FROM lake.main.t ORDER BY id"), ElementsAre("2"));
  const auto unknown = [](std::vector<ColumnRow>& columns) {
    columns.push_back(column(10, "x", "int32); DROP TABLE x; --"));
  };
  EXPECT_EQ(change_columns(table, unknown).error().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace duckicelake::store
