// SPDX-License-Identifier: Apache-2.0
#include "store/inlined_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duckicelake::store {
namespace {

using ducklake::ColumnRow;
using pg::Sql;
using pg::Statement;

// Whether there is one, and who owns DuckLake's tables when that is not this session's role.
constexpr Sql kFind =
    "SELECT EXISTS (SELECT 1 FROM {schema}.ducklake_inlined_data_tables WHERE table_id = $1), "
    "(SELECT nullif(pg_get_userbyid(c.relowner), current_user)::text FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $2 "
    "AND c.relname = 'ducklake_inlined_data_tables')";

constexpr Sql kCreate =
    "CREATE TABLE {schema}.{table} (row_id bigint, begin_snapshot bigint, end_snapshot bigint";
constexpr Sql kColumn = ", {column} {type}";
constexpr Sql kGiveAway = "ALTER TABLE {schema}.{table} OWNER TO {owner}";
constexpr Sql kRegister =
    "INSERT INTO {schema}.ducklake_inlined_data_tables (table_id, table_name, schema_version) "
    "VALUES ($1, $2, $3)";

constexpr std::size_t kMaxNameBytes = 63;
constexpr std::size_t kMaxColumns = 1600 - 3;  // of a PostgreSQL table

// DuckDB inlines nothing into a table with one of these.
constexpr std::array<std::string_view, 5> kReserved = {"row_id", "begin_snapshot", "end_snapshot",
                                                       "_ducklake_internal_snapshot_id",
                                                       "_ducklake_internal_row_id"};
// Every table of PostgreSQL has these.
constexpr std::array<std::string_view, 6> kSystem = {"tableoid", "xmin", "cmin",
                                                     "xmax",     "cmax", "ctid"};

struct TypePair {
  std::string_view ducklake;
  Sql postgres;
};

// As DuckDB makes them: what PostgreSQL's own type cannot hold in full is text or bytes.
const std::array<TypePair, 30>& type_pairs() {
  static constexpr Sql kText = "varchar";
  static constexpr Sql kBytes = "bytea";
  static const std::array<TypePair, 30> kPairs = {{
      {"boolean", "boolean"}, {"int8", "smallint"},     {"int16", "smallint"},
      {"int32", "integer"},   {"int64", "bigint"},      {"int128", kText},
      {"uint8", "integer"},   {"uint16", "integer"},    {"uint32", "bigint"},
      {"uint64", kText},      {"uint128", kText},       {"float32", "real"},
      {"float64", "float8"},  {"date", kText},          {"time", "time"},
      {"timetz", "timetz"},   {"timestamp", kText},     {"timestamp_us", kText},
      {"timestamp_s", kText}, {"timestamp_ms", kText},  {"timestamp_ns", kText},
      {"timestamptz", kText}, {"interval", "interval"}, {"varchar", kBytes},
      {"json", kBytes},       {"blob", kBytes},         {"uuid", "uuid"},
      {"struct", kText},      {"list", kText},          {"map", kText},
  }};
  return kPairs;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "decimal(9,2)" -> numeric(9,2).
std::optional<Sql> decimal_type(std::string_view type) {
  constexpr std::string_view kPrefix = "decimal(";
  if (!type.starts_with(kPrefix) || !type.ends_with(')')) return std::nullopt;
  const char* at = type.data() + kPrefix.size();
  const char* end = type.data() + type.size() - 1;
  std::int64_t precision = 0;
  std::int64_t scale = 0;
  const auto first = std::from_chars(at, end, precision);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ',') return std::nullopt;
  at = first.ptr + 1;
  while (at != end && *at == ' ') ++at;
  const auto second = std::from_chars(at, end, scale);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  if (precision < 1 || precision > 38 || scale < 0 || scale > precision) return std::nullopt;
  return pg::sql_with("numeric({precision},{scale})", {{"precision", precision}, {"scale", scale}});
}

Result<Sql> postgres_type(const ColumnRow& column) {
  const std::string type = lower(column.type);
  for (const TypePair& pair : type_pairs()) {
    if (pair.ducklake == type) return pair.postgres;
  }
  if (auto decimal = decimal_type(type)) return *decimal;
  return make_error(Code::kUnsupported, "column {}: DuckLake's type {} is not known", column.name,
                    column.type);
}

bool allows_inlining(std::span<const ColumnRow> columns) {
  return std::none_of(columns.begin(), columns.end(), [](const ColumnRow& column) {
    const std::string type = lower(column.type);
    if (type == "variant" || type == "geometry") return true;
    if (column.parent) return false;
    return column.name.size() > kMaxNameBytes || is_one_of(kReserved, lower(column.name));
  });
}

Result<std::vector<ColumnRow>> top_level(std::span<const ColumnRow> columns) {
  std::vector<ColumnRow> out;
  for (const ColumnRow& column : columns) {
    if (column.parent) continue;
    if (is_one_of(kSystem, column.name)) {
      return invalid_argument(
          "column {}: PostgreSQL, which keeps small inserts of this table, has "
          "a column of that name in every table",
          column.name);
    }
    out.push_back(column);
  }
  if (out.size() > kMaxColumns) {
    return invalid_argument("a table whose small inserts PostgreSQL keeps may have {} columns",
                            kMaxColumns);
  }
  std::sort(out.begin(), out.end(), [](const ColumnRow& a, const ColumnRow& b) {
    return a.order != b.order ? a.order < b.order : a.column_id < b.column_id;
  });
  return out;
}

Result<Sql> create_sql(const Lake& lake, const pg::SqlIdent& name,
                       std::span<const ColumnRow> columns) {
  Sql sql = pg::sql_with(kCreate, {{"schema", lake.metadata_schema}, {"table", name}});
  for (const ColumnRow& column : columns) {
    DIL_TRY(const pg::SqlIdent ident, pg::SqlIdent::make(column.name));
    DIL_TRY(const Sql type, postgres_type(column));
    sql = sql + pg::sql_with(kColumn, {{"column", ident}, {"type", type}});
  }
  return sql + Sql(")");
}

}  // namespace

