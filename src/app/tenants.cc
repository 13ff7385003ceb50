// SPDX-License-Identifier: Apache-2.0
#include "app/tenants.h"

#include <algorithm>
#include <future>

#include "app/view_role.h"
#include "catalog/head_reader.h"
#include "store/registry.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kLogger = "duckicelake.server";
constexpr std::chrono::seconds kLastWait{10};

Error no_such_catalog(const std::string& id) {
  return make_error(Code::kNoSuchWarehouse, "Warehouse does not exist: {}", id);
}

Error broken(const std::string& id, std::string cause) {
  return Error(
      Code::kCorruptData,
      fmt::format("catalog \"{}\" is not as it was registered; see `duckicelake doctor`", id),
      std::move(cause));
}

// Milliseconds of the steady clock.
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

rest::CatalogPtr as_catalog(TenantPtr tenant) {
  if (!tenant) return nullptr;
  const rest::OpenCatalog* const open = &tenant->open();
  return {std::move(tenant), open};
}

}  // namespace

Tenants::Tenants(const SharedParts& shared, const catalog::CatalogAdmin& admin,
                 std::size_t max_open, std::chrono::seconds idle)
    : shared_(shared),
      admin_(admin),
      max_open_(max_open),
      idle_(idle),
      registry_(shared.pool),
      reaper_([this] { reap(); }) {}

