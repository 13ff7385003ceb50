// SPDX-License-Identifier: Apache-2.0
#include "rest/catalog_api.h"

#include <utility>

#include "catalog/namespaces.h"
#include "catalog/table_names.h"
#include "catalog/views.h"

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

std::optional<catalog::TableIds> ServiceCatalog::known_table(const catalog::TableRef& table) {
  return service_.known_table(table);
}

Result<catalog::TableIds> ServiceCatalog::find_table(const catalog::TableRef& table) {
  return service_.find_table(table);
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
  return service_.views().load(caller, view);
}

Status ServiceCatalog::check_view(const catalog::Caller& caller, const catalog::TableRef& view) {
  return service_.views().check(caller, view);
}

Status ServiceCatalog::create_namespace(const catalog::WriteContext& context,
                                        const catalog::Levels& levels,
                                        const catalog::Properties& properties) {
  return service_.namespaces().create(context, levels, properties);
}

Status ServiceCatalog::drop_namespace(const catalog::WriteContext& context,
                                      const catalog::Levels& levels) {
  return service_.namespaces().drop(context, levels);
}

Result<catalog::PropertiesChange> ServiceCatalog::update_namespace(
    const catalog::WriteContext& context, const catalog::Levels& levels,
    const catalog::PropertiesUpdate& update) {
  return service_.namespaces().update(context, levels, update);
}

Result<std::shared_ptr<const catalog::TableAnswer>> ServiceCatalog::create_table(
    const catalog::WriteContext& context, catalog::CreateTableRequest request) {
  DIL_TRY(const auto view, service_.table_commits().create(context, std::move(request)));
  return view->answer(catalog::SnapshotsMode::kAll);
}

Result<std::string> ServiceCatalog::stage_table(const catalog::WriteContext& context,
                                                catalog::CreateTableRequest request) {
  DIL_TRY(const iceberg::TableMetadata metadata,
          service_.table_commits().stage(context, std::move(request)));
  return iceberg::metadata_to_json(metadata);
}

Result<std::shared_ptr<const catalog::TableAnswer>> ServiceCatalog::commit_table(
    const catalog::WriteContext& context, catalog::TableCommit commit) {
  DIL_TRY(const auto view, service_.table_commits().commit(context, commit));
  return view->answer(catalog::SnapshotsMode::kAll);
}

Status ServiceCatalog::commit_transaction(const catalog::WriteContext& context,
                                          std::vector<catalog::TableCommit> commits) {
  return service_.table_commits().commit_all(context, std::move(commits));
}

Result<std::shared_ptr<const catalog::TableAnswer>> ServiceCatalog::register_table(
    const catalog::WriteContext& context, catalog::RegisterTableRequest request) {
  DIL_TRY(const auto view, service_.table_commits().register_table(context, std::move(request)));
  return view->answer(catalog::SnapshotsMode::kAll);
}

Status ServiceCatalog::drop_table(const catalog::WriteContext& context,
                                  const catalog::TableRef& table, catalog::Purge purge) {
  return service_.table_names().drop(context, table, purge);
}

Status ServiceCatalog::rename_table(const catalog::WriteContext& context,
                                    const catalog::TableRef& from, const catalog::TableRef& to) {
  return service_.table_names().rename(context, from, to);
}

Result<catalog::TableNames::LastMetadata> ServiceCatalog::unregister_table(
    const catalog::WriteContext& context, const catalog::TableRef& table) {
  return service_.table_names().unregister(context, table);
}

Status ServiceCatalog::report_metrics(const catalog::Caller& caller, const catalog::TableRef& table,
                                      const std::string& report) {
  return service_.table_names().report_metrics(caller, table, report);
}

Result<catalog::ViewAnswer> ServiceCatalog::create_view(const catalog::WriteContext& context,
                                                        const catalog::CreateViewRequest& request) {
  return service_.views().create(context, request);
}

Result<catalog::ViewAnswer> ServiceCatalog::register_view(
    const catalog::WriteContext& context, const catalog::RegisterViewRequest& request) {
  return service_.views().register_view(context, request);
}

Result<catalog::ViewAnswer> ServiceCatalog::commit_view(const catalog::WriteContext& context,
                                                        const catalog::CommitViewRequest& request) {
  return service_.views().commit(context, request);
}

Status ServiceCatalog::drop_view(const catalog::WriteContext& context,
                                 const catalog::TableRef& view) {
  return service_.views().drop(context, view);
}

Status ServiceCatalog::rename_view(const catalog::WriteContext& context,
                                   const catalog::TableRef& from, const catalog::TableRef& to) {
  return service_.views().rename(context, from, to);
}

Result<catalog::CompactReport> ServiceCatalog::compact_table(
    const catalog::Caller& caller, const catalog::TableRef& table,
    const catalog::CompactOptions& options) {
  return service_.maintenance().compact(caller, table, options);
}

Result<catalog::ExpireReport> ServiceCatalog::expire_table(const catalog::Caller& caller,
                                                           const catalog::TableRef& table,
                                                           bool is_dry_run) {
  return service_.maintenance().expire(caller, table, is_dry_run);
}

Result<catalog::MaintainReport> ServiceCatalog::maintain(const catalog::Caller& caller,
                                                         const catalog::MaintainOptions& options) {
  return service_.maintenance().maintain(caller, options);
}

}  // namespace duckicelake::rest
