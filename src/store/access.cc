// SPDX-License-Identifier: Apache-2.0
#include "store/access.h"

#include <array>

#include "pg/error.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kVersion = "SELECT value FROM duckicelake.access_version";
constexpr Sql kClients =
    "SELECT client_id, scope, roles, account, is_disabled, tokens_from, "
    "extract(epoch FROM created_at)::bigint FROM duckicelake.client ORDER BY client_id COLLATE "
    "\"C\"";
constexpr Sql kClient =
    "SELECT client_id, scope, roles, account, is_disabled, tokens_from, "
    "extract(epoch FROM created_at)::bigint FROM duckicelake.client WHERE client_id = $1";
constexpr Sql kRoleGrants =
    "SELECT role_name, principal FROM duckicelake.role_grant WHERE catalog_id = $1 "
    "ORDER BY role_name COLLATE \"C\", principal COLLATE \"C\"";
constexpr Sql kObjectGrants =
    "SELECT object_kind, object_id, privilege, role_name FROM duckicelake.object_grant "
    "WHERE catalog_id = $1 ORDER BY object_kind, object_id, privilege, role_name COLLATE \"C\"";
constexpr Sql kNamedGrants =
    "SELECT g.object_kind, g.object_id, g.privilege, g.role_name, "
    "coalesce(n.levels, ARRAY[s.schema_name::text]), coalesce(t.table_name, v.view_name, '') "
    "FROM duckicelake.object_grant g "
    "LEFT JOIN {schema}.ducklake_table t ON g.object_kind = 'table' AND t.table_id = g.object_id "
    "AND t.end_snapshot IS NULL "
    "LEFT JOIN {schema}.ducklake_view v ON g.object_kind = 'view' AND v.view_id = g.object_id "
    "AND v.end_snapshot IS NULL "
    "JOIN {schema}.ducklake_schema s ON s.end_snapshot IS NULL AND s.schema_id = CASE "
    "g.object_kind "
    "WHEN 'schema' THEN g.object_id WHEN 'table' THEN t.schema_id ELSE v.schema_id END "
    "LEFT JOIN duckicelake.namespace n ON n.catalog_id = g.catalog_id AND n.schema_id = "
    "s.schema_id "
    "WHERE g.catalog_id = $1 ORDER BY 5, 6, 3, 4";
constexpr Sql kRoles =
    "SELECT role_name FROM duckicelake.role WHERE catalog_id = $1 ORDER BY role_name COLLATE "
    "\"C\"";

constexpr Sql kInsertRole =
    "INSERT INTO duckicelake.role (catalog_id, role_name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
// Locks the role against grants that come meanwhile.
constexpr Sql kLockRole =
    "SELECT 1 FROM duckicelake.role WHERE catalog_id = $1 AND role_name = $2 FOR UPDATE";
constexpr Sql kUsesOfRole =
    "SELECT EXISTS (SELECT FROM duckicelake.role_grant WHERE catalog_id = $1 AND role_name = $2) "
    "OR EXISTS (SELECT FROM duckicelake.object_grant WHERE catalog_id = $1 AND role_name = $2)";
constexpr Sql kDeleteRole = "DELETE FROM duckicelake.role WHERE catalog_id = $1 AND role_name = $2";
constexpr Sql kShareRole =
    "SELECT 1 FROM duckicelake.role WHERE catalog_id = $1 AND role_name = $2 FOR KEY SHARE";
constexpr Sql kInsertRoleGrant =
    "INSERT INTO duckicelake.role_grant (catalog_id, role_name, principal) VALUES ($1, $2, $3) "
    "ON CONFLICT DO NOTHING";
constexpr Sql kDeleteRoleGrant =
    "DELETE FROM duckicelake.role_grant WHERE catalog_id = $1 AND role_name = $2 AND principal = "
    "$3";
constexpr Sql kInsertObjectGrant =
    "INSERT INTO duckicelake.object_grant (catalog_id, object_kind, object_id, privilege, "
    "role_name) "
    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