Tenants::~Tenants() {
  {
    const std::lock_guard lock(alive_mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  reaper_.join();
}

// --- which there are

rest::CatalogDirectory::Answer Tenants::known(std::string_view id, std::int64_t version) {
  const auto all = registry_.at_least(version);
  if (!all) return {};
  const store::CatalogRow* const row = all->find(id);
  if (row == nullptr) return {true, std::nullopt};
  return {true, Known{row->account, row->registration}};
}

Result<rest::CatalogDirectory::Answer> Tenants::look_up(const std::string& id,
                                                        std::int64_t version) {
  DIL_TRY(const auto all,
          registry_.load(version, pg::deadline_after(shared_.settings.listen.request_timeout)));
  (void)all;
  return known(id, version);
}

// --- those that are open

rest::CatalogPtr Tenants::active(std::string_view id) {
  return as_catalog(find(id, Use::kByRequest));
}

TenantPtr Tenants::find(std::string_view id, Use use) {
  const std::shared_lock lock(open_mutex_);
  const auto found = open_.find(id);
  if (found == open_.end()) return nullptr;
  if (use == Use::kByRequest) {
    found->second.last_use->store(now(), std::memory_order_relaxed);
  }
  return found->second.tenant;
}

Result<rest::CatalogPtr> Tenants::open(const std::string& id, std::int64_t registration) {
  const pg::Deadline until = pg::deadline_after(shared_.settings.listen.request_timeout);
  DIL_TRY(TenantPtr tenant, open(id, registration, Use::kByRequest, until));
  return as_catalog(std::move(tenant));
}

Result<TenantPtr> Tenants::open(const std::string& id, std::int64_t registration, Use use,
                                pg::Deadline until) {
  const std::lock_guard opening(opening_[std::hash<std::string>{}(id) % opening_.size()]);
  TenantPtr tenant = find(id, use);
  if (tenant && tenant->registration() == registration) return tenant;
  tenant = find_alive(id, registration);
  if (!tenant) {
    DIL_TRY(std::unique_ptr<Tenant> made, make(id, registration, until));
    tenant = adopt(std::move(made));
  }
  keep(tenant, use);
  return tenant;
}

Result<std::unique_ptr<Tenant>> Tenants::make(const std::string& id, std::int64_t registration,
                                              pg::Deadline until) {
  DIL_TRY(pg::Lease lease, shared_.pool.acquire(until));
  DIL_TRY(const std::optional<store::CatalogRow> row, store::find_catalog(*lease, id));
  if (!row || !row->is_shared || row->state != store::CatalogState::kOpen ||
      row->registration != registration) {
    return no_such_catalog(id);
  }
  const Result<objstore::S3Uri> place = objstore::parse_s3_uri(row->data_path);
  if (!place || place->bucket != shared_.settings.store.bucket) {
    return broken(id, "its data is in another bucket than this server's: " + row->data_path);
  }
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(row->metadata_schema));
  Result<store::Lake> lake = store::open_lake(*lease, id, schema);
  if (!lake) {
    const Code code = lake.error().code();
    if (code != Code::kNotFound && code != Code::kUnsupported) return std::move(lake).error();
    return broken(id, lake.error().message());
  }
  if (lake->data_path != row->data_path) {
    return broken(id, "its lake's data is in " + lake->data_path);
  }
  Settings settings = settings_for(shared_.settings, *row);
  DIL_TRY(std::optional<ViewRole> view_role, find_view_role(*lease, settings));
  return Tenant::make(shared_, std::move(settings), std::move(*lake), std::move(view_role),
                      {registration, row->account});
}

TenantPtr Tenants::find_alive(std::string_view id, std::int64_t registration) {
  TenantPtr found;  // outlives the lock: the last to let one go takes it
  const std::lock_guard lock(alive_mutex_);
  for (const Alive& one : alive_) {
    if (one.tenant->id() != id || one.tenant->registration() != registration) continue;
    found = one.weak.lock();
    if (found) break;
  }
  return found;
}

TenantPtr Tenants::adopt(std::unique_ptr<Tenant> made) {
  TenantPtr tenant(made.release(), [this](Tenant* last) { retire(last); });
  opened_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(alive_mutex_);
  alive_.push_back({tenant, tenant.get()});
  return tenant;
}

void Tenants::keep(const TenantPtr& tenant, Use use) {
  std::vector<TenantPtr> evicted;  // let go outside of the lock
  const std::lock_guard lock(open_mutex_);
  Entry& entry = open_[tenant->id()];
  evicted.push_back(std::exchange(entry.tenant, tenant));
  entry.last_use =
      std::make_unique<std::atomic<std::int64_t>>(use == Use::kByRequest ? now() + 1 : 0);
  evict_over(max_open_, evicted);
}

void Tenants::evict_over(std::size_t most, std::vector<TenantPtr>& evicted) {
  while (open_.size() > most) {
    const auto oldest = std::min_element(open_.begin(), open_.end(), [](auto& a, auto& b) {
      return a.second.last_use->load(std::memory_order_relaxed) <
             b.second.last_use->load(std::memory_order_relaxed);
    });
    evicted.push_back(std::move(oldest->second.tenant));
    open_.erase(oldest);
    evicted_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Tenants::drop(const rest::OpenCatalog& stale) {
  TenantPtr last;
  const std::lock_guard lock(open_mutex_);
  const auto found = open_.find(stale.id);
  if (found == open_.end() || &found->second.tenant->open() != &stale) return;
  last = std::move(found->second.tenant);
  open_.erase(found);
}

Result<TenantPtr> Tenants::reach(const std::string& id, catalog::HeadProbe& own,
                                 pg::Deadline until) {
  DIL_TRY(const catalog::HeadProbe::Fresh fresh, own.await_blocking(until));
  DIL_TRY(const auto all, registry_.load(fresh.head.catalogs, until));
  const store::CatalogRow* const row = all->find(id);
  if (row == nullptr) return no_such_catalog(id);
  TenantPtr tenant = find(id, Use::kByRequest);
  if (tenant && tenant->registration() == row->registration) return tenant;
  return open(id, row->registration, Use::kByRequest, until);
}

Result<TenantPtr> Tenants::reach_schema(const std::string& schema, std::int64_t version,
                                        pg::Deadline until) {
  DIL_TRY(const auto all, registry_.load(version, until));
  const store::CatalogRow* const row = all->find_by_schema(schema);
  if (row == nullptr) return TenantPtr();
  TenantPtr tenant = find(row->id, Use::kByNobody);
  if (tenant && tenant->registration() == row->registration) return tenant;
  return open(row->id, row->registration, Use::kByNobody, until);
}

void Tenants::release_idle() {
  std::vector<TenantPtr> idle;
  std::vector<TenantPtr> used;
  {
    const std::lock_guard lock(open_mutex_);
    const std::int64_t oldest = now() - idle_.count();
    for (auto at = open_.begin(); at != open_.end();) {
      const bool is_idle = at->second.last_use->load(std::memory_order_relaxed) < oldest;
      (is_idle ? idle : used).push_back(at->second.tenant);
      at = is_idle ? open_.erase(at) : std::next(at);
    }
  }
  for (const TenantPtr& tenant : used) tenant->release_idle();
}

// --- the end of one

void Tenants::retire(Tenant* tenant) {
  {
    const std::lock_guard lock(alive_mutex_);
    retired_.push_back(tenant);
  }
  changed_.notify_all();
}

void Tenants::reap() {
  std::unique_lock lock(alive_mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_over_ || !retired_.empty(); });
    if (retired_.empty()) return;
    Tenant* const tenant = retired_.front();
    retired_.pop_front();
    lock.unlock();
    end(tenant);
    lock.lock();
    changed_.notify_all();
  }
}

// Its head reader lives on an I/O thread, which may be in it still: it ends there.
void Tenants::end(Tenant* tenant) {
  const auto was_closed = std::make_shared<std::atomic<bool>>(false);
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> is_done = done->get_future();
  // The task alone holds the promise: when the thread ends without it, the wait ends too.
  const bool is_posted =
      shared_.post(catalog::HeadReader::kHomeThread, [tenant, was_closed, done = std::move(done)] {
        tenant->service().probe().close();
        was_closed->store(true);
        done->set_value();
      });
  if (is_posted) is_done.wait();
  if (!was_closed->load()) tenant->service().probe().close();
  {
    const std::lock_guard lock(alive_mutex_);
    const bool by_name = shared_.settings.metrics_name_catalogs;
    closed_[by_name ? tenant->id() : std::string()].add(tenant->counters().totals());
    alive_.remove_if([&](const Alive& one) { return one.tenant == tenant; });
  }
  delete tenant;
}

void Tenants::shutdown() {
  EntryMap open;
  {
    const std::lock_guard lock(open_mutex_);
    open.swap(open_);
  }
  open.clear();
  std::vector<TenantPtr> in_use;
  {
    const std::lock_guard lock(alive_mutex_);
    for (const Alive& one : alive_) {
      if (TenantPtr tenant = one.weak.lock()) in_use.push_back(std::move(tenant));
    }
  }
  // Questions that nobody will answer hold the catalog that they were asked of.
  for (const TenantPtr& tenant : in_use) tenant->service().probe().close();
  in_use.clear();
  std::unique_lock lock(alive_mutex_);
  if (changed_.wait_for(lock, kLastWait, [&] { return alive_.empty(); })) return;
  shared_.logger.log(LogLevel::kError, kLogger, "catalogs are still in use at the end");
}

// --- counters

Tenants::Counters Tenants::counters() const {
  Counters out;
  {
    const std::shared_lock lock(open_mutex_);
    out.open = open_.size();
  }
  out.opened = opened_;
  out.evicted = evicted_;
  if (const auto all = registry_.at_least(-1)) out.registered = all->size();
  return out;
}

std::map<std::string, CatalogReading> Tenants::readings() const {
  const std::lock_guard lock(alive_mutex_);
  std::map<std::string, CatalogReading> out = closed_;
  for (const Alive& one : alive_) {
    const bool by_name = shared_.settings.metrics_name_catalogs;
    out[by_name ? one.tenant->id() : std::string()].add(one.tenant->counters());
  }
  return out;
}

}  // namespace duckicelake::app
