// SPDX-License-Identifier: Apache-2.0
#include "store/direct.h"

#include "pg/error.h"
#include "store/direct_schema.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::SqlIdent;
using pg::Statement;

constexpr int kVersionWithGrantOptions = 160000;

constexpr Sql kHasGroups =
    "SELECT EXISTS (SELECT FROM duckicelake.direct_lake WHERE metadata_schema = $1 "
    "AND reader_group = $2 AND writer_group = $3) AND 2 = (SELECT count(*) FROM "
    "pg_catalog.pg_roles WHERE rolname IN ($2, $3))";
constexpr Sql kLock = "SELECT pg_advisory_xact_lock(hashtextextended('duckicelake.direct', 0))";
constexpr Sql kPatience = "SET LOCAL lock_timeout = '5s'";
constexpr Sql kIsRole = "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1";
constexpr Sql kCreateGroup = "CREATE ROLE {group} NOLOGIN";
constexpr Sql kUsage = "GRANT USAGE ON SCHEMA {schema} TO {reader}, {writer}";
constexpr Sql kMayConnect =
    "SELECT has_database_privilege($1, current_database(), 'CONNECT'), current_database()";
constexpr Sql kConnect = "GRANT CONNECT ON DATABASE {database} TO {reader}, {writer}";
constexpr Sql kNoteGroups =
    "INSERT INTO duckicelake.direct_lake (metadata_schema, reader_group, writer_group) "
    "VALUES ($1, $2, $3) ON CONFLICT (metadata_schema) DO UPDATE SET reader_group = "
    "excluded.reader_group, writer_group = excluded.writer_group";

constexpr Sql kUnarmed = "SELECT name, is_known, is_granted FROM duckicelake.direct_unarmed($1)";
constexpr Sql kUnarmedAnywhere =
    "SELECT d.metadata_schema, u.name FROM duckicelake.direct_lake d CROSS JOIN LATERAL "
    "duckicelake.direct_unarmed(d.metadata_schema) u WHERE u.is_known "
    "AND d.metadata_schema = coalesce($1, d.metadata_schema)";
constexpr Sql kShortPatience = "SET LOCAL lock_timeout = '1s'";
constexpr Sql kArm = "SELECT duckicelake.direct_arm($1, $2)";

// One statement: the rules that it compares and the clients that it reads are of one moment.
constexpr Sql kInsertRole =
    "INSERT INTO duckicelake.pg_principal (pg_role, catalog_id, registration, is_writer, "
    "principal, subject, subject_client, issued_at, clients, roles, sees_all, reads_everywhere, "
    "reads, writes_everywhere, writes, expires_at) "
    "SELECT $1, $2, k.registration, $3, $4, $5, nullif($6, ''), $7, coalesce((SELECT "
    "jsonb_object_agg(c.client_id, duckicelake.client_state(c.client_id)) FROM duckicelake.client "
    "c WHERE c.client_id = ANY ($8::text[])), '{}'), $9, $10, $11, $12::jsonb, $13, $14::jsonb, "
    "to_timestamp($15) FROM duckicelake.access_version v, duckicelake.catalog k "
    "WHERE v.value = coalesce($16, v.value) AND k.catalog_id = $2 AND k.state = 'open' "
    "AND k.registration = coalesce(nullif($17, 0), k.registration)";
constexpr Sql kCreateRole =
    "CREATE ROLE {role} LOGIN INHERIT NOCREATEDB NOCREATEROLE CONNECTION LIMIT {limit} "
    "VALID UNTIL {until} PASSWORD {password}";
// JIT costs a query of DuckDB seconds where it takes milliseconds; the time limit is for sessions
// that forget a transaction.
constexpr Sql kShapeRole = "ALTER ROLE {role} SET jit = off";
constexpr Sql kShapeIdle = "ALTER ROLE {role} SET idle_in_transaction_session_timeout = '10min'";
constexpr Sql kJoin = "GRANT {group} TO {role}";
constexpr Sql kJoinOnly = "GRANT {group} TO {role} WITH INHERIT TRUE, SET FALSE";
constexpr Sql kUntil = "SELECT to_timestamp($1)::text";

constexpr Sql kIsGood =
    "SELECT EXISTS (SELECT FROM duckicelake.pg_principal p JOIN pg_catalog.pg_roles r "
    "ON r.rolname = p.pg_role WHERE p.pg_role = $1 AND p.expires_at > clock_timestamp() + "
    "make_interval(secs => $2))";