constexpr Sql kDeleteObjectGrant =
    "DELETE FROM duckicelake.object_grant WHERE catalog_id = $1 AND object_kind = $2 "
    "AND object_id = $3 AND privilege = $4 AND role_name = $5";

constexpr Sql kUpsertKey =
    "INSERT INTO duckicelake.static_s3_key (catalog_id, principal, access_key_id, "
    "secret_access_key, note, confined) VALUES ($1, $2, $3, $4, $5, $6) "
    "ON CONFLICT (catalog_id, principal) DO UPDATE SET access_key_id = excluded.access_key_id, "
    "secret_access_key = excluded.secret_access_key, note = excluded.note, "
    "confined = excluded.confined";
constexpr Sql kDeleteKey =
    "DELETE FROM duckicelake.static_s3_key WHERE catalog_id = $1 AND principal = $2";
constexpr Sql kFindKey =
    "SELECT principal, access_key_id, coalesce(secret_access_key, ''), note, confined "
    "FROM duckicelake.static_s3_key WHERE catalog_id = $1 AND principal = $2";
constexpr Sql kListKeys =
    "SELECT principal, access_key_id, secret_access_key IS NOT NULL, note, confined "
    "FROM duckicelake.static_s3_key WHERE catalog_id = $1 ORDER BY principal COLLATE \"C\"";

constexpr Sql kInsertClient =
    // Tokens of an earlier client of this id stay void.
    "INSERT INTO duckicelake.client (client_id, scope, roles, account, tokens_from) "
    "SELECT $1, $2, $3, $4, greatest(extract(epoch FROM now())::bigint, deleted_tokens_until) + 1 "
    "FROM duckicelake.access_version ON CONFLICT DO NOTHING";
constexpr Sql kInsertSecret =
    "INSERT INTO duckicelake.client_secret (client_id, hash) VALUES ($1, $2)";
constexpr Sql kUpdateClient =
    "UPDATE duckicelake.client SET scope = coalesce($2, scope), roles = coalesce($3::text[], "
    "roles), "
    "account = coalesce($4, account), is_disabled = coalesce($5, is_disabled), "
    // Tokens may be of the very second from which they count.
    "tokens_from = CASE WHEN $6 THEN greatest(extract(epoch FROM now())::bigint, tokens_from) + 1 "
    "ELSE tokens_from END "
    "WHERE client_id = $1";
constexpr Sql kLockClient = "SELECT 1 FROM duckicelake.client WHERE client_id = $1 FOR UPDATE";
constexpr Sql kEndSecrets =
    "UPDATE duckicelake.client_secret SET expires_at = least(expires_at, now() + make_interval("
    "secs => $2::bigint)) WHERE client_id = $1";
constexpr Sql kForgetSecrets =
    "DELETE FROM duckicelake.client_secret WHERE client_id = $1 AND expires_at < now()";
constexpr Sql kDeleteClient = "DELETE FROM duckicelake.client WHERE client_id = $1";
constexpr Sql kSecrets =
    "SELECT serial, hash, extract(epoch FROM created_at)::bigint, "
    "ceil(extract(epoch FROM expires_at))::bigint FROM duckicelake.client_secret "
    "WHERE client_id = $1 AND (expires_at IS NULL OR expires_at > now()) ORDER BY serial DESC "
    "LIMIT 8";

Result<std::vector<std::string>> texts(const pg::Row& row, std::size_t column) {
  DIL_TRY(auto values, row.text_array(column));
  std::vector<std::string> out;
  out.reserve(values.size());
  for (std::optional<std::string>& value : values) out.push_back(std::move(value).value_or(""));
  return out;
}

Result<ClientRow> read_client(const pg::Row& row) {
  ClientRow out;
  RowReader in(row);
  out.id = in.text();
  out.scope = in.text();
  in.skip();
  out.account = in.text();
  out.is_disabled = in.boolean();
  out.tokens_from = in.int64();
  out.created_at = in.int64();
  DIL_CHECK_OK(in.status());
  DIL_TRY(out.roles, texts(row, 2));
  return out;
}

