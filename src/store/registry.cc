// SPDX-License-Identifier: Apache-2.0
#include "store/registry.h"

#include <array>

#include "store/registry_lock.h"

namespace duckicelake::store {
namespace {

using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kRow =
    "SELECT catalog_id, metadata_schema, coalesce(data_path, ''), account_id, is_shared, state, "
    "registration FROM duckicelake.catalog ";
constexpr Sql kVersion = "SELECT catalogs FROM duckicelake.access_version";
constexpr Sql kReserve =
    "INSERT INTO duckicelake.catalog (catalog_id, metadata_schema, data_path, account_id, "
    "is_shared, state) VALUES ($1, $2, $3, $4, true, 'making')";
constexpr Sql kStartRevision =
    "INSERT INTO duckicelake.revision (metadata_schema) VALUES ($1) ON CONFLICT DO NOTHING";
constexpr Sql kReserveAgain =
    "UPDATE duckicelake.catalog SET state = 'making', account_id = $2 WHERE catalog_id = $1";
constexpr Sql kOpen =
    "UPDATE duckicelake.catalog SET state = 'open', "
    "registration = nextval('duckicelake.catalog_registration') "
    "WHERE catalog_id = $1 AND is_shared AND state = 'making'";
constexpr Sql kForget =
    "DELETE FROM duckicelake.catalog WHERE catalog_id = $1 AND is_shared AND state = 'making'";
constexpr Sql kClose =
    "UPDATE duckicelake.catalog SET state = 'closed' WHERE catalog_id = $1 AND state <> 'closed'";

constexpr Sql kTouches =
    "SELECT EXISTS (SELECT FROM unnest($1::text[]) AS u (uri), duckicelake.catalog k, "
    "LATERAL (VALUES ('/'), ('-iceberg/'), ('-doctor/')) AS e (ending) "
    "WHERE k.catalog_id <> $2 AND k.data_path <> '' "
    "AND (starts_with(u.uri, rtrim(k.data_path, '/') || e.ending) "
    "OR (right(u.uri, 1) = '/' AND starts_with(rtrim(k.data_path, '/') || e.ending, u.uri))))";

// Every session that takes names looks at all rows, so one at a time.
constexpr Sql kLock = "SELECT pg_advisory_xact_lock(hashtextextended('duckicelake.catalogs', 0))";

CatalogState state_of(std::string_view name) {
  if (name == "open") return CatalogState::kOpen;
  return name == "making" ? CatalogState::kMaking : CatalogState::kClosed;
}

Result<std::vector<CatalogRow>> read_rows(const pg::ResultSet& rows) {
  std::vector<CatalogRow> out;
  out.reserve(rows.size());
  for (const pg::Row row : rows) {
    RowReader in(row);
    CatalogRow one;
    one.id = in.text();
    one.metadata_schema = in.text();
    one.data_path = in.text();
    one.account = in.text();
    one.is_shared = in.boolean();
    one.state = state_of(in.text());
    one.registration = in.int64();
    DIL_CHECK_OK(in.status());
    out.push_back(std::move(one));
  }
  return out;
}

// The same catalog, whoever may reach it.
bool is_same_place(const CatalogRow& a, const CatalogRow& b) {
  return a.metadata_schema == b.metadata_schema && a.data_path == b.data_path;
}

}  // namespace

std::array<std::string, 3> places_of(std::string_view data_path) {
  while (data_path.ends_with('/')) data_path.remove_suffix(1);
  const std::string stem(data_path);
  return {stem + "/", stem + "-iceberg/", stem + "-doctor/"};
}

bool places_overlap(std::string_view data_path, std::string_view other_data_path) {
  for (const std::string& one : places_of(data_path)) {
    for (const std::string& other : places_of(other_data_path)) {
      if (one.starts_with(other) || other.starts_with(one)) return true;
    }
  }
  return false;
}

Status lock_registry(pg::Transaction& transaction) {
  DIL_TRY(auto locked, transaction.exec(kLock));
  (void)locked;
  return {};
}

Status check_place_is_free(std::span<const CatalogRow> rows, const CatalogRow& wanted) {
  for (const CatalogRow& row : rows) {
    if (row.id == wanted.id) continue;
    if (row.metadata_schema == wanted.metadata_schema) {
      return make_error(Code::kAlreadyExists, "PostgreSQL schema \"{}\" is that of catalog \"{}\"",
                        wanted.metadata_schema, row.id);
    }
    if (row.data_path.empty()) {
      return make_error(Code::kAlreadyExists,
                        "it is not known where the data of catalog \"{}\" is; start a server on "
                        "it, or run `duckicelake init` for it",
                        row.id);
    }
    if (places_overlap(row.data_path, wanted.data_path)) {
      return make_error(Code::kAlreadyExists,
                        "the place {} and that of catalog \"{}\" ({}) are not apart",
                        wanted.data_path, row.id, row.data_path);
    }
  }
  return {};
}

Result<std::int64_t> load_catalogs_version(pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(kVersion));
  DIL_TRY(const pg::Row row, rows.only_row());
  return row.int64(0);
}

