// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog_admin.h"

#include "catalog/audit.h"
#include "catalog/catalog_names.h"
#include "pg/transaction.h"

namespace duckicelake::catalog {
namespace {

// Making a lake is a matter of seconds, and of more when several are made at once.
constexpr std::chrono::seconds kMakingTime{120};

Error no_such_catalog(const std::string& id) {
  return make_error(Code::kNoSuchWarehouse, "Warehouse does not exist: {}", id);
}

}  // namespace

Status CatalogAdmin::admit(const Caller& caller, Action action, const std::string& id) const {
  ObjectRef object;
  object.catalog_id = own_.lake.catalog_id;
  object.name = id;
  return check_authorized(own_.auth_mode, caller, action, object);
}

CatalogAdmin::Entry CatalogAdmin::entry_of(store::CatalogRow row) const {
  Entry out;
  const std::string bucket = own_.objects.uri_of("");
  out.data_prefix =
      row.data_path.starts_with(bucket) ? row.data_path.substr(bucket.size()) : row.data_path;
  out.is_own = row.id == own_.lake.catalog_id;
  out.row = std::move(row);
  return out;
}

Result<CatalogAdmin::Entry> CatalogAdmin::create(const Caller& caller,
                                                 const NewCatalog& wanted) const {
  DIL_CHECK_OK(admit(caller, Action::kChangeCatalogs, wanted.id));
  DIL_CHECK_OK(check_catalog_id(wanted.id));
  DIL_CHECK_OK(check_metadata_schema(wanted.metadata_schema));
  DIL_TRY(const std::string prefix, normal_data_prefix(wanted.data_prefix));
  if (wanted.account) DIL_CHECK_OK(check_account(*wanted.account));

  store::CatalogRow row;
  row.id = wanted.id;
  row.metadata_schema = wanted.metadata_schema;
  row.data_path = own_.objects.uri_of(prefix);
  row.account = wanted.account.value_or(std::string());
  row.is_shared = true;
  const pg::Deadline until = pg::deadline_after(kMakingTime);
  store::Reserved reserved;
  {
    DIL_TRY(pg::Lease lease, own_.pool.acquire(own_.deadline()));
    pg::Transaction transaction(*lease);
    DIL_TRY(reserved, store::reserve_catalog(transaction, row));
    if (caller.trail != nullptr) caller.trail->write_in(transaction);
    DIL_CHECK_OK(transaction.commit());
  }
  if (reserved.state == store::CatalogState::kOpen) return entry_of(std::move(row));

  Status made = maker_.make(row, wanted.makes_default_namespace, until);
  DIL_TRY(pg::Lease lease, own_.pool.acquire(until));
  pg::Transaction transaction(*lease);
  if (!made) {
    // Names that were never used are not kept from others. When this fails too, the same request
    // goes on from here.
    const bool is_taken = made.error().code() == Code::kAlreadyExists ||
                          made.error().code() == Code::kPermissionDenied;
    if (reserved.is_new && is_taken && store::forget_catalog(transaction, row.id)) {
      (void)transaction.commit();
    }
    return std::move(made).error();
  }
  DIL_TRY(const bool is_open, store::open_catalog(transaction, row.id));
  DIL_CHECK_OK(transaction.commit());
  if (!is_open) {
    // The same request at the same time was faster; or somebody took it out.
    DIL_TRY(const std::optional<store::CatalogRow> now, store::find_catalog(*lease, row.id));
    if (!now || now->state != store::CatalogState::kOpen) {
      return make_error(Code::kCommitFailed, "catalog \"{}\" was closed while it was made", row.id);
    }
  }
  row.state = store::CatalogState::kOpen;
  return entry_of(std::move(row));
}

Result<CatalogAdmin::Listing> CatalogAdmin::list(const Caller& caller, const std::string& after,
                                                 std::int64_t limit) const {
  DIL_CHECK_OK(admit(caller, Action::kReadCatalogs, {}));
  DIL_TRY(pg::Lease lease, own_.pool.acquire(own_.deadline()));
  DIL_TRY(std::vector<store::CatalogRow> rows, store::list_catalogs(*lease, after, limit + 1));
  Listing out;
  if (static_cast<std::int64_t>(rows.size()) > limit) {
    rows.pop_back();
    out.next = rows.back().id;
  }
  for (store::CatalogRow& row : rows) out.entries.push_back(entry_of(std::move(row)));
  return out;
}

Result<CatalogAdmin::Entry> CatalogAdmin::load(const Caller& caller, const std::string& id) const {
  DIL_CHECK_OK(admit(caller, Action::kReadCatalogs, id));
  DIL_TRY(pg::Lease lease, own_.pool.acquire(own_.deadline()));
  DIL_TRY(std::optional<store::CatalogRow> row, store::find_catalog(*lease, id));
  if (!row || row->state == store::CatalogState::kClosed) return no_such_catalog(id);
  return entry_of(std::move(*row));
}

Status CatalogAdmin::close(const Caller& caller, const std::string& id) const {
  DIL_CHECK_OK(admit(caller, Action::kChangeCatalogs, id));
  DIL_TRY(pg::Lease lease, own_.pool.acquire(own_.deadline()));
  pg::Transaction transaction(*lease);
  DIL_TRY(const std::optional<bool> closed, store::close_catalog(transaction, id));
  if (!closed) {
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const std::optional<store::CatalogRow> row, store::find_catalog(*connection, id));
    if (!row) return no_such_catalog(id);
    return invalid_argument(
        "catalog \"{}\" is the own one of a server; it is there as long as the server is", id);
  }
  if (caller.trail != nullptr) caller.trail->write_in(transaction);
  return transaction.commit();
}

}  // namespace duckicelake::catalog
