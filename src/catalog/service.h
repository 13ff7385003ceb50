// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/authorize.h"
#include "catalog/data_engine.h"
#include "catalog/head_probe.h"
#include "catalog/name_lookup.h"
#include "objstore/object_store.h"
#include "pg/pool.h"
#include "store/names.h"

namespace duckicelake::catalog {

class AccessAdmin;
struct Backends;
class Maintenance;
class MaintenanceEngine;
class Namespaces;
class TableNames;
class Views;

enum class SnapshotsMode : std::uint8_t { kAll, kRefs };

struct LoadTableRequest {
  TableRef table;
  SnapshotsMode mode = SnapshotsMode::kAll;
  std::optional<std::int64_t> pinned_snapshot;  // current-snapshot-id and refs.main point at it
};

// What is the same for every caller of a table's current state. Immutable and shared; the caller's
// own part (config, credentials, restrictions) is composed around it.
struct TableAnswer {
  TableId table_id;
  std::string metadata_location;                // a durable object
  std::shared_ptr<const std::string> metadata;  // the metadata JSON object
  std::string
      version_tag;  // differs whenever `metadata` differs; only [A-Za-z0-9._-]: part of ETags
};

struct TableIds {
  TableId table;
  SchemaId schema;
};

struct Page {
  std::vector<std::string> names;
  std::optional<std::string> next;  // the name to continue after
};

struct ServiceCounters {
  std::uint64_t cache_hits = 0;
  std::uint64_t cache_misses = 0;
  std::uint64_t cache_entries = 0;
  std::uint64_t projections = 0;  // that wrote a new metadata version
  std::uint64_t projection_failures = 0;
  std::uint64_t manifests_written = 0;
  std::uint64_t manifest_lists_written = 0;
  std::uint64_t metadata_files_written = 0;
  std::uint64_t delete_files_written = 0;
  std::uint64_t inlined_files_written = 0;
  std::uint64_t rows_read = 0;  // PostgreSQL rows of projections
  double projection_seconds = 0;

  bool eager_leader = false;  // this process publishes what DuckDB commits
  std::uint64_t eager_notifications = 0;
  std::uint64_t eager_published = 0;
  std::uint64_t eager_failures = 0;
  double eager_lag_seconds = 0;

  std::uint64_t commits_ok = 0;
  std::uint64_t commits_repeated = 0;     // answered with the outcome of an earlier request
  std::uint64_t commits_conflict = 0;     // 409
  std::uint64_t commits_refused = 0;      // other 4xx
  std::uint64_t commits_unknown = 0;      // CommitStateUnknown
  std::uint64_t commits_failed = 0;       // 5xx
  std::uint64_t commit_retries = 0;       // rounds made again beside DuckDB's writers
  std::uint64_t commit_transactions = 0;  // that commits were made in
  std::uint64_t commits_written = 0;      // by these
};

class TableCommits;

// The use cases of one catalog for readers. Thread-safe. Calls block (PostgreSQL, object store,
// engine) unless said otherwise, so they belong on worker threads. Every call passes `authorize`
// first.
//
// Errors: kNoSuchNamespace, kNoSuchTable, kNoSuchView; kUnsupported for a table that cannot be
// served (the message says why); kUnavailable and kDeadlineExceeded when PostgreSQL or the object
// store is away.
class Service {
 public:
  struct Config {
    AuthMode auth_mode = AuthMode::kOff;
    std::size_t max_cached_tables = 1024;
    int default_format_version = 2;
    bool allows_bare_paths = false;  // see PathRules
    bool projects_eagerly = true;    // take part in publishing ahead of loads
    std::chrono::milliseconds request_timeout{60'000};
    HeadProbe::Sessions sessions = HeadProbe::Sessions::kMany;
    MaintenanceEngine* maintenance_engine = nullptr;  // may be null; must outlive the service
    std::chrono::seconds maintenance_timeout{600};    // for one call
    std::chrono::seconds sweep_grace{86'400};         // see SweepOptions; requests may ask for more
  };
  // All references must outlive the service.
  Service(Config config, store::Lake lake, pg::Pool& pool, objstore::ObjectStore& objects,
          DataEngine& engine, const HeadProbe::Post& post);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  const std::string& catalog_id() const;
  const Backends& backends() const;
  HeadProbe& probe();

  // The use cases about what exists and how it is named.
  const Namespaces& namespaces() const;
  const TableNames& table_names() const;
  const Views& views() const;
  const AccessAdmin& access_admin() const;
  TableCommits& table_commits();
  Maintenance& maintenance();

  // Direct children of `parent`, or the top level without one. The namespaces of several levels
  // whose upper levels are no schemas of their own appear as their first level. kNoSuchNamespace
  // when `parent` is neither a namespace nor a prefix of one.
  Result<std::vector<Levels>> list_namespaces(const Caller& caller,
                                              const std::optional<Levels>& parent);

  Result<Page> list_tables(const Caller& caller, const Levels& levels,
                           const store::PageRequest& page);
  Result<Page> list_views(const Caller& caller, const Levels& levels,
                          const store::PageRequest& page);

  // Does not block: a cached answer that `fresh` proves to be current, or nullptr (then call
  // load_table). Meant for the I/O thread, in the probe's callback. Only requests without a pinned
  // snapshot can hit.
  std::shared_ptr<const TableAnswer> cached_table(const Caller& caller,
                                                  const LoadTableRequest& request,
                                                  const HeadProbe::Fresh& fresh);
  Result<std::shared_ptr<const TableAnswer>> load_table(const Caller& caller,
                                                        const LoadTableRequest& request);
  // The ids behind a name, for use cases that ask the gate by them themselves. Without blocking:
  // those that are right as of a head that was read after the request came, which the caller saw
  // to; nullopt: ask find_table.
  std::optional<TableIds> known_table(const TableRef& table);
  Result<TableIds> find_table(const TableRef& table);
  // Publishes the table as it is after the snapshot, if it has not been.
  Status publish_ahead(TableId table, SnapshotId snapshot);
  // Success: it exists.
  Status check_table(const Caller& caller, const TableRef& table);

  ServiceCounters counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duckicelake::catalog