Result<SharedCatalogs> load_shared_catalogs(pg::Connection& connection) {
  // The version first: what is read afterwards is not older.
  const std::array<Statement, 2> statements = {
      Statement{kVersion}, Statement{kRow + Sql("WHERE is_shared AND state = 'open'")}};
  DIL_TRY(const std::vector<pg::ResultSet> results, connection.batch(statements));
  SharedCatalogs out;
  DIL_TRY(const pg::Row version, results[0].only_row());
  DIL_TRY(out.version, version.int64(0));
  DIL_TRY(out.rows, read_rows(results[1]));
  return out;
}

Result<bool> touches_other_catalog(pg::Connection& connection, const Lake& lake,
                                   const std::vector<std::string>& uris) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(kTouches, {pg::Param::text_array(uris), lake.catalog_id}));
  DIL_TRY(const pg::Row row, rows.only_row());
  return row.boolean(0);
}

Result<std::vector<CatalogRow>> list_catalogs(pg::Connection& connection, const std::string& after,
                                              std::int64_t limit) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kRow + Sql("WHERE state <> 'closed' AND catalog_id COLLATE "
                                               "\"C\" > $1 ORDER BY catalog_id COLLATE \"C\" "
                                               "LIMIT $2"),
                                    {after, limit}}));
  return read_rows(rows);
}

Result<std::optional<CatalogRow>> find_catalog(pg::Connection& connection, const std::string& id) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(Statement{kRow + Sql("WHERE catalog_id = $1"), {id}}));
  DIL_TRY(std::vector<CatalogRow> found, read_rows(rows));
  if (found.empty()) return std::optional<CatalogRow>();
  return std::optional<CatalogRow>(std::move(found.front()));
}

Result<std::vector<CatalogRow>> load_catalogs(pg::Connection& connection) {
  DIL_TRY(const pg::ResultSet rows,
          connection.exec(kRow + Sql("ORDER BY catalog_id COLLATE \"C\"")));
  return read_rows(rows);
}

Result<Reserved> reserve_catalog(pg::Transaction& transaction, const CatalogRow& wanted) {
  DIL_CHECK_OK(lock_registry(transaction));
  DIL_TRY(pg::Connection * connection, transaction.begun());
  DIL_TRY(const std::vector<CatalogRow> rows, load_catalogs(*connection));
  for (const CatalogRow& row : rows) {
    if (row.id != wanted.id) continue;
    if (!row.is_shared) {
      return make_error(Code::kAlreadyExists,
                        "catalog \"{}\" already exists; it is that of a server's own settings",
                        row.id);
    }
    const bool is_same = is_same_place(row, wanted);
    if (row.state == CatalogState::kClosed && is_same) {
      DIL_TRY(auto done, transaction.exec(kReserveAgain, {row.id, wanted.account}));
      (void)done;
      return Reserved{CatalogState::kMaking, false};
    }
    if (row.state == CatalogState::kClosed) {
      return make_error(Code::kAlreadyExists,
                        "there was a catalog \"{}\" in another schema or place, whose tables are "
                        "still there; the name is not free",
                        row.id);
    }
    if (is_same && row.account == wanted.account) return Reserved{row.state, false};
    return make_error(Code::kAlreadyExists, "catalog \"{}\" already exists with other values",
                      row.id);
  }
  DIL_CHECK_OK(check_place_is_free(rows, wanted));
  transaction.defer(Statement{kStartRevision, {wanted.metadata_schema}});
  DIL_TRY(auto done, transaction.exec(kReserve, {wanted.id, wanted.metadata_schema,
                                                 wanted.data_path, wanted.account}));
  (void)done;
  return Reserved{CatalogState::kMaking, true};
}

Result<bool> open_catalog(pg::Transaction& transaction, const std::string& id) {
  DIL_TRY(const pg::ResultSet done, transaction.exec(kOpen, {id}));
  return done.affected() == 1;
}

Status forget_catalog(pg::Transaction& transaction, const std::string& id) {
  DIL_TRY(auto done, transaction.exec(kForget, {id}));
  (void)done;
  return {};
}

Result<std::optional<bool>> close_catalog(pg::Transaction& transaction, const std::string& id) {
  DIL_CHECK_OK(lock_registry(transaction));
  DIL_TRY(pg::Connection * connection, transaction.begun());
  DIL_TRY(const std::optional<CatalogRow> row, find_catalog(*connection, id));
  if (!row || !row->is_shared) return std::optional<bool>();
  DIL_TRY(const pg::ResultSet done, transaction.exec(kClose, {id}));
  return std::optional<bool>(done.affected() == 1);
}

}  // namespace duckicelake::store
