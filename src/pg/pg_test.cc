// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pg/config.h"
#include "pg/error.h"
#include "pg/param.h"
#include "pg/sql.h"
#include "pg/statement_cache.h"
#include "pg/transaction.h"
#include "pg/value.h"

namespace duckicelake::pg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// --- sql.h
// -------------------------------------------------------------------------------------------

TEST(SqlIdent, QuotesWhatPostgresqlWouldFoldOrEnd) {
  EXPECT_EQ(SqlIdent::make("lake")->quoted(), "\"lake\"");
  EXPECT_EQ(SqlIdent::make("Mixed Case")->quoted(), "\"Mixed Case\"");
  EXPECT_EQ(SqlIdent::make("a\"; drop table x; --")->quoted(), "\"a\"\"; drop table x; --\"");
  EXPECT_EQ(SqlIdent::make("größe")->name(), "größe");
  EXPECT_EQ(SqlIdent::constant("public").quoted(), "\"public\"");
}

TEST(SqlIdent, RefusesWhatPostgresqlWouldCutOrRefuse) {
  EXPECT_FALSE(SqlIdent::make(""));
  EXPECT_FALSE(SqlIdent::make(std::string_view("a\0b", 3)));
  EXPECT_FALSE(SqlIdent::make("\xff"));
  EXPECT_TRUE(SqlIdent::make(std::string(63, 'a')));
  EXPECT_FALSE(SqlIdent::make(std::string(64, 'a')));
  EXPECT_FALSE(SqlIdent::make("ää" + std::string(60, 'a')));  // bytes count, not characters
  EXPECT_EQ(SqlIdent::make("").error().code(), Code::kInvalidArgument);
}

TEST(SqlLiteral, EscapesQuotesAndBackslashes) {
  EXPECT_EQ(SqlLiteral::make("plain")->quoted(), "'plain'");
  EXPECT_EQ(SqlLiteral::make("it's")->quoted(), "'it''s'");
  EXPECT_EQ(SqlLiteral::make("a\\'b")->quoted(), " E'a\\\\''b'");
  EXPECT_FALSE(SqlLiteral::make(std::string_view("a\0b", 3)));
  EXPECT_FALSE(SqlLiteral::make("\xc3"));
}

TEST(Sql, ReplacesTheSchemaEverywhereAndNothingElse) {
  const SqlIdent schema = SqlIdent::constant("my lake");
  EXPECT_EQ(sql_for_schema(schema, "SELECT '{}'::int8[] FROM {schema}.a JOIN {schema}.b").text(),
            "SELECT '{}'::int8[] FROM \"my lake\".a JOIN \"my lake\".b");
  EXPECT_EQ(sql_for_schema(schema, "SELECT 1").text(), "SELECT 1");
  EXPECT_EQ(sql_for_schema(schema, "{schema").text(), "{schema");
  EXPECT_EQ(sql_for_schema(schema, "{{schema}}{schemas}").text(), "{\"my lake\"}{schemas}");
  EXPECT_EQ(sql_for_schema(schema, "").text(), "");
}

TEST(Sql, DoesNotSearchWhatItPutIn) {
  const SqlIdent evil = *SqlIdent::make("{table}");
  const Sql sql = sql_with("SELECT * FROM {schema}.{table}",
                           {{"schema", evil}, {"table", SqlIdent::constant("t")}});
  EXPECT_EQ(sql.text(), "SELECT * FROM \"{table}\".\"t\"");
}

TEST(Sql, BindsListsLiteralsNumbersAndFragments) {
  const std::vector<SqlIdent> columns = {SqlIdent::constant("a"), SqlIdent::constant("b\"c")};
  const Sql sql = sql_with("SELECT {columns}, {number}, 1 -{negative}, {text} {where}",
                           {{"columns", columns},
                            {"number", std::int64_t{7}},
                            {"negative", std::int64_t{-7}},
                            {"text", *SqlLiteral::make("x'y")},
                            {"where", Sql("WHERE a = $1")}});
  EXPECT_EQ(sql.text(), "SELECT \"a\", \"b\"\"c\", 7, 1 -(-7), 'x''y' WHERE a = $1");
}