Status add_inlined_table(pg::Transaction& transaction, const Lake& lake, TableId table,
                         const Slot& slot, std::span<const ColumnRow> live_columns_after) {
  DIL_TRY(pg::ResultSet found, transaction.exec(pg::sql_for_schema(lake.metadata_schema, kFind),
                                                {table, lake.metadata_schema.name()}));
  pg::RowReader in(found.row(0));
  const bool has_one = in.boolean();
  const std::optional<std::string> owner = in.optional_text();
  DIL_CHECK_OK(in.status());
  if (!has_one || !allows_inlining(live_columns_after)) return {};
  DIL_TRY(const std::vector<ColumnRow> columns, top_level(live_columns_after));
  const std::string name =
      fmt::format("ducklake_inlined_data_{}_{}", table.value, slot.schema_version);
  DIL_TRY(const pg::SqlIdent ident, pg::SqlIdent::make(name));
  DIL_TRY(Sql create, create_sql(lake, ident, columns));
  std::vector<Statement> statements;
  statements.push_back({.sql = std::move(create), .prepare = pg::Prepare::kOnce});
  if (owner) {
    // DuckDB's role must be able to write to the table, and to drop it once it is empty.
    DIL_TRY(const pg::SqlIdent role, pg::SqlIdent::make(*owner));
    statements.push_back(
        {.sql = pg::sql_with(kGiveAway,
                             {{"schema", lake.metadata_schema}, {"table", ident}, {"owner", role}}),
         .prepare = pg::Prepare::kOnce});
  }
  statements.push_back({.sql = pg::sql_for_schema(lake.metadata_schema, kRegister),
                        .params = {table, name, slot.schema_version}});
  DIL_TRY(std::vector<pg::ResultSet> done, transaction.batch(statements));
  (void)done;
  return {};
}

}  // namespace duckicelake::store
