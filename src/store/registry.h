// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/lake.h"

// The registry of catalogs in one database (duckicelake.catalog). Those made over REST are shared:
// every process serves them, beside the one of its own settings. Changes raise LakeHead::catalogs.
namespace duckicelake::store {

enum class CatalogState : std::uint8_t {
  kMaking,  // its names are taken, its lake is not whole yet
  kOpen,
  kClosed,  // not served any more; what it was stays taken, for its rows and objects are still
            // there
};

struct CatalogRow {
  std::string id;
  std::string metadata_schema;
  std::string data_path;  // "s3://bucket/prefix/"; empty: not known (registered long ago)
  std::string account;    // empty: none
  bool is_shared = false;
  CatalogState state = CatalogState::kOpen;
  std::int64_t registration = 0;  // a new one each time that it is opened
};

// The folders that belong to a lake with this DATA_PATH: its own, and those beside it (files of
// Iceberg's alone, doctor's). Two lakes may have no place in common.
std::array<std::string, 3> places_of(std::string_view data_path);
bool places_overlap(std::string_view data_path, std::string_view other_data_path);

// The shared ones that are open, and the version of the registry that they are at least of.
struct SharedCatalogs {
  std::int64_t version = 0;
  std::vector<CatalogRow> rows;
};
Result<std::int64_t> load_catalogs_version(pg::Connection& connection);
Result<SharedCatalogs> load_shared_catalogs(pg::Connection& connection);

// Whether one of the folders (absolute URIs ending in '/') or objects is in a place of another
// catalog, or has one inside. One round trip.
Result<bool> touches_other_catalog(pg::Connection& connection, const Lake& lake,
                                   const std::vector<std::string>& uris);

// All that are not closed, in the order of their ids' bytes, after `after`; at most `limit`.
Result<std::vector<CatalogRow>> list_catalogs(pg::Connection& connection, const std::string& after,
                                              std::int64_t limit);
Result<std::optional<CatalogRow>> find_catalog(pg::Connection& connection, const std::string& id);
// Every row, for checks of them all.
Result<std::vector<CatalogRow>> load_catalogs(pg::Connection& connection);

// Takes the names for a shared catalog, unless they are others' (kAlreadyExists says whose); one
// transaction at a time. The state of the row afterwards: kOpen when the same catalog is there
// already, else kMaking. `is_new`: there was no such row.
struct Reserved {
  CatalogState state = CatalogState::kMaking;
  bool is_new = false;
};
Result<Reserved> reserve_catalog(pg::Transaction& transaction, const CatalogRow& wanted);
// The lake of a reserved one is whole. False: it is not reserved any more.
Result<bool> open_catalog(pg::Transaction& transaction, const std::string& id);
// Gives the names of one that never was open back.
Status forget_catalog(pg::Transaction& transaction, const std::string& id);
// nullopt: there is no shared one of this id; else whether it was served, or being made, until now.
Result<std::optional<bool>> close_catalog(pg::Transaction& transaction, const std::string& id);

}  // namespace duckicelake::store