TEST(Sql, JoinsTextsAndOutlivesItsParts) {
  Sql joined = "";
  {
    const Sql part = sql_for_schema(SqlIdent::constant("s"), "SELECT 1 FROM {schema}.t");
    joined = part + " WHERE x = $1";
  }
  const Sql copy = joined;
  joined = "other";
  EXPECT_EQ(copy.text(), "SELECT 1 FROM \"s\".t WHERE x = $1");
}

TEST(SqlDeathTest, EndsTheProcessWhenABindingIsNotUsed) {
  EXPECT_DEATH(sql_with("SELECT 1", {{"schema", SqlIdent::constant("s")}}), "");
}

static_assert(!std::is_constructible_v<Sql, std::string>);
static_assert(!std::is_constructible_v<SqlIdent, std::string>);

// --- value.h
// -----------------------------------------------------------------------------------------

TEST(Value, ReadsIntegersToTheirLimitsAndNothingBeyond) {
  EXPECT_EQ(*parse_int64("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (std::string_view bad : {"", "9223372036854775808", "1 ", " 1", "+1", "1.0", "0x1", "-"}) {
    Result<std::int64_t> value = parse_int64(bad);
    ASSERT_FALSE(value) << bad;
    EXPECT_EQ(value.error().code(), Code::kCorruptData);
  }
}

TEST(Value, ReadsBooleansAndDoubles) {
  EXPECT_TRUE(*parse_bool("t"));
  EXPECT_FALSE(*parse_bool("f"));
  EXPECT_FALSE(parse_bool("true"));
  EXPECT_EQ(*parse_double("-1.5e-3"), -1.5e-3);
  EXPECT_TRUE(std::isnan(*parse_double("NaN")));
  EXPECT_EQ(*parse_double("-Infinity"), -std::numeric_limits<double>::infinity());
  for (std::string_view bad : {"", "1x", "1e999", "inf "}) EXPECT_FALSE(parse_double(bad)) << bad;
}

TEST(Value, ReadsByteaInHexOnly) {
  EXPECT_EQ(*parse_bytea("\\x00ff41"), std::string("\0\xff"
                                                   "A",
                                                   3));
  EXPECT_EQ(*parse_bytea("\\x"), "");
  for (std::string_view bad : {"", "00", "\\x0", "\\xzz", "\\000"}) EXPECT_FALSE(parse_bytea(bad));
}

TEST(Value, ReadsInt64Arrays) {
  EXPECT_THAT(*parse_int64_array("{}"), ElementsAre());
  EXPECT_THAT(*parse_int64_array("{1,-2,9223372036854775807}"),
              ElementsAre(1, -2, std::numeric_limits<std::int64_t>::max()));
  for (std::string_view bad :
       {"", "{", "}", "{1", "{1,", "{1,}", "{,1}", "{1}}", "{1}x", "{NULL}", "{{1},{2}}",
        "[0:1]={1,2}", "{1;2}", "{a}", "{\"1}", "{\"1\\", "{\\"}) {
    EXPECT_FALSE(parse_int64_array(bad)) << bad;
  }
}

TEST(Value, ReadsTextArraysWithNullsAndQuotes) {
  EXPECT_THAT(*parse_text_array("{a,NULL,\"NULL\",\"\",\"x,y}\",\"q\\\"\\\\\",b c}"),
              ElementsAre("a", std::nullopt, "NULL", "", "x,y}", "q\"\\", "b c"));
  EXPECT_FALSE(parse_text_array("{\"a\"b}"));
  EXPECT_FALSE(parse_text_array("{a\"b\"}"));
  EXPECT_FALSE(parse_text_array("{{a}}"));
}

TEST(Value, ArraysSurviveARoundTrip) {
  const std::vector<std::optional<std::string>> values = {
      "", "NULL", std::nullopt, "a\"b\\c", "{,}", " space ", "ünï", "new\nline"};
  EXPECT_EQ(*parse_text_array(text_array_literal(values)), values);
  const std::vector<std::int64_t> numbers = {0, -1, std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(*parse_int64_array(int64_array_literal(numbers)), numbers);
  EXPECT_EQ(int64_array_literal({}), "{}");
  EXPECT_EQ(text_array_literal(std::vector<std::string>{"a", "b"}), "{\"a\",\"b\"}");
}

TEST(Value, CopyRowsSurviveARoundTrip) {
  const std::vector<std::optional<std::string_view>> fields = {
      "a\tb", "", std::nullopt, "\\N", "line\nend\r", "\\", "\b\f\v"};
  std::string line;
  append_copy_row(line, fields);
  EXPECT_EQ(line.substr(0, 12), "a\\tb\t\t\\N\t\\\\N");
  EXPECT_THAT(*parse_copy_row(line),
              ElementsAre("a\tb", "", std::nullopt, "\\N", "line\nend\r", "\\", "\b\f\v"));
  EXPECT_THAT(*parse_copy_row(""), ElementsAre(""));
  EXPECT_FALSE(parse_copy_row("a\\"));
}

// --- param.h
// -----------------------------------------------------------------------------------------

TEST(Param, EncodesEachKindWithItsType) {
  struct Case {
    Param param;
    std::uint32_t oid;
    std::optional<std::string> bytes;
  };
  const std::vector<std::int64_t> numbers = {1, 2};
  const std::vector<std::string> texts = {"a,b"};
  const Case cases[] = {
      {std::nullopt, 0, std::nullopt},
      {true, 16, "t"},
      {false, 16, "f"},
      {5, 20, "5"},
      {std::int64_t{-9}, 20, "-9"},
      {std::uint32_t{4294967295U}, 20, "4294967295"},
      {TableId(12), 20, "12"},
      {FieldId(3), 20, "3"},
      {0.1, 701, "0.1"},
      {std::numeric_limits<double>::infinity(), 701, "Infinity"},
      {"text", 0, "text"},
      {std::string("text"), 0, "text"},
      {std::string_view("text"), 0, "text"},
      {std::optional<std::int64_t>(), 20, std::nullopt},
      {std::optional<std::int64_t>(8), 20, "8"},
      {std::optional<std::string>(), 0, std::nullopt},
      {std::optional<std::string>("x"), 0, "x"},
      {Param::int64_array(numbers), 1016, "{1,2}"},
      {Param::text_array(texts), 1009, "{\"a,b\"}"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.param.type_oid(), c.oid);
    EXPECT_EQ(c.param.bytes(), c.bytes);
    EXPECT_FALSE(c.param.is_binary());
  }
  const Param bytes = Param::bytea(std::string("\0\x01", 2));
  EXPECT_TRUE(bytes.is_binary());
  EXPECT_EQ(bytes.bytes()->size(), 2u);
}

TEST(Param, RefusesANulInText) {
  const std::vector<Param> bad = {std::string("a\0b", 3)};
  EXPECT_EQ(check_params(bad).error().code(), Code::kInvalidArgument);
  const std::vector<Param> good = {Param::bytea(std::string("a\0b", 3)), "text", std::nullopt};
  EXPECT_TRUE(check_params(good));
}

// --- statement_cache.h
// -------------------------------------------------------------------------------

TEST(StatementCache, KeysOnTextAndParameterTypes) {
  const std::string with_int = StatementCache::key_of({"SELECT $1", {1}});
  const std::string with_text = StatementCache::key_of({"SELECT $1", {"1"}});
  EXPECT_NE(with_int, with_text);
  EXPECT_EQ(with_int, StatementCache::key_of({"SELECT $1", {2}}));
  EXPECT_EQ(with_int, StatementCache::key_of({"SELECT $1", {std::optional<std::int64_t>()}}));
}

TEST(StatementCache, DropsTheLeastRecentlyUsed) {
  StatementCache cache(2);
  cache.insert("a", "1");
  cache.insert("b", "2");
  EXPECT_EQ(cache.find("a"), "1");
  cache.insert("c", "3");
  EXPECT_EQ(cache.find("b"), "");
  EXPECT_EQ(cache.find("a"), "1");
  EXPECT_EQ(cache.find("c"), "3");
  EXPECT_THAT(cache.take_evicted(), ElementsAre("2"));
  EXPECT_THAT(cache.take_evicted(), ElementsAre());
  EXPECT_EQ(cache.size(), 2u);
}

// --- error.h
// -----------------------------------------------------------------------------------------

TEST(PgError, MapsSqlstates) {
  EXPECT_EQ(code_for_sqlstate("40001"), Code::kCommitFailed);
  EXPECT_EQ(code_for_sqlstate("40P01"), Code::kCommitFailed);
  EXPECT_EQ(code_for_sqlstate("40003"), Code::kCommitStateUnknown);
  EXPECT_EQ(code_for_sqlstate("23505"), Code::kInternal);
  EXPECT_EQ(code_for_sqlstate("57014"), Code::kDeadlineExceeded);
  for (const char* state : {"08006", "53300", "57P01", "57P03", "25006", "55P03"}) {
    EXPECT_EQ(code_for_sqlstate(state), Code::kUnavailable) << state;
  }
  EXPECT_EQ(code_for_sqlstate("22021"), Code::kInvalidArgument);
  EXPECT_EQ(code_for_sqlstate("42501"), Code::kInternal);
  EXPECT_EQ(code_for_sqlstate(""), Code::kInternal);
}

TEST(PgError, ReadsStateAndConstraintBackFromTheCause) {
  Error error(Code::kInternal, "m", "sqlstate=23505 constraint=\"odd \"\"name\" insert: duplicate");
  error = std::move(error).with_context("table t");
  EXPECT_EQ(sqlstate(error), "23505");
  EXPECT_EQ(constraint_name(error), "odd \"name");
  EXPECT_TRUE(is_unique_violation(error, "odd \"name"));
  EXPECT_FALSE(is_unique_violation(error, "name"));
  EXPECT_FALSE(is_serialization_conflict(error));
  const Error plain(Code::kInternal, "m", "something else");
  EXPECT_EQ(sqlstate(plain), "");
  EXPECT_EQ(constraint_name(plain), "");
  EXPECT_TRUE(is_serialization_conflict(Error(Code::kCommitFailed, "m", "sqlstate=40P01 x: y")));
}

// --- config.h
// ----------------------------------------------------------------------------------------

TEST(PgConfig, ReadsConninfo) {
  Result<PgConfig> config = parse_conninfo(
      "host=a,/run/pg port=1,2 user=u password='p w' dbname=d sslmode=require connect_timeout=3 "
      "target_session_attrs=any");
  ASSERT_TRUE(config) << config.error().to_string();
  ASSERT_EQ(config->endpoints.size(), 2u);
  EXPECT_EQ(config->endpoints[1].host, "/run/pg");
  EXPECT_EQ(config->endpoints[1].port, 2);
  EXPECT_EQ(config->password.reveal(), "p w");
  EXPECT_EQ(config->database, "d");
  EXPECT_EQ(config->sslmode, "require");
  EXPECT_EQ(config->connect_timeout, std::chrono::seconds(3));
  EXPECT_EQ(config->session_target, SessionTarget::kAny);
  EXPECT_EQ(parse_conninfo("postgresql://u:p@h:77/d")->endpoints[0].port, 77);
}

TEST(PgConfig, RefusesBadConninfoWithoutQuotingIt) {
  for (std::string_view bad :
       {"password=secret' user", "user=u dbname=d password=secret options=-cx=y",
        "user=u dbname=d password=secret port=0", "user=u password=secret",
        "user=u dbname=d password=secret host=a,b,c port=1,2",
        "user=u dbname=d password=secret sslmode=maybe",
        "user=u dbname=d password=secret target_session_attrs=standby"}) {
    Result<PgConfig> config = parse_conninfo(bad);
    ASSERT_FALSE(config) << bad;
    EXPECT_EQ(config.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(config.error().to_string(), testing::Not(HasSubstr("secret")));
  }
}

TEST(PgConfig, ValidatesThePool) {
  PgConfig config;
  config.user = "u";
  config.database = "d";
  EXPECT_TRUE(validate(config));
  config.pool_min = 17;
  EXPECT_FALSE(validate(config));
  config.pool_min = 0;
  config.pool_max = 0;
  EXPECT_FALSE(validate(config));
}

// --- transaction.h
// -----------------------------------------------------------------------------------

TEST(Transaction, WritesItsOptions) {
  EXPECT_EQ(begin_statement({Isolation::kSerializable, Access::kReadOnly}).sql.text(),
            "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY");
  EXPECT_EQ(begin_statement({}).sql.text(), "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  EXPECT_EQ(commit_statement().effect, Effect::kCommit);
  EXPECT_EQ(savepoint_statement(SqlIdent::constant("s")).sql.text(), "SAVEPOINT \"s\"");
}

}  // namespace
}  // namespace duckicelake::pg
