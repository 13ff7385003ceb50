// SPDX-License-Identifier: Apache-2.0
#include "catalog/service.h"

#include <algorithm>
#include <atomic>

#include "catalog/access.h"
#include "catalog/access_admin.h"
#include "catalog/audit.h"
#include "catalog/backends.h"
#include "catalog/eager.h"
#include "catalog/maintenance.h"
#include "catalog/namespaces.h"
#include "catalog/projection.h"
#include "catalog/table_cache.h"
#include "catalog/table_commits.h"
#include "catalog/table_names.h"
#include "catalog/views.h"

namespace duckicelake::catalog {
namespace {

// Leaves the latch whichever way the block ends.
struct LatchHold {
  TableLatch& latch;
  TableId table;
  ~LatchHold() { latch.leave(table); }
};

Error no_such_table(const TableRef& table) {
  return make_error(Code::kNoSuchTable, "Table does not exist: {}", display_name(table));
}

}  // namespace

struct Service::Impl {
  Impl(Config config_in, store::Lake lake_in, pg::Pool& pool_in, objstore::ObjectStore& objects_in,
       DataEngine& engine_in, const HeadProbe::Post& post)
      : config(config_in),
        lake(std::move(lake_in)),
        pool(pool_in),
        engine(engine_in),
        probe(pool_in, lake, post, config_in.sessions),
        projector({config_in.default_format_version, 200'000}, lake, pool_in, objects_in,
                  engine_in),
        cache(config_in.max_cached_tables),
        backends{
            lake, pool_in, objects_in, engine_in, config_in.auth_mode, config_in.request_timeout},
        namespaces(backends),
        table_names(backends, {[this](const Caller& caller, const TableRef& table) {
                                 return answer_of(caller,
                                                  {table, SnapshotsMode::kAll, std::nullopt});
                               },
                               [this](TableId table) {
                                 cache.erase(table);
                                 projector.settle();
                               }}),
        views(backends),
        access_admin(backends),
        commits({config_in.default_format_version, config_in.allows_bare_paths}, backends,
                projector, cache, latch),
        maintenance({config_in.sweep_grace, config_in.maintenance_timeout}, backends,
                    config_in.maintenance_engine, projector, cache, commits) {
    if (!config.projects_eagerly) return;
    eager.emplace(pool, lake, [this](TableId table, SnapshotId snapshot) {
      return publish_ahead(table, snapshot);
    });
  }

  Status publish_ahead(TableId table, SnapshotId snapshot) {
    std::shared_ptr<const TableView> known = cache.find(table);
    if (known && known->through() >= snapshot) return {};
    const pg::Deadline until = deadline();
    if (!latch.enter(table, until)) return Error(Code::kDeadlineExceeded, "the table is busy");
    const LatchHold hold{latch, table};
    known = cache.find(table);
    if (known && known->through() >= snapshot) return {};
    DIL_TRY(std::shared_ptr<const TableView> view,
            projector.project(table, std::move(known), until));
    cache.insert(std::move(view));
    return {};
  }

  pg::Deadline deadline() const { return pg::deadline_after(config.request_timeout); }

  // In listings; the listing itself is what is recorded.
  bool shows(const Caller& caller, const store::NamespaceRow& row) const {
    return authorize(config.auth_mode, caller, Action::kReadNamespace, object_of(row)).is_allowed();
  }

  template <Action A>
  Status check(const Caller& caller, ObjectRef object) const {
    object.catalog_id = lake.catalog_id;
    DIL_TRY(auto allowed, authorized<A>(config.auth_mode, caller, std::move(object)));
    (void)allowed;
    return {};
  }

  Result<std::shared_ptr<const TableAnswer>> answer_of(const Caller& caller,
                                                       const LoadTableRequest& request) {
    DIL_TRY(std::shared_ptr<const TableView> view, current_view(request.table, caller));
    if (request.pinned_snapshot) return view->pinned_answer(request.mode, *request.pinned_snapshot);
    return view->answer(request.mode);
  }

  // The table's id and the head at which its name was looked up.
  Result<TableCache::Named> resolve(pg::Connection& connection, const TableRef& table,
                                    SnapshotId looked_up_at) {
    DIL_TRY(std::optional<store::NamespaceRow> ns,
            store::find_namespace(connection, lake, table.levels));
    if (!ns || table.name.starts_with("__mask_")) return no_such_table(table);
    DIL_TRY(std::optional<store::TableName> found,
            store::find_table(connection, lake, ns->schema_id, table.name));
    if (!found) return no_such_table(table);
    ObjectRef object;
    object.catalog_id = lake.catalog_id;
    object.schema = ns->schema_id;
    object.table = found->table_id;
    object.name = display_name(table);
    object.levels = table.levels;
    TableCache::Named named{found->table_id, ns->schema_id, looked_up_at,
                            std::make_shared<const ObjectRef>(std::move(object))};
    if (looked_up_at.value >= 0) cache.insert_name(table, named);
    return named;
  }

  bool is_current(const TableView& view, const HeadProbe::Fresh& fresh) const {
    return view.revision() == fresh.head.revision &&
           view.through() >= probe.last_change(view.table_id()) &&
           view.through() <= fresh.head.snapshot;
  }

  Result<std::shared_ptr<const TableView>> current_view(const TableRef& table,
                                                        const Caller& caller) {
    const pg::Deadline until = deadline();
    DIL_TRY(HeadProbe::Fresh fresh, probe.await_blocking(until));
    TableCache::Named named;
    std::optional<TableCache::Named> known = cache.find_name(table);
    if (known && known->resolved_at >= probe.last_name_change()) {
      named = *known;
    } else {
      cache.erase_name(table);
      DIL_TRY(pg::Lease lease, pool.acquire(until));
      DIL_TRY(named, resolve(*lease, table, fresh.head.snapshot));
    }
    DIL_CHECK_OK(check<Action::kLoadTable>(caller, *named.object));

    if (!latch.enter(named.table, until)) {
      return Error(Code::kDeadlineExceeded, "another request is still working on this table");
    }
    const LatchHold hold{latch, named.table};
    Result<std::shared_ptr<const TableView>> view = view_under_latch(named.table, fresh, until);
    if (!view.has_value() && view.error().code() == Code::kNoSuchTable) {
      cache.erase_name(table);
      return no_such_table(table);
    }
    return view;
  }

  Result<std::shared_ptr<const TableView>> view_under_latch(TableId table,
                                                            const HeadProbe::Fresh& fresh,
                                                            pg::Deadline until) {
    std::shared_ptr<const TableView> known = cache.find(table);
    if (known && is_current(*known, fresh)) {
      ++hits;
      return known;
    }
    ++misses;
    DIL_TRY(std::shared_ptr<const TableView> view,
            projector.project(table, std::move(known), until));
    cache.insert(view);
    return view;
  }

  template <Action A, class List>
  Result<Page> page_of(const Caller& caller, const Levels& levels, store::ObjectKind kind,
                       const store::PageRequest& page, List list) {
    DIL_TRY(pg::Lease lease, pool.acquire(deadline()));
    DIL_TRY(std::optional<store::NamespaceRow> ns, store::find_namespace(*lease, lake, levels));
    ObjectRef object;
    object.name = display_name(levels);
    object.levels = levels;
    if (ns) object.schema = ns->schema_id;
    DIL_CHECK_OK(check<A>(caller, std::move(object)));
    if (!ns) {
      DIL_TRY(const bool is_parent, store::has_namespaces_below(*lease, lake, levels));
      if (is_parent) return Page();
      return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}",
                        display_name(levels));
    }
    // One more than asked for tells whether there is another page.
    store::PageRequest request = page;
    if (request.limit > 0) ++request.limit;
    if (caller.access && !caller.principal.is_superuser()) {
      request.hidden = caller.access->hidden_in(caller.principal.roles(), ns->schema_id, kind);
    }
    DIL_TRY(std::vector<std::string> names, list(*lease, lake, ns->schema_id, request));
    Page out;
    if (page.limit > 0 && static_cast<std::int64_t>(names.size()) > page.limit) {
      names.pop_back();
      out.next = names.back();
    }
    out.names = std::move(names);
    return out;
  }

