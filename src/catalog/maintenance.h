// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/maintenance_engine.h"
#include "catalog/maintenance_policy.h"
#include "catalog/name_lookup.h"
#include "catalog/projection.h"
#include "catalog/sweep.h"
#include "catalog/table_cache.h"
#include "catalog/table_commits.h"
#include "store/maintenance.h"

namespace duckicelake::catalog {

struct TableExpiry {
  TableRef table;
  std::vector<std::string> dropped_refs;
  std::int64_t snapshots = 0;  // hidden
};

struct ExpireReport {
  std::vector<TableExpiry> tables;              // those that lost something
  std::vector<SnapshotId> lake_snapshots;       // expired in DuckLake
  std::map<std::string, std::string> failures;  // by table: why it was left as it is
};

struct MaintainOptions {
  bool is_dry_run = false;
  bool expires = true;
  bool sweeps = true;
  std::chrono::seconds grace{0};  // at least the configured one is taken
  std::size_t max_names = 100;
};

struct MaintainReport {
  ExpireReport expiry;
  SweepReport sweep;
};

// Upkeep of one table or of the whole catalog. Safe beside readers and writers, can be repeated and
// taken up again after a crash at any point. One maintenance of a lake runs at a time: kUnavailable
// while another one does. Thread-safe; calls block, for longer than other requests may, and pass
// `authorize` first (kMaintainTable).
class Maintenance {
 public:
  struct Config {
    std::chrono::seconds sweep_grace{86'400};
    std::chrono::seconds timeout{600};  // for one call
  };
  // `engine` may be null: what needs it is kUnsupported then.
  Maintenance(Config config, const Backends& backends, MaintenanceEngine* engine,
              Projector& projector, TableCache& cache, TableCommits& commits)
      : config_(config),
        backends_(backends),
        engine_(engine),
        projector_(projector),
        cache_(cache),
        commits_(commits) {}

  // Merges small files, applies deletes, flushes inlined rows, then publishes the table.
  Result<CompactReport> compact(const Caller& caller, const TableRef& table,
                                const CompactOptions& options);
  // Hides the snapshots of the table that its policy lets go, then expires in DuckLake what every
  // table that it concerns has let go.
  Result<ExpireReport> expire(const Caller& caller, const TableRef& table, bool is_dry_run);
  // All tables; then what nothing names any more is swept.
  Result<MaintainReport> maintain(const Caller& caller, const MaintainOptions& options);

 private:
  class Hold;
  pg::Deadline deadline() const { return pg::deadline_after(config_.timeout); }
  Result<std::shared_ptr<const TableView>> publish(TableId table, pg::Deadline until);
  Status expire_table(const Caller& caller, const TableRef& ref, TableId table, bool is_dry_run,
                      pg::Deadline until, store::ToHide& to_hide, ExpireReport& report);
  Status expire_lake(pg::Connection& connection, bool is_dry_run, const store::ToHide& to_hide,
                     ExpireReport& report);

  const Config config_;
  const Backends& backends_;
  MaintenanceEngine* const engine_;
  Projector& projector_;
  TableCache& cache_;
  TableCommits& commits_;
};

}  // namespace duckicelake::catalog