Result<std::vector<ClientRow>> read_clients(const pg::ResultSet& rows) {
  std::vector<ClientRow> out;
  out.reserve(rows.size());
  for (const pg::Row row : rows) {
    DIL_TRY(ClientRow client, read_client(row));
    out.push_back(std::move(client));
  }
  return out;
}

Result<std::vector<RoleGrant>> read_role_grants(const pg::ResultSet& rows) {
  std::vector<RoleGrant> out;
  out.reserve(rows.size());
  for (const pg::Row row : rows) {
    RowReader in(row);
    RoleGrant grant;
    grant.role = in.text();
    grant.principal = in.text();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(grant));
  }
  return out;
}

Result<ObjectGrant> object_grant(std::string_view kind, std::int64_t id, std::string privilege,
                                 std::string role) {
  const std::optional<ObjectKind> known = object_kind_of(kind);
  if (!known) return Error(Code::kCorruptData, "a grant on an object of no known kind");
  return ObjectGrant{*known, id, std::move(privilege), std::move(role)};
}

Result<std::vector<ObjectGrant>> read_object_grants(const pg::ResultSet& rows) {
  std::vector<ObjectGrant> out;
  out.reserve(rows.size());
  for (const pg::Row row : rows) {
    RowReader in(row);
    const std::string kind = in.text();
    const std::int64_t id = in.int64();
    std::string privilege = in.text();
    std::string role = in.text();
    DIL_CHECK_OK(in.status());
    DIL_TRY(ObjectGrant grant, object_grant(kind, id, std::move(privilege), std::move(role)));
    out.push_back(std::move(grant));
  }
  return out;
}

Result<bool> changes(pg::Transaction& transaction, const Statement& statement) {
  DIL_TRY(const pg::ResultSet done, transaction.exec(statement));
  return done.affected() > 0;
}

Status require_role(pg::Transaction& transaction, const Lake& lake, const std::string& role) {
  DIL_TRY(const pg::ResultSet rows,
          transaction.exec(Statement{kShareRole, {lake.catalog_id, role}}));
  if (rows.empty()) return make_error(Code::kNotFound, "Role does not exist: {}", role);
  return {};
}

}  // namespace

std::string_view object_kind_name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kSchema: return "schema";
    case ObjectKind::kTable: return "table";
    case ObjectKind::kView: break;
  }
  return "view";
}

std::optional<ObjectKind> object_kind_of(std::string_view name) {
  if (name == "schema") return ObjectKind::kSchema;
  if (name == "table") return ObjectKind::kTable;
  if (name == "view") return ObjectKind::kView;
  return std::nullopt;
}

Result<std::int64_t> load_access_version(pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kVersion, {}, pg::Prepare::kCached, "load access version"}));
  DIL_TRY(const pg::Row row, rows.only_row());
  return row.int64(0);
}

// The version first: what the later statements see is at least as new, and what is newer is read
// again.
Result<AccessRules> load_access_rules(pg::Connection& connection, const Lake& lake) {
  const std::array<Statement, 4> statements = {
      Statement{kVersion, {}, pg::Prepare::kCached, "load access version"},
      Statement{kClients, {}, pg::Prepare::kCached, "load clients"},
      Statement{kRoleGrants, {lake.catalog_id}, pg::Prepare::kCached, "load role grants"},
      Statement{kObjectGrants, {lake.catalog_id}, pg::Prepare::kCached, "load object grants"}};
  DIL_TRY(const std::vector<pg::ResultSet> results, connection.batch(statements));
  AccessRules out;
  DIL_TRY(const pg::Row version, results[0].only_row());
  DIL_TRY(out.version, version.int64(0));
  DIL_TRY(out.clients, read_clients(results[1]));
  DIL_TRY(out.role_grants, read_role_grants(results[2]));
  DIL_TRY(out.object_grants, read_object_grants(results[3]));
  return out;
}