  const Config config;
  const store::Lake lake;
  pg::Pool& pool;
  DataEngine& engine;
  HeadProbe probe;
  Projector projector;
  TableCache cache;
  TableLatch latch;
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  const Backends backends;
  const Namespaces namespaces;
  const TableNames table_names;
  const Views views;
  const AccessAdmin access_admin;
  TableCommits commits;
  Maintenance maintenance;
  std::optional<EagerProjection> eager;  // the last: its thread uses all above
};

Service::Service(Config config, store::Lake lake, pg::Pool& pool, objstore::ObjectStore& objects,
                 DataEngine& engine, const HeadProbe::Post& post)
    : impl_(std::make_unique<Impl>(config, std::move(lake), pool, objects, engine, post)) {}

Service::~Service() = default;

const std::string& Service::catalog_id() const { return impl_->lake.catalog_id; }
const Backends& Service::backends() const { return impl_->backends; }
HeadProbe& Service::probe() { return impl_->probe; }
const Namespaces& Service::namespaces() const { return impl_->namespaces; }
const TableNames& Service::table_names() const { return impl_->table_names; }
const Views& Service::views() const { return impl_->views; }
const AccessAdmin& Service::access_admin() const { return impl_->access_admin; }
TableCommits& Service::table_commits() { return impl_->commits; }
Maintenance& Service::maintenance() { return impl_->maintenance; }

