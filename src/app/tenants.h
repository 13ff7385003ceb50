// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "app/tenant.h"
#include "catalog/catalog_admin.h"
#include "catalog/registry.h"
#include "rest/catalog_directory.h"

namespace duckicelake::app {

// The shared catalogs of the database, beside the process's own. A registered one costs a row in
// memory; the ones used last are open, at most as many as the settings say and those that requests
// are in. Which ones there are is known from the registry at the version of a head that was read
// after the request came; that one which is open still is there, from its own head. Thread-safe.
class Tenants final : public rest::CatalogDirectory {
 public:
  // `idle`: what nobody used for so long is closed by release_idle. All must outlive it.
  Tenants(const SharedParts& shared, const catalog::CatalogAdmin& admin, std::size_t max_open,
          std::chrono::seconds idle);
  // shutdown() must have run.
  ~Tenants() override;
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  rest::CatalogPtr active(std::string_view id) override;
  Answer known(std::string_view id, std::int64_t version) override;
  Result<Answer> look_up(const std::string& id, std::int64_t version) override;
  Result<rest::CatalogPtr> open(const std::string& id, std::int64_t registration) override;
  void drop(const rest::OpenCatalog& stale) override;
  const catalog::CatalogAdmin& admin() const override { return admin_; }

  // For who may wait: the catalog as a head of the own one says that is read now.
  // kNoSuchWarehouse.
  Result<TenantPtr> reach(const std::string& id, catalog::HeadProbe& own, pg::Deadline until);
  // The catalog of a metadata schema as of this registry; nullptr: none of the shared ones. It
  // counts as used no sooner than somebody asks for it.
  Result<TenantPtr> reach_schema(const std::string& schema, std::int64_t version,
                                 pg::Deadline until);

  void release_idle();
  struct Counters {
    std::uint64_t open = 0;
    std::uint64_t opened = 0;
    std::uint64_t evicted = 0;
    std::uint64_t registered = 0;
  };
  Counters counters() const;
  // Of all, those that were closed too; by id when the metrics name catalogs, else under "".
  std::map<std::string, CatalogReading> readings() const;
  // The I/O threads, the workers and all others that could ask are over.
  void shutdown();

 private:
  enum class Use : bool { kByNobody, kByRequest };
  struct Entry {
    TenantPtr tenant;
    std::unique_ptr<std::atomic<std::int64_t>> last_use;  // 0: by nobody yet
  };
  struct Alive {
    std::weak_ptr<Tenant> weak;
    Tenant* tenant;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using EntryMap = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;

  TenantPtr find(std::string_view id, Use use);
  Result<TenantPtr> open(const std::string& id, std::int64_t registration, Use use,
                         pg::Deadline until);
  TenantPtr find_alive(std::string_view id, std::int64_t registration);
  Result<std::unique_ptr<Tenant>> make(const std::string& id, std::int64_t registration,
                                       pg::Deadline until);
  TenantPtr adopt(std::unique_ptr<Tenant> made);
  void keep(const TenantPtr& tenant, Use use);
  void evict_over(std::size_t most, std::vector<TenantPtr>& evicted);  // under open_mutex_
  // Of the reaper.
  void retire(Tenant* tenant);
  void reap();
  void end(Tenant* tenant);

  const SharedParts& shared_;
  const catalog::CatalogAdmin& admin_;
  const std::size_t max_open_;
  const std::chrono::milliseconds idle_;
  catalog::CatalogRegistry registry_;

  mutable std::shared_mutex open_mutex_;  // guards open_
  EntryMap open_;
  std::atomic<std::uint64_t> opened_{0}, evicted_{0};
  std::array<std::mutex, 16> opening_;  // by the hash of the id: one opens, the others find it

  mutable std::mutex alive_mutex_;  // guards what follows
  std::list<Alive> alive_;          // open, or still in use
  std::map<std::string, CatalogReading> closed_;
  std::condition_variable changed_;
  std::deque<Tenant*> retired_;  // nobody is in them any more
  bool is_over_ = false;
  std::thread reaper_;  // the last
};

}  // namespace duckicelake::app