Result<bool> insert_role(pg::Transaction& transaction, const Lake& lake, const std::string& role) {
  return changes(transaction, {kInsertRole, {lake.catalog_id, role}});
}

Result<bool> delete_role(pg::Transaction& transaction, const Lake& lake, const std::string& role) {
  DIL_TRY(const pg::ResultSet locked,
          transaction.exec(Statement{kLockRole, {lake.catalog_id, role}}));
  if (locked.empty()) return false;
  DIL_TRY(const pg::ResultSet uses,
          transaction.exec(Statement{kUsesOfRole, {lake.catalog_id, role}}));
  DIL_TRY(const pg::Row row, uses.only_row());
  DIL_TRY(const bool is_used, row.boolean(0));
  if (is_used) {
    return make_error(Code::kCommitFailed, "Role is granted or holds grants: {}", role);
  }
  return changes(transaction, {kDeleteRole, {lake.catalog_id, role}});
}

Result<bool> insert_role_grant(pg::Transaction& transaction, const Lake& lake,
                               const RoleGrant& grant) {
  DIL_CHECK_OK(require_role(transaction, lake, grant.role));
  return changes(transaction, {kInsertRoleGrant, {lake.catalog_id, grant.role, grant.principal}});
}

Result<bool> delete_role_grant(pg::Transaction& transaction, const Lake& lake,
                               const RoleGrant& grant) {
  return changes(transaction, {kDeleteRoleGrant, {lake.catalog_id, grant.role, grant.principal}});
}

Result<bool> insert_object_grant(pg::Transaction& transaction, const Lake& lake,
                                 const ObjectGrant& grant) {
  DIL_CHECK_OK(require_role(transaction, lake, grant.role));
  return changes(transaction, {kInsertObjectGrant,
                               {lake.catalog_id, object_kind_name(grant.kind), grant.object_id,
                                grant.privilege, grant.role}});
}

Result<bool> delete_object_grant(pg::Transaction& transaction, const Lake& lake,
                                 const ObjectGrant& grant) {
  return changes(transaction, {kDeleteObjectGrant,
                               {lake.catalog_id, object_kind_name(grant.kind), grant.object_id,
                                grant.privilege, grant.role}});
}

Result<std::vector<std::string>> list_roles(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(Statement{kRoles, {lake.catalog_id}}));
  std::vector<std::string> out;
  for (const pg::Row row : rows) {
    DIL_TRY(const std::string_view name, row.text(0));
    out.emplace_back(name);
  }
  return out;
}

Result<std::vector<RoleGrant>> list_role_grants(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(Statement{kRoleGrants, {lake.catalog_id}}));
  return read_role_grants(rows);
}

Result<std::vector<NamedGrant>> list_object_grants(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{pg::sql_for_schema(lake.metadata_schema, kNamedGrants),
                                    {lake.catalog_id}}));
  std::vector<NamedGrant> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    const std::string kind = in.text();
    const std::int64_t id = in.int64();
    std::string privilege = in.text();
    std::string role = in.text();
    in.skip();
    NamedGrant named;
    named.object = in.text();
    DIL_CHECK_OK(in.status());
    DIL_TRY(named.grant, object_grant(kind, id, std::move(privilege), std::move(role)));
    DIL_TRY(named.levels, texts(row, 4));
    out.push_back(std::move(named));
  }
  return out;
}

Status upsert_static_key(pg::Transaction& transaction, const Lake& lake, const StaticKey& key) {
  std::optional<std::string> secret;
  if (!key.secret_access_key.empty()) secret = key.secret_access_key.reveal();
  DIL_CHECK_OK(transaction.exec(Statement{
      kUpsertKey,
      {lake.catalog_id, key.principal, key.access_key_id, secret, key.note, key.is_confined}}));
  return {};
}

Result<bool> delete_static_key(pg::Transaction& transaction, const Lake& lake,
                               const std::string& principal) {
  return changes(transaction, {kDeleteKey, {lake.catalog_id, principal}});
}