Result<std::vector<Levels>> Service::list_namespaces(const Caller& caller,
                                                     const std::optional<Levels>& parent) {
  ObjectRef object;
  if (parent) {
    object.levels = *parent;
    object.name = display_name(*parent);
  }
  DIL_CHECK_OK(impl_->check<Action::kListNamespaces>(caller, std::move(object)));
  DIL_TRY(pg::Lease lease, impl_->pool.acquire(impl_->deadline()));
  DIL_TRY(std::vector<store::NamespaceRow> rows, store::list_namespaces(*lease, impl_->lake));
  const std::size_t depth = parent ? parent->size() : 0;
  std::vector<Levels> out;
  bool parent_exists = !parent;
  for (store::NamespaceRow& row : rows) {
    if (parent && (row.levels.size() < depth ||
                   !std::equal(parent->begin(), parent->end(), row.levels.begin()))) {
      continue;
    }
    if (!impl_->shows(caller, row)) continue;
    parent_exists = true;
    if (row.levels.size() <= depth) continue;
    row.levels.resize(depth + 1);
    if (out.empty() || out.back() != row.levels) out.push_back(std::move(row.levels));
  }
  if (!parent_exists) {
    return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}",
                      display_name(*parent));
  }
  return out;
}

Result<Page> Service::list_tables(const Caller& caller, const Levels& levels,
                                  const store::PageRequest& page) {
  return impl_->page_of<Action::kListTables>(caller, levels, store::ObjectKind::kTable, page,
                                             store::list_tables);
}

Result<Page> Service::list_views(const Caller& caller, const Levels& levels,
                                 const store::PageRequest& page) {
  return impl_->page_of<Action::kListViews>(caller, levels, store::ObjectKind::kView, page,
                                            store::list_views);
}

