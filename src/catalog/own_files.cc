// SPDX-License-Identifier: Apache-2.0
#include "catalog/own_files.h"

#include <string>
#include <vector>

#include "catalog/table_places.h"
#include "store/registry.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

constexpr std::int64_t kMaxFiles = 100'000;

}  // namespace

Status check_own_files(pg::Connection& connection, const store::Lake& lake, TableId table) {
  DIL_TRY(const store::TableStorage found,
          store::load_table_storage(connection, lake, table, store::iceberg_only_root(lake),
                                    {kMaxFiles, 1}));
  std::vector<std::string> elsewhere;
  const auto look = [&](const std::string& uri) {
    if (!is_in_own_place(lake, uri)) elsewhere.push_back(uri);
  };
  look(found.location.uri);
  for (const store::StorageFolder& folder : found.earlier) look(folder.uri);
  for (const std::string& uri : found.outside) look(uri);
  // More than can be looked at may lie anywhere.
  if (found.has_more_outside) elsewhere.emplace_back("s3://");
  if (elsewhere.empty()) return {};
  DIL_TRY(const bool is_foreign, store::touches_other_catalog(connection, lake, elsewhere));
  if (!is_foreign) return {};
  return Error(Code::kUnsupported,
               "files of the table lie in the place of another catalog, or too many outside of its "
               "own to tell");
}

}  // namespace duckicelake::catalog
