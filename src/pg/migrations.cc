// SPDX-License-Identifier: Apache-2.0
#include "pg/migrations.h"

#include <array>
#include <map>
#include <string>

#include "pg/transaction.h"

namespace duckicelake::pg {

namespace {

// Two columns: is the schema there, is the table. Asked of the catalog, as CREATE ... IF NOT EXISTS
// needs the right to create even when there is nothing to do.
constexpr Sql kWhatExists = R"(
SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1),
       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $1 AND c.relname = 'migration' AND c.relkind IN ('r', 'p')))";

constexpr Sql kCreateSchema = "CREATE SCHEMA {schema}";

constexpr Sql kCreateTable = R"(
CREATE TABLE {schema}.migration (
  version int PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()))";

constexpr Sql kRecorded = "SELECT version, name FROM {schema}.migration ORDER BY version";

constexpr Sql kRecord = "INSERT INTO {schema}.migration (version, name) VALUES ($1, $2)";

constexpr Sql kLock =
    "SELECT pg_advisory_xact_lock(hashtextextended('duckicelake migration ' || $1, 0))";

// The deadline of the connection limits the wait for the lock and the work.
constexpr Sql kNoTimeout =
    "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)";

using Recorded = std::map<int, std::string>;

Statement once(Sql sql, std::vector<Param> params, std::string_view name) {
  return Statement{std::move(sql), std::move(params), Prepare::kOnce, name};
}

Result<Recorded> read_recorded(Transaction& tx, const SqlIdent& schema) {
  DIL_TRY(ResultSet rows, tx.exec(once(sql_for_schema(schema, kRecorded), {}, "read migrations")));
  Recorded out;
  for (const Row row : rows) {
    RowReader in(row);
    const int version = static_cast<int>(in.int64());
    std::string name = in.text();
    DIL_CHECK_OK(in.status());
    out.emplace(version, std::move(name));
  }
  return out;
}

struct Existing {
  bool schema = false;
  bool table = false;
};

Result<Existing> read_existing(Transaction& tx, const SqlIdent& schema) {
  DIL_TRY(ResultSet rows, tx.exec(once(kWhatExists, {schema.name()}, "look for migrations")));
  DIL_TRY(Row row, rows.only_row());
  RowReader in(row);
  const Existing existing{in.boolean(), in.boolean()};
  DIL_CHECK_OK(in.status());
  return existing;
}

Status check_list(std::span<const Migration> migrations) {
  int last = 0;
  for (const Migration& migration : migrations) {
    if (migration.version <= last || migration.name.empty()) {
      return make_error(Code::kInternal, "migration {} is out of order or has no name",
                        migration.version);
    }
    last = migration.version;
  }
  return {};
}

// Every recorded step must be one of the list, and every step of the list up to the newest recorded
// one must be recorded.
Status check_history(const SqlIdent& schema, std::span<const Migration> migrations,
                     const Recorded& recorded) {
  if (recorded.empty()) return {};
  const int newest = migrations.empty() ? 0 : migrations.back().version;
  const int current = recorded.rbegin()->first;
  if (current > newest) {
    return make_error(
        Code::kUnsupported,
        "the schema {} of the database has version {}, this program knows versions up "
        "to {}: use a newer program",
        schema.name(), current, newest);
  }
  std::size_t matched = 0;
  for (const Migration& migration : migrations) {
    if (migration.version > current) break;
    const auto found = recorded.find(migration.version);
    if (found == recorded.end() || found->second != migration.name) {
      return make_error(
          Code::kUnsupported,
          "the schema {} of the database has another history: its migration {} is {}, "
          "this program expects {}",
          schema.name(), migration.version, found == recorded.end() ? "missing" : found->second,
          migration.name);
    }
    ++matched;
  }
  if (matched != recorded.size()) {
    return make_error(
        Code::kUnsupported,
        "the schema {} of the database has migrations that this program does not know",
        schema.name());
  }
  return {};
}

Status apply(Transaction& tx, const SqlIdent& schema, const Migration& migration) {
  DIL_TRY(Connection * connection, tx.begun());
  Status done = connection->exec_script(sql_for_schema(schema, migration.sql));
  if (!done) {
    return std::move(done).error().with_context(
        fmt::format("migration {} ({})", migration.version, migration.name));
  }
  if (connection->transaction_state() != TransactionState::kActive) {
    return make_error(Code::kInternal, "migration {} ({}) ends the transaction it runs in",
                      migration.version, migration.name);
  }
  DIL_CHECK_OK(tx.exec(once(sql_for_schema(schema, kRecord), {migration.version, migration.name},
                            "record migration")));
  return {};
}

}  // namespace

Result<MigrationReport> run_migrations(Connection& connection, const SqlIdent& schema,
                                       std::span<const Migration> migrations) {
  DIL_CHECK_OK(check_list(migrations));
  // Read committed: what is read after the lock was waited for includes the work of its last
  // holder.
  Transaction tx(connection, {Isolation::kReadCommitted, Access::kReadWrite});
  const std::array<Statement, 2> opening = {
      once(kNoTimeout, {}, "no timeout"),
      once(kLock, {schema.name()}, "lock migrations"),
  };
  DIL_CHECK_OK(tx.batch(opening));
  DIL_TRY(const Existing existing, read_existing(tx, schema));
  Recorded recorded;
  if (existing.table) {
    DIL_TRY(recorded, read_recorded(tx, schema));
  }
  DIL_CHECK_OK(check_history(schema, migrations, recorded));

  MigrationReport report;
  report.version_before = recorded.empty() ? 0 : recorded.rbegin()->first;
  report.version_after = report.version_before;
  if (migrations.empty() || migrations.back().version == report.version_before) return report;

  if (!existing.schema) {
    DIL_CHECK_OK(tx.exec(once(sql_for_schema(schema, kCreateSchema), {}, "create schema")));
  }
  if (!existing.table) {
    DIL_CHECK_OK(tx.exec(once(sql_for_schema(schema, kCreateTable), {}, "create migration table")));
  }
  for (const Migration& migration : migrations) {
    if (migration.version <= report.version_before) continue;
    DIL_CHECK_OK(apply(tx, schema, migration));
    report.version_after = migration.version;
  }
  DIL_CHECK_OK(tx.commit());
  return report;
}

Result<int> recorded_version(Connection& connection, const SqlIdent& schema) {
  Transaction tx(connection, {Isolation::kRepeatableRead, Access::kReadOnly});
  DIL_TRY(const Existing existing, read_existing(tx, schema));
  if (!existing.table) return 0;
  DIL_TRY(const Recorded recorded, read_recorded(tx, schema));
  return recorded.empty() ? 0 : recorded.rbegin()->first;
}

}  // namespace duckicelake::pg