std::shared_ptr<const TableAnswer> Service::cached_table(const Caller& caller,
                                                         const LoadTableRequest& request,
                                                         const HeadProbe::Fresh& fresh) {
  if (request.pinned_snapshot) return nullptr;
  std::optional<TableCache::Named> named = impl_->cache.find_name(request.table);
  if (!named || named->resolved_at < impl_->probe.last_name_change()) return nullptr;
  std::shared_ptr<const TableView> view = impl_->cache.find(named->table);
  if (!view || !impl_->is_current(*view, fresh)) return nullptr;
  const ObjectRef& object = *named->object;
  const Decision decision = authorize(impl_->config.auth_mode, caller, Action::kLoadTable, object);
  // A denial, or what cannot be recorded now, is left to load_table, which comes to the same.
  if (!decision.is_allowed()) return nullptr;
  if (caller.trail != nullptr &&
      !caller.trail->note(caller, Action::kLoadTable, object, decision).has_value()) {
    return nullptr;
  }
  ++impl_->hits;
  return view->answer(request.mode);
}

Result<std::shared_ptr<const TableAnswer>> Service::load_table(const Caller& caller,
                                                               const LoadTableRequest& request) {
  return impl_->answer_of(caller, request);
}

std::optional<TableIds> Service::known_table(const TableRef& table) {
  const std::optional<TableCache::Named> named = impl_->cache.find_name(table);
  if (!named || named->resolved_at < impl_->probe.last_name_change()) return std::nullopt;
  return TableIds{named->table, named->schema};
}

Result<TableIds> Service::find_table(const TableRef& table) {
  const pg::Deadline until = impl_->deadline();
  DIL_TRY(const HeadProbe::Fresh fresh, impl_->probe.await_blocking(until));
  if (const auto known = known_table(table)) return *known;
  impl_->cache.erase_name(table);
  DIL_TRY(pg::Lease lease, impl_->pool.acquire(until));
  DIL_TRY(const TableCache::Named named, impl_->resolve(*lease, table, fresh.head.snapshot));
  return TableIds{named.table, named.schema};
}

Status Service::publish_ahead(TableId table, SnapshotId snapshot) {
  return impl_->publish_ahead(table, snapshot);
}

Status Service::check_table(const Caller& caller, const TableRef& table) {
  DIL_TRY(pg::Lease lease, impl_->pool.acquire(impl_->deadline()));
  DIL_TRY(TableCache::Named named, impl_->resolve(*lease, table, SnapshotId(-1)));
  return impl_->check<Action::kLoadTable>(caller, *named.object);
}

ServiceCounters Service::counters() const {
  const ProjectionCounters& p = impl_->projector.counters();
  ServiceCounters out;
  out.cache_hits = impl_->hits;
  out.cache_misses = impl_->misses;
  out.cache_entries = impl_->cache.size();
  out.projections = p.projections;
  out.projection_failures = p.failures;
  out.manifests_written = p.manifests;
  out.manifest_lists_written = p.manifest_lists;
  out.metadata_files_written = p.metadata_files;
  out.delete_files_written = p.delete_files;
  out.inlined_files_written = p.inlined_files;
  out.rows_read = p.rows_read;
  out.projection_seconds = static_cast<double>(p.microseconds.load()) / 1e6;
  if (impl_->eager) {
    const EagerProjection::Counters e = impl_->eager->counters();
    out.eager_leader = e.is_leader;
    out.eager_notifications = e.notifications;
    out.eager_published = e.published;
    out.eager_failures = e.failures;
    out.eager_lag_seconds = e.lag_seconds;
  }
  const CommitCounters& c = impl_->commits.counters();
  out.commits_ok = c.committed;
  out.commits_repeated = c.repeated;
  out.commits_conflict = c.conflicts;
  out.commits_refused = c.refused;
  out.commits_unknown = c.unknown;
  out.commits_failed = c.failed;
  out.commit_retries = c.retries;
  const CommitGroup::Counters& groups = impl_->commits.group_counters();
  out.commit_transactions = groups.transactions;
  out.commits_written = groups.commits;
  return out;
}

}  // namespace duckicelake::catalog
