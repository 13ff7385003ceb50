// SPDX-License-Identifier: Apache-2.0
#include "catalog/registry.h"

namespace duckicelake::catalog {

RegisteredCatalogs::RegisteredCatalogs(store::SharedCatalogs read) : version_(read.version) {
  by_id_.reserve(read.rows.size());
  by_schema_.reserve(read.rows.size());
  for (store::CatalogRow& row : read.rows) {
    std::string id = row.id;
    by_id_.emplace(std::move(id), std::move(row));
  }
  for (const auto& [id, row] : by_id_) by_schema_.emplace(row.metadata_schema, &row);
}

const store::CatalogRow* RegisteredCatalogs::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

const store::CatalogRow* RegisteredCatalogs::find_by_schema(std::string_view schema) const {
  const auto found = by_schema_.find(schema);
  return found == by_schema_.end() ? nullptr : found->second;
}

std::shared_ptr<const RegisteredCatalogs> CatalogRegistry::at_least(std::int64_t version) const {
  const std::lock_guard lock(mutex_);
  if (!newest_ || newest_->version() < version) return nullptr;
  return newest_;
}

Result<std::shared_ptr<const RegisteredCatalogs>> CatalogRegistry::load(std::int64_t version,
                                                                        pg::Deadline until) {
  if (auto known = at_least(version)) return known;
  const std::lock_guard reading(reading_);
  if (auto known = at_least(version)) return known;
  DIL_TRY(pg::Lease lease, pool_.acquire(until));
  DIL_TRY(store::SharedCatalogs rows, store::load_shared_catalogs(*lease));
  auto made = std::make_shared<const RegisteredCatalogs>(std::move(rows));
  if (made->version() < version) {
    return Error(Code::kUnavailable, "the registry of catalogs could not be read",
                 "PostgreSQL answered an older one than before");
  }
  const std::lock_guard lock(mutex_);
  newest_ = made;
  return std::shared_ptr<const RegisteredCatalogs>(std::move(made));
}

}  // namespace duckicelake::catalog