constexpr Sql kSessions =
    "SELECT a.pid, p.pg_role FROM pg_catalog.pg_stat_activity a JOIN duckicelake.pg_principal p "
    "ON p.pg_role = a.usename::text WHERE (p.expires_at <= clock_timestamp() "
    "OR EXISTS (SELECT FROM pg_catalog.pg_locks l WHERE l.pid = a.pid AND l.locktype = "
    "'advisory'))";
constexpr Sql kBorrow = "GRANT {role} TO CURRENT_USER";
constexpr Sql kTerminate = "SELECT pg_terminate_backend($1::int)";

constexpr Sql kExpired =
    "SELECT p.pg_role, EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = p.pg_role) "
    "FROM duckicelake.pg_principal p WHERE starts_with(p.pg_role, 'duckicelake_p_') "
    "AND p.expires_at < clock_timestamp() - interval '10 seconds' "
    "AND (p.retry_at IS NULL OR p.retry_at < clock_timestamp()) "
    "AND (p.expires_at < clock_timestamp() - interval '1 hour' OR NOT EXISTS ("
    "SELECT FROM pg_catalog.pg_stat_activity a WHERE a.usename::text = p.pg_role)) "
    "ORDER BY p.expires_at LIMIT $1";
constexpr Sql kDropRoles = "DROP ROLE IF EXISTS {roles}";
constexpr Sql kDropOwned = "DROP OWNED BY {role}";
constexpr Sql kForget = "DELETE FROM duckicelake.pg_principal WHERE pg_role = ANY ($1::text[])";
constexpr Sql kCloseRole = "ALTER ROLE {role} NOLOGIN";
constexpr Sql kRetryLater =
    "UPDATE duckicelake.pg_principal SET retry_at = clock_timestamp() + interval '1 day' "
    "WHERE pg_role = $1";
constexpr Sql kTryLead = "SELECT pg_try_advisory_lock(hashtextextended('duckicelake direct', 0))";

Status run(pg::Transaction& transaction, const Sql& sql, std::vector<Param> params = {}) {
  DIL_TRY(auto done,
          transaction.exec(Statement{sql, std::move(params), pg::Prepare::kOnce, "direct"}));
  (void)done;
  return {};
}

Result<bool> ask(pg::Connection& connection, const Sql& sql, std::vector<Param> params) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{sql, std::move(params), pg::Prepare::kOnce, "direct"}));
  DIL_TRY(const pg::Row row, rows.only_row());
  return row.boolean(0);
}

bool lacks_right(const Error& error) { return pg::sqlstate(error) == "42501"; }

Error roles_refused(const Error& error, const DirectGroups& groups) {
  return Error(
      Code::kUnavailable, "roles for DuckLake clients cannot be made here",
      fmt::format("the lake's PostgreSQL role needs CREATEROLE and, from PostgreSQL 16 on, "
                  "the ADMIN option on \"{}\" and \"{}\": {}",
                  groups.reader.name(), groups.writer.name(), error.to_string()));
}

Status make_group(pg::Transaction& transaction, const SqlIdent& group) {
  DIL_TRY(const pg::ResultSet found,
          transaction.exec(Statement{kIsRole, {group.name()}, pg::Prepare::kOnce, "find group"}));
  if (!found.empty()) return {};
  return run(transaction, pg::sql_with(kCreateGroup, {{"group", group}}));
}

Status make_groups(pg::Transaction& transaction, const Lake& lake, const DirectGroups& groups) {
  DIL_CHECK_OK(run(transaction, kPatience));
  DIL_CHECK_OK(run(transaction, kLock));
  DIL_CHECK_OK(make_group(transaction, groups.reader));
  DIL_CHECK_OK(make_group(transaction, groups.writer));
  DIL_CHECK_OK(run(transaction, pg::sql_with(kUsage, {{"schema", lake.metadata_schema},
                                                      {"reader", groups.reader},
                                                      {"writer", groups.writer}})));
  DIL_TRY(pg::Connection * connection, transaction.begun());
  DIL_CHECK_OK(connection->exec_script(
      pg::sql_with(kDirectExecute, {{"reader", groups.reader}, {"writer", groups.writer}})));
  DIL_TRY(const pg::ResultSet rows,
          transaction.exec(
              Statement{kMayConnect, {groups.reader.name()}, pg::Prepare::kOnce, "may connect"}));
  DIL_TRY(const pg::Row row, rows.only_row());
  DIL_TRY(const bool may_connect, row.boolean(0));
  if (!may_connect) {
    DIL_TRY(const std::string_view name, row.text(1));
    DIL_TRY(const SqlIdent database, SqlIdent::make(name));
    DIL_CHECK_OK(run(transaction, pg::sql_with(kConnect, {{"database", database},
                                                          {"reader", groups.reader},
                                                          {"writer", groups.writer}})));
  }
  return run(transaction, kNoteGroups,
             {lake.metadata_schema.name(), groups.reader.name(), groups.writer.name()});
}

