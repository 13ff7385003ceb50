// SPDX-License-Identifier: Apache-2.0
#include "app/view_role.h"

#include <random>

#include "base/bytes.h"
#include "pg/error.h"
#include "pg/transaction.h"
#include "sign/hash.h"
#include "sign/scram.h"

namespace duckicelake::app {
namespace {

using pg::Sql;
using pg::Statement;

constexpr Sql kCanLogin =
    "SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = $1 AND rolcanlogin";
constexpr Sql kMayCreateRoles =
    "SELECT rolcreaterole OR rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user";
constexpr Sql kDatabase = "SELECT current_database()";
constexpr Sql kLock = "SELECT pg_advisory_xact_lock(hashtextextended('duckicelake.view_role', 0))";

constexpr Sql kCreate = "CREATE ROLE {role}";
constexpr Sql kShape =
    "ALTER ROLE {role} LOGIN NOINHERIT NOCREATEDB NOCREATEROLE CONNECTION LIMIT 64 "
    "PASSWORD {password}";
constexpr Sql kReadOnly = "ALTER ROLE {role} SET default_transaction_read_only = on";
constexpr Sql kConnect = "GRANT CONNECT ON DATABASE {database} TO {role}";
constexpr Sql kUsage = "GRANT USAGE ON SCHEMA {schema} TO {role}";
constexpr Sql kSelect = "GRANT SELECT ON {tables} TO {role}";

// The catalog's tables; not the rows of users that DuckLake keeps inlined.
constexpr Sql kTables =
    "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' "
    "AND c.relname LIKE 'ducklake\\_%' AND (c.relname = 'ducklake_inlined_data_tables' "
    "OR c.relname NOT LIKE 'ducklake\\_inlined\\_%') ORDER BY c.relname";

// {schema}.table for each name.
Result<Sql> table_list(const pg::ResultSet& rows, const pg::SqlIdent& schema) {
  std::optional<Sql> out;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view name, row.text(0));
    DIL_TRY(const pg::SqlIdent table, pg::SqlIdent::make(name));
    const Sql one = pg::sql_with("{schema}.{table}", {{"schema", schema}, {"table", table}});
    out = out ? *out + Sql(", ") + one : one;
  }
  if (!out) return make_error(Code::kNotFound, "there are no DuckLake tables to grant");
  return *out;
}

Status run_once(pg::Transaction& transaction, const Sql& sql, std::string_view name) {
  DIL_TRY(auto done, transaction.exec(Statement{sql, {}, pg::Prepare::kOnce, name}));
  (void)done;
  return {};
}

Status make_in(pg::Transaction& transaction, const Settings& settings, const ViewRole& role) {
  DIL_CHECK_OK(run_once(transaction, kLock, "lock the view role"));
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(settings.postgres.schema));
  DIL_TRY(const pg::SqlIdent name, pg::SqlIdent::make(role.user));
  DIL_TRY(pg::ResultSet found,
          transaction.exec(Statement{kCanLogin, {role.user}, pg::Prepare::kOnce}));
  DIL_TRY(const std::int64_t count, found.row(0).int64(0));
  if (count == 0) {
    DIL_CHECK_OK(run_once(transaction, pg::sql_with(kCreate, {{"role", name}}), "create role"));
  }
  std::random_device random;
  std::string salt;
  for (int i = 0; i < 4; ++i) append_big_endian(salt, static_cast<std::uint32_t>(random()));
  DIL_TRY(const pg::SqlLiteral verifier,
          pg::SqlLiteral::make(sign::scram_verifier(role.password, salt)));
  DIL_CHECK_OK(run_once(transaction, pg::sql_with(kShape, {{"role", name}, {"password", verifier}}),
                        "alter role"));
  DIL_CHECK_OK(run_once(transaction, pg::sql_with(kReadOnly, {{"role", name}}), "alter role"));
  DIL_TRY(pg::ResultSet database, transaction.exec(Statement{kDatabase, {}, pg::Prepare::kOnce}));
  DIL_TRY(const std::string_view database_name, database.row(0).text(0));
  DIL_TRY(const pg::SqlIdent database_ident, pg::SqlIdent::make(database_name));
  DIL_CHECK_OK(run_once(transaction,
                        pg::sql_with(kConnect, {{"database", database_ident}, {"role", name}}),
                        "grant connect"));
  DIL_CHECK_OK(run_once(transaction, pg::sql_with(kUsage, {{"schema", schema}, {"role", name}}),
                        "grant usage"));
  DIL_TRY(pg::ResultSet tables,
          transaction.exec(Statement{kTables, {schema.name()}, pg::Prepare::kOnce}));
  DIL_TRY(const Sql list, table_list(tables, schema));
  return run_once(transaction, pg::sql_with(kSelect, {{"tables", list}, {"role", name}}),
                  "grant select");
}

}  // namespace

std::optional<ViewRole> derived_view_role(const Settings& settings) {
  const Settings::Postgres& postgres = settings.postgres;
  if (!postgres.view_user.empty()) return ViewRole{postgres.view_user, postgres.view_password};
  if (postgres.password.empty()) return std::nullopt;
  // Roles belong to the whole cluster, so the name tells one lake from another.
  std::string place = postgres.database;
  place.push_back('\0');
  place += postgres.schema;
  ViewRole out;
  out.user = "duckicelake_view_" + sign::sha256_hex(place).substr(0, 16);
  out.password = Secret(
      to_hex(sign::hmac_sha256(postgres.password.reveal(), "duckicelake view role " + out.user)));
  return out;
}

Result<std::optional<ViewRole>> find_view_role(pg::Connection& connection,
                                               const Settings& settings) {
  std::optional<ViewRole> role = derived_view_role(settings);
  if (!role || !settings.postgres.view_user.empty()) return role;
  DIL_TRY(pg::ResultSet rows,
          connection.exec(Statement{kCanLogin, {role->user}, pg::Prepare::kOnce}));
  DIL_TRY(const std::int64_t count, rows.row(0).int64(0));
  if (count == 0) role.reset();
  return role;
}

Result<ViewRoleOutcome> make_view_role(pg::Connection& connection, const Settings& settings) {
  const std::optional<ViewRole> role = derived_view_role(settings);
  if (!role) return ViewRoleOutcome::kNoPassword;
  if (!settings.postgres.view_user.empty()) return ViewRoleOutcome::kReady;
  DIL_TRY(pg::ResultSet rows, connection.exec(Statement{kMayCreateRoles, {}, pg::Prepare::kOnce}));
  DIL_TRY(const bool may_create, rows.row(0).boolean(0));
  if (!may_create) return ViewRoleOutcome::kMayNotCreateRoles;
  pg::Transaction transaction(connection);
  Status made = make_in(transaction, settings, *role);
  if (!made) {
    if (pg::sqlstate(made.error()) == "42501") return ViewRoleOutcome::kMayNotCreateRoles;
    return std::move(made).error();
  }
  DIL_CHECK_OK(transaction.commit());
  return ViewRoleOutcome::kReady;
}

}  // namespace duckicelake::app
