// SPDX-License-Identifier: Apache-2.0
#include "store/key_policy.h"

#include "pg/result_set.h"

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kSid = "SELECT sid FROM duckicelake.bucket_policy";
constexpr Sql kSave =
    "INSERT INTO duckicelake.static_key_policy (catalog_id, principal, access_key_id, opens, "
    "is_proved) SELECT catalog_id, principal, $3, $4, $5 FROM duckicelake.static_s3_key "
    "WHERE catalog_id = $1 AND principal = $2 "
    "ON CONFLICT (catalog_id, principal) DO UPDATE SET access_key_id = excluded.access_key_id, "
    "opens = excluded.opens, is_proved = excluded.is_proved, applied_at = now()";
constexpr Sql kForget =
    "DELETE FROM duckicelake.static_key_policy WHERE catalog_id = $1 AND principal = $2";
constexpr Sql kForgetAll = "DELETE FROM duckicelake.static_key_policy";
constexpr Sql kKeys =
    "SELECT k.principal, k.access_key_id, coalesce(k.secret_access_key, ''), k.note, k.confined, "
    "p.access_key_id, p.opens, p.is_proved, EXISTS (SELECT FROM duckicelake.static_s3_key o "
    "WHERE o.access_key_id = k.access_key_id AND (o.catalog_id, o.principal) <> "
    "(k.catalog_id, k.principal)), k.catalog_id "
    "FROM duckicelake.static_s3_key k LEFT JOIN duckicelake.static_key_policy p "
    "USING (catalog_id, principal) ";
constexpr Sql kOfCatalog =
    "WHERE k.catalog_id = $1 AND ($2::text IS NULL OR k.principal = $2) "
    "ORDER BY k.principal COLLATE \"C\"";
constexpr Sql kOfAll = "ORDER BY k.principal COLLATE \"C\"";
constexpr std::size_t kCatalogColumn = 9;

Result<KeyInForce> read_key(const pg::Row& row) {
  RowReader in(row);
  KeyInForce out;
  out.key.principal = in.text();
  out.key.access_key_id = in.text();
  out.key.secret_access_key = Secret(in.text());
  out.key.note = in.text();
  out.key.is_confined = in.boolean();
  if (row.is_null(5)) {
    in.skip();
    in.skip();
    in.skip();
  } else {
    AppliedKey applied;
    applied.principal = out.key.principal;
    applied.access_key_id = in.text();
    applied.opens = in.text();
    applied.is_proved = in.boolean();
    out.applied = std::move(applied);
  }
  out.is_shared = in.boolean();
  in.skip();  // the catalog's id, which the caller of one knows
  DIL_CHECK_OK(in.status());
  return out;
}

}  // namespace

Result<std::string> load_policy_sid(pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(kSid));
  DIL_TRY(const pg::Row row, rows.only_row());
  DIL_TRY(const std::string_view sid, row.text(0));
  return std::string(sid);
}

Status save_applied_key(pg::Transaction& transaction, const std::string& catalog_id,
                        const AppliedKey& applied) {
  DIL_TRY(const pg::ResultSet done,
          transaction.exec(Statement{kSave,
                                     {catalog_id, applied.principal, applied.access_key_id,
                                      applied.opens, applied.is_proved}}));
  if (done.affected() == 0) {
    return make_error(Code::kNotFound, "There is no static key of principal {}", applied.principal);
  }
  return {};
}

Status forget_applied_key(pg::Transaction& transaction, const std::string& catalog_id,
                          const std::string& principal) {
  DIL_CHECK_OK(transaction.exec(Statement{kForget, {catalog_id, principal}}));
  return {};
}

Status forget_applied_keys(pg::Transaction& transaction) {
  DIL_CHECK_OK(transaction.exec(kForgetAll));
  return {};
}

Result<std::optional<KeyInForce>> find_key_in_force(pg::Connection& connection, const Lake& lake,
                                                    const std::string& principal) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kKeys + kOfCatalog, {lake.catalog_id, principal}}));
  if (rows.empty()) return std::optional<KeyInForce>();
  DIL_TRY(KeyInForce found, read_key(rows.row(0)));
  return std::optional<KeyInForce>(std::move(found));
}

Result<std::vector<KeyInForce>> load_keys_in_force(pg::Connection& connection, const Lake& lake) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kKeys + kOfCatalog, {lake.catalog_id, Param(std::nullopt)}}));
  std::vector<KeyInForce> out;
  for (const pg::Row row : rows) {
    DIL_TRY(KeyInForce one, read_key(row));
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::map<std::string, std::vector<KeyInForce>>> load_all_keys_in_force(
    pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(kKeys + kOfAll));
  std::map<std::string, std::vector<KeyInForce>> out;
  for (const pg::Row row : rows) {
    DIL_TRY(KeyInForce one, read_key(row));
    DIL_TRY(const std::string_view catalog_id, row.text(kCatalogColumn));
    out[std::string(catalog_id)].push_back(std::move(one));
  }
  return out;
}

}  // namespace duckicelake::store