// In one transaction, with the rights of the role for as long as it takes.
Status drop_with_all(pg::Connection& connection, const SqlIdent& role) {
  pg::Transaction transaction(connection);
  DIL_CHECK_OK(run(transaction, kPatience));
  DIL_CHECK_OK(run(transaction, pg::sql_with(kBorrow, {{"role", role}})));
  DIL_CHECK_OK(run(transaction, pg::sql_with(kDropOwned, {{"role", role}})));
  DIL_CHECK_OK(run(transaction, pg::sql_with(kDropRoles, {{"roles", role}})));
  DIL_CHECK_OK(
      run(transaction, kForget, {Param::text_array(std::vector<std::string>{role.name()})}));
  return transaction.commit();
}

Status drop_together(pg::Connection& connection, const std::vector<SqlIdent>& roles,
                     const std::vector<std::string>& names) {
  pg::Transaction transaction(connection);
  DIL_CHECK_OK(run(transaction, kPatience));
  if (!roles.empty()) {
    DIL_CHECK_OK(run(transaction, pg::sql_with(kDropRoles, {{"roles", roles}})));
  }
  DIL_CHECK_OK(run(transaction, kForget, {Param::text_array(names)}));
  return transaction.commit();
}

Status drop_alone(pg::Connection& connection, const SqlIdent& role) {
  const std::vector<std::string> name = {role.name()};
  if (drop_together(connection, {role}, name)) return {};
  if (drop_with_all(connection, role)) return {};
  pg::Transaction transaction(connection);
  DIL_CHECK_OK(run(transaction, pg::sql_with(kCloseRole, {{"role", role}})));
  DIL_CHECK_OK(run(transaction, kRetryLater, {role.name()}));
  return transaction.commit();
}

}  // namespace

Result<bool> has_direct_groups(pg::Connection& connection, const Lake& lake,
                               const DirectGroups& groups) {
  return ask(connection, kHasGroups,
             {lake.metadata_schema.name(), groups.reader.name(), groups.writer.name()});
}

Status make_direct_groups(pg::Connection& connection, const Lake& lake,
                          const DirectGroups& groups) {
  const auto attempt = [&]() -> Status {
    pg::Transaction transaction(connection);
    DIL_CHECK_OK(make_groups(transaction, lake, groups));
    return transaction.commit();
  };
  Status made = attempt();
  // Somebody made them from another database of the cluster meanwhile.
  if (!made && pg::sqlstate(made.error()) == pg::kUniqueViolation) made = attempt();
  if (!made && lacks_right(made.error())) return roles_refused(made.error(), groups);
  return made;
}

Result<std::vector<UnarmedTable>> find_unarmed(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{
              kUnarmed, {lake.metadata_schema.name()}, pg::Prepare::kOnce, "find unarmed tables"}));
  std::vector<UnarmedTable> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    UnarmedTable one;
    one.name = in.text();
    one.is_known = in.boolean();
    one.is_granted = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<UnarmedOf>> find_unarmed_anywhere(pg::Connection& connection,
                                                     const std::optional<std::string>& schema) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(
              Statement{kUnarmedAnywhere, {schema}, pg::Prepare::kOnce, "find unarmed tables"}));
  std::vector<UnarmedOf> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    UnarmedOf one;
    one.schema = in.text();
    one.table = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(one));
  }
  return out;
}

Status arm_table(pg::Connection& connection, const std::string& schema, const std::string& name) {
  pg::Transaction transaction(connection);
  DIL_CHECK_OK(run(transaction, kShortPatience));
  DIL_CHECK_OK(run(transaction, kArm, {schema, name}));
  return transaction.commit();
}

