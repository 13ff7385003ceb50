// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/maintenance.h"
#include "catalog/namespaces.h"
#include "catalog/service.h"
#include "catalog/table_commits.h"
#include "catalog/table_names.h"
#include "catalog/views.h"
#include "catalog/write_context.h"

namespace duckicelake::rest {

// The use cases as the routes see them: those of catalog::Service, or a fake in tests of the
// routes. The contract of each function is that of the use case of the same name.
class CatalogApi {
 public:
  virtual ~CatalogApi() = default;
  // Who may come in; nullptr: that is not administered here.
  virtual const catalog::AccessAdmin* access_admin() const { return nullptr; }
  virtual void await_head(std::size_t thread_index, catalog::HeadProbe::Callback callback) = 0;
  virtual std::shared_ptr<const catalog::TableAnswer> cached_table(
      const catalog::Caller& caller, const catalog::LoadTableRequest& request,
      const catalog::HeadProbe::Fresh& fresh) = 0;
  virtual Result<std::shared_ptr<const catalog::TableAnswer>> load_table(
      const catalog::Caller& caller, const catalog::LoadTableRequest& request) = 0;
  virtual Status check_table(const catalog::Caller& caller, const catalog::TableRef& table) = 0;
  virtual std::optional<catalog::TableIds> known_table(const catalog::TableRef& table) = 0;
  virtual Result<catalog::TableIds> find_table(const catalog::TableRef& table) = 0;
  virtual Result<std::vector<catalog::Levels>> list_namespaces(
      const catalog::Caller& caller, const std::optional<catalog::Levels>& parent) = 0;
  virtual Result<std::map<std::string, std::string>> load_namespace(
      const catalog::Caller& caller, const catalog::Levels& levels) = 0;
  virtual Result<catalog::Page> list_tables(const catalog::Caller& caller,
                                            const catalog::Levels& levels,
                                            const store::PageRequest& page) = 0;
  virtual Result<catalog::Page> list_views(const catalog::Caller& caller,
                                           const catalog::Levels& levels,
                                           const store::PageRequest& page) = 0;
  virtual Result<catalog::ViewAnswer> load_view(const catalog::Caller& caller,
                                                const catalog::TableRef& view) = 0;
  virtual Status check_view(const catalog::Caller& caller, const catalog::TableRef& view) = 0;

  virtual Status create_namespace(const catalog::WriteContext& context,
                                  const catalog::Levels& levels,
                                  const catalog::Properties& properties) = 0;
  virtual Status drop_namespace(const catalog::WriteContext& context,
                                const catalog::Levels& levels) = 0;
  virtual Result<catalog::PropertiesChange> update_namespace(
      const catalog::WriteContext& context, const catalog::Levels& levels,
      const catalog::PropertiesUpdate& update) = 0;
  virtual Result<std::shared_ptr<const catalog::TableAnswer>> create_table(
      const catalog::WriteContext& context, catalog::CreateTableRequest request) = 0;
  // The metadata (JSON) that create_table would make.
  virtual Result<std::string> stage_table(const catalog::WriteContext& context,
                                          catalog::CreateTableRequest request) = 0;
  virtual Result<std::shared_ptr<const catalog::TableAnswer>> commit_table(
      const catalog::WriteContext& context, catalog::TableCommit commit) = 0;
  virtual Status commit_transaction(const catalog::WriteContext& context,
                                    std::vector<catalog::TableCommit> commits) = 0;
  virtual Result<std::shared_ptr<const catalog::TableAnswer>> register_table(
      const catalog::WriteContext& context, catalog::RegisterTableRequest request) = 0;
  virtual Status drop_table(const catalog::WriteContext& context, const catalog::TableRef& table,
                            catalog::Purge purge) = 0;
  virtual Status rename_table(const catalog::WriteContext& context, const catalog::TableRef& from,
                              const catalog::TableRef& to) = 0;
  virtual Result<catalog::TableNames::LastMetadata> unregister_table(
      const catalog::WriteContext& context, const catalog::TableRef& table) = 0;
  virtual Status report_metrics(const catalog::Caller& caller, const catalog::TableRef& table,
                                const std::string& report) = 0;
  virtual Result<catalog::ViewAnswer> create_view(const catalog::WriteContext& context,
                                                  const catalog::CreateViewRequest& request) = 0;
  virtual Result<catalog::ViewAnswer> register_view(
      const catalog::WriteContext& context, const catalog::RegisterViewRequest& request) = 0;
  virtual Result<catalog::ViewAnswer> commit_view(const catalog::WriteContext& context,
                                                  const catalog::CommitViewRequest& request) = 0;
  virtual Status drop_view(const catalog::WriteContext& context, const catalog::TableRef& view) = 0;
  virtual Status rename_view(const catalog::WriteContext& context, const catalog::TableRef& from,
                             const catalog::TableRef& to) = 0;