Result<std::optional<StaticKey>> find_static_key(pg::Connection& connection, const Lake& lake,
                                                 const std::string& principal) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kFindKey, {lake.catalog_id, principal}}));
  if (rows.empty()) return std::optional<StaticKey>();
  RowReader in(rows.row(0));
  StaticKey key;
  key.principal = in.text();
  key.access_key_id = in.text();
  key.secret_access_key = Secret(in.text());
  key.note = in.text();
  key.is_confined = in.boolean();
  DIL_CHECK_OK(in.status());
  return std::optional<StaticKey>(std::move(key));
}

Result<std::vector<StaticKeySummary>> list_static_keys(pg::Connection& connection,
                                                       const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(Statement{kListKeys, {lake.catalog_id}}));
  std::vector<StaticKeySummary> out;
  for (const pg::Row row : rows) {
    RowReader in(row);
    StaticKeySummary one;
    one.key.principal = in.text();
    one.key.access_key_id = in.text();
    one.has_secret = in.boolean();
    one.key.note = in.text();
    one.key.is_confined = in.boolean();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(one));
  }
  return out;
}

Status insert_client(pg::Transaction& transaction, const ClientRow& client,
                     const std::string& secret_hash) {
  DIL_TRY(const bool is_new,
          changes(transaction,
                  {kInsertClient,
                   {client.id, client.scope, Param::text_array(client.roles), client.account}}));
  if (!is_new) return make_error(Code::kAlreadyExists, "Client already exists: {}", client.id);
  DIL_CHECK_OK(transaction.exec(Statement{kInsertSecret, {client.id, secret_hash}}));
  return {};
}

Result<bool> update_client(pg::Transaction& transaction, const std::string& id,
                           const ClientUpdate& update) {
  Param roles(std::nullopt);
  if (update.roles) roles = Param::text_array(*update.roles);
  return changes(transaction, {kUpdateClient,
                               {id, update.scope, std::move(roles), update.account,
                                update.is_disabled, update.voids_tokens}});
}

Result<bool> rotate_client(pg::Transaction& transaction, const std::string& id,
                           const std::string& secret_hash, std::int64_t overlap_seconds) {
  DIL_TRY(const pg::ResultSet locked, transaction.exec(Statement{kLockClient, {id}}));
  if (locked.empty()) return false;
  const std::array<Statement, 3> statements = {Statement{kEndSecrets, {id, overlap_seconds}},
                                               Statement{kForgetSecrets, {id}},
                                               Statement{kInsertSecret, {id, secret_hash}}};
  DIL_CHECK_OK(transaction.batch(statements));
  return true;
}

Result<bool> delete_client(pg::Transaction& transaction, const std::string& id) {
  return changes(transaction, {kDeleteClient, {id}});
}

Result<std::optional<ClientRecord>> find_client(pg::Connection& connection, const std::string& id) {
  const std::array<Statement, 2> statements = {
      Statement{kClient, {id}, pg::Prepare::kCached, "find client"},
      Statement{kSecrets, {id}, pg::Prepare::kCached, "load secrets of client"}};
  DIL_TRY(const std::vector<pg::ResultSet> results, connection.batch(statements));
  if (results[0].empty()) return std::optional<ClientRecord>();
  ClientRecord out;
  DIL_TRY(out.client, read_client(results[0].row(0)));
  for (const pg::Row row : results[1]) {
    RowReader in(row);
    ClientSecretRow secret;
    secret.serial = in.int64();
    secret.hash = in.text();
    secret.created_at = in.int64();
    secret.expires_at = in.optional_int64();
    DIL_CHECK_OK(in.status());
    out.secrets.push_back(std::move(secret));
  }
  return std::optional<ClientRecord>(std::move(out));
}

Result<std::vector<ClientRow>> list_clients(pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(Statement{kClients, {}}));
  return read_clients(rows);
}

}  // namespace duckicelake::store