Status make_direct_role(pg::Connection& connection, const Lake& lake, const DirectGroups& groups,
                        const DirectRole& role, std::optional<std::int64_t> access_version) {
  DIL_TRY(const SqlIdent name, SqlIdent::make(role.name));
  DIL_TRY(const pg::SqlLiteral verifier, pg::SqlLiteral::make(role.verifier));
  const std::int64_t until = role.expires_at.time_since_epoch().count();
  const SqlIdent& group = role.is_writer ? groups.writer : groups.reader;
  pg::Transaction transaction(connection);
  DIL_CHECK_OK(run(transaction, kPatience));
  DIL_TRY(const pg::ResultSet noted,
          transaction.exec(Statement{
              kInsertRole,
              {role.name, lake.catalog_id, role.is_writer, role.principal, role.subject,
               role.subject_client, role.issued_at, Param::text_array(role.clients),
               Param::text_array(role.roles), role.sees_all, role.reads_everywhere, role.reads,
               role.writes_everywhere, role.writes, until, access_version, role.registration},
              pg::Prepare::kOnce,
              "note vended role"}));
  if (noted.affected() != 1) {
    return Error(Code::kUnavailable, "the access rules have just changed; ask again");
  }
  DIL_TRY(const pg::ResultSet time,
          transaction.exec(Statement{kUntil, {until}, pg::Prepare::kOnce, "format time"}));
  DIL_TRY(const std::string_view until_text, time.row(0).text(0));
  DIL_TRY(const pg::SqlLiteral until_literal, pg::SqlLiteral::make(until_text));
  Status made =
      run(transaction, pg::sql_with(kCreateRole, {{"role", name},
                                                  {"limit", std::int64_t{role.connection_limit}},
                                                  {"until", until_literal},
                                                  {"password", verifier}}));
  if (made) made = run(transaction, pg::sql_with(kShapeRole, {{"role", name}}));
  if (made) made = run(transaction, pg::sql_with(kShapeIdle, {{"role", name}}));
  const bool has_options = connection.server_version() >= kVersionWithGrantOptions;
  if (made) {
    made = run(transaction,
               pg::sql_with(has_options ? kJoinOnly : kJoin, {{"group", group}, {"role", name}}));
  }
  if (!made && lacks_right(made.error())) return roles_refused(made.error(), groups);
  if (!made) return made;
  return transaction.commit();
}

Result<bool> is_direct_role_good(pg::Connection& connection, const std::string& name,
                                 std::chrono::seconds left) {
  return ask(connection, kIsGood, {name, static_cast<double>(left.count())});
}

Result<int> end_direct_sessions(pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kSessions, {}, pg::Prepare::kOnce, "find sessions to end"}));
  int ended = 0;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::int64_t pid, row.int64(0));
    DIL_TRY(const std::string_view name, row.text(1));
    DIL_TRY(const SqlIdent role, SqlIdent::make(name));
    // Who ends a session needs the rights of its role; they are given back with the transaction.
    pg::Transaction transaction(connection);
    DIL_CHECK_OK(run(transaction, kPatience));
    DIL_CHECK_OK(run(transaction, pg::sql_with(kBorrow, {{"role", role}})));
    DIL_CHECK_OK(run(transaction, kTerminate, {pid}));
    transaction.rollback();
    ++ended;
  }
  return ended;
}

Result<int> drop_expired_roles(pg::Connection& connection, int limit) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{
              kExpired, {std::int64_t{limit}}, pg::Prepare::kOnce, "find expired roles"}));
  std::vector<SqlIdent> roles;
  std::vector<std::string> names;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view name, row.text(0));
    DIL_TRY(const bool is_there, row.boolean(1));
    // The record could only name others if somebody wrote into it.
    if (!name.starts_with(kVendedRolePrefix)) continue;
    names.emplace_back(name);
    DIL_TRY(SqlIdent role, SqlIdent::make(name));
    if (is_there) roles.push_back(std::move(role));
  }
  if (names.empty()) return 0;
  if (drop_together(connection, roles, names)) return static_cast<int>(names.size());
  for (const SqlIdent& role : roles) DIL_CHECK_OK(drop_alone(connection, role));
  return static_cast<int>(names.size());
}

Result<bool> try_lead_direct(pg::Connection& connection) { return ask(connection, kTryLead, {}); }

}  // namespace duckicelake::store