  virtual Result<catalog::CompactReport> compact_table(const catalog::Caller& caller,
                                                       const catalog::TableRef& table,
                                                       const catalog::CompactOptions& options) = 0;
  virtual Result<catalog::ExpireReport> expire_table(const catalog::Caller& caller,
                                                     const catalog::TableRef& table,
                                                     bool is_dry_run) = 0;
  virtual Result<catalog::MaintainReport> maintain(const catalog::Caller& caller,
                                                   const catalog::MaintainOptions& options) = 0;
};

// `service` must outlive it.
class ServiceCatalog final : public CatalogApi {
 public:
  explicit ServiceCatalog(catalog::Service& service) : service_(service) {}

  const catalog::AccessAdmin* access_admin() const override { return &service_.access_admin(); }
  void await_head(std::size_t thread_index, catalog::HeadProbe::Callback callback) override;
  std::shared_ptr<const catalog::TableAnswer> cached_table(
      const catalog::Caller& caller, const catalog::LoadTableRequest& request,
      const catalog::HeadProbe::Fresh& fresh) override;
  Result<std::shared_ptr<const catalog::TableAnswer>> load_table(
      const catalog::Caller& caller, const catalog::LoadTableRequest& request) override;
  Status check_table(const catalog::Caller& caller, const catalog::TableRef& table) override;
  std::optional<catalog::TableIds> known_table(const catalog::TableRef& table) override;
  Result<catalog::TableIds> find_table(const catalog::TableRef& table) override;
  Result<std::vector<catalog::Levels>> list_namespaces(
      const catalog::Caller& caller, const std::optional<catalog::Levels>& parent) override;
  Result<std::map<std::string, std::string>> load_namespace(const catalog::Caller& caller,
                                                            const catalog::Levels& levels) override;
  Result<catalog::Page> list_tables(const catalog::Caller& caller, const catalog::Levels& levels,
                                    const store::PageRequest& page) override;
  Result<catalog::Page> list_views(const catalog::Caller& caller, const catalog::Levels& levels,
                                   const store::PageRequest& page) override;
  Result<catalog::ViewAnswer> load_view(const catalog::Caller& caller,
                                        const catalog::TableRef& view) override;
  Status check_view(const catalog::Caller& caller, const catalog::TableRef& view) override;
  Status create_namespace(const catalog::WriteContext& context, const catalog::Levels& levels,
                          const catalog::Properties& properties) override;
  Status drop_namespace(const catalog::WriteContext& context,
                        const catalog::Levels& levels) override;
  Result<catalog::PropertiesChange> update_namespace(
      const catalog::WriteContext& context, const catalog::Levels& levels,
      const catalog::PropertiesUpdate& update) override;
  Result<std::shared_ptr<const catalog::TableAnswer>> create_table(
      const catalog::WriteContext& context, catalog::CreateTableRequest request) override;
  Result<std::string> stage_table(const catalog::WriteContext& context,
                                  catalog::CreateTableRequest request) override;
  Result<std::shared_ptr<const catalog::TableAnswer>> commit_table(
      const catalog::WriteContext& context, catalog::TableCommit commit) override;
  Status commit_transaction(const catalog::WriteContext& context,
                            std::vector<catalog::TableCommit> commits) override;
  Result<std::shared_ptr<const catalog::TableAnswer>> register_table(
      const catalog::WriteContext& context, catalog::RegisterTableRequest request) override;
  Status drop_table(const catalog::WriteContext& context, const catalog::TableRef& table,
                    catalog::Purge purge) override;
  Status rename_table(const catalog::WriteContext& context, const catalog::TableRef& from,
                      const catalog::TableRef& to) override;
  Result<catalog::TableNames::LastMetadata> unregister_table(
      const catalog::WriteContext& context, const catalog::TableRef& table) override;
  Status report_metrics(const catalog::Caller& caller, const catalog::TableRef& table,
                        const std::string& report) override;
  Result<catalog::ViewAnswer> create_view(const catalog::WriteContext& context,
                                          const catalog::CreateViewRequest& request) override;
  Result<catalog::ViewAnswer> register_view(const catalog::WriteContext& context,
                                            const catalog::RegisterViewRequest& request) override;
  Result<catalog::ViewAnswer> commit_view(const catalog::WriteContext& context,
                                          const catalog::CommitViewRequest& request) override;
  Status drop_view(const catalog::WriteContext& context, const catalog::TableRef& view) override;
  Status rename_view(const catalog::WriteContext& context, const catalog::TableRef& from,
                     const catalog::TableRef& to) override;
  Result<catalog::CompactReport> compact_table(const catalog::Caller& caller,
                                               const catalog::TableRef& table,
                                               const catalog::CompactOptions& options) override;
  Result<catalog::ExpireReport> expire_table(const catalog::Caller& caller,
                                             const catalog::TableRef& table,
                                             bool is_dry_run) override;
  Result<catalog::MaintainReport> maintain(const catalog::Caller& caller,
                                           const catalog::MaintainOptions& options) override;

 private:
  catalog::Service& service_;
};

}  // namespace duckicelake::rest
