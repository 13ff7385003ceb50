// SPDX-License-Identifier: Apache-2.0
#include "rest/catalog_api.h"

#include <utility>

#include "catalog/namespaces.h"
#include "catalog/table_names.h"

namespace duckicelake::rest {

void ServiceCatalog::await_head(std::size_t thread_index, catalog::HeadProbe::Callback callback) {
  service_.probe().await(thread_index, std::move(callback));
}

std::shared_ptr<const catalog::TableAnswer> ServiceCatalog::cached_table(
    const catalog::Caller& caller, const catalog::LoadTableRequest& request,
    const catalog::HeadProbe::Fresh& fresh) {
  return service_.cached_table(caller, request, fresh);
}

Result<std::shared_ptr<const catalog::TableAnswer>> ServiceCatalog::load_table(
    const catalog::Caller& caller, const catalog::LoadTableRequest& request) {
  return service_.load_table(caller, request);
}

Status ServiceCatalog::check_table(const catalog::Caller& caller, const catalog::TableRef& table) {
  return service_.check_table(caller, table);
}

Result<std::vector<catalog::Levels>> ServiceCatalog::list_namespaces(
    const catalog::Caller& caller, const std::optional<catalog::Levels>& parent) {
  return service_.list_namespaces(caller, parent);
}

Result<std::map<std::string, std::string>> ServiceCatalog::load_namespace(
    const catalog::Caller& caller, const catalog::Levels& levels) {
  return service_.namespaces().load(caller, levels);
}

Result<catalog::Page> ServiceCatalog::list_tables(const catalog::Caller& caller,
                                                  const catalog::Levels& levels,
                                                  const store::PageRequest& page) {
  return service_.list_tables(caller, levels, page);
}

Result<catalog::Page> ServiceCatalog::list_views(const catalog::Caller& caller,
                                                 const catalog::Levels& levels,
                                                 const store::PageRequest& page) {
  return service_.list_views(caller, levels, page);
}

Result<catalog::ViewAnswer> ServiceCatalog::load_view(const catalog::Caller& caller,
                                                      const catalog::TableRef& view) {
  return service_.load_view(caller, view);
}

Status ServiceCatalog::check_view(const catalog::Caller& caller, const catalog::TableRef& view) {
  return service_.check_view(caller, view);
}

}  // namespace duckicelake::rest
