// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/commit_group.h"
#include "catalog/commit_table.h"
#include "catalog/name_lookup.h"
#include "catalog/projection.h"
#include "catalog/table_cache.h"
#include "catalog/write_context.h"
#include "iceberg/new_table.h"

namespace duckicelake::catalog {

struct TableCommit {
  TableRef table;
  std::vector<iceberg::Requirement> requirements;
  std::vector<iceberg::TableUpdate> updates;
  std::shared_ptr<const RegisteredFiles> registered;  // of a table that is registered
};

struct CreateTableRequest {
  TableRef table;
  iceberg::NewTable definition;  // uuid and now_ms are left to the use case; location may be empty
};

struct RegisterTableRequest {
  TableRef table;
  std::string metadata_location;
  bool overwrites = false;
};

struct CommitCounters {
  std::atomic<std::uint64_t> committed{0};
  std::atomic<std::uint64_t> repeated{0};   // answered with the outcome of an earlier request
  std::atomic<std::uint64_t> conflicts{0};  // 409
  std::atomic<std::uint64_t> refused{0};    // other 4xx
  std::atomic<std::uint64_t> unknown{0};    // CommitStateUnknown
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> retries{0};  // rounds made again because DuckDB changed the table
};

// Iceberg commits: each is made in one PostgreSQL transaction, with one DuckLake snapshot for each
// Iceberg snapshot that reaches main, and is answered with metadata that is durable. Thread-safe;
// calls block and pass `authorize` first.
//
// Errors: kCommitFailed when a requirement does not hold (the client may look again and retry);
// kInvalidArgument; kNoSuchNamespace, kNoSuchTable; kAlreadyExists; kUnsupported;
// kCommitStateUnknown when the outcome is not known, or is known to be durable and the new metadata
// could not be written.
class TableCommits {
 public:
  struct Config {
    int default_format_version = 2;
    bool allows_bare_paths = false;
  };
  TableCommits(Config config, const Backends& backends, Projector& projector, TableCache& cache,
               TableLatch& latch)
      : config_(config),
        backends_(backends),
        projector_(projector),
        cache_(cache),
        latch_(latch),
        deps_{backends.lake, backends.objects, backends.engine, config.allows_bare_paths, {}},
        group_(backends) {}

  // One table. It is created when its requirements say that it must not exist.
  Result<std::shared_ptr<const TableView>> commit(const WriteContext& context,
                                                  const TableCommit& commit);
  // Several tables at once: all or nothing, also for DuckDB's readers. A table may be named more
  // than once; its changes are applied in order.
  Status commit_all(const WriteContext& context, std::vector<TableCommit> commits);

  Result<std::shared_ptr<const TableView>> create(const WriteContext& context,
                                                  CreateTableRequest request);
  // What `create` would make; nothing is written.
  Result<iceberg::TableMetadata> stage(const WriteContext& context, CreateTableRequest request);

  // A table with the definition and the files of a metadata file inside the catalog; of its
  // snapshots only the newest, as the table's first one. kUnsupported: overwriting a table.
  Result<std::shared_ptr<const TableView>> register_table(const WriteContext& context,
                                                          const RegisterTableRequest& request);

  const CommitCounters& counters() const { return counters_; }
  const CommitGroup::Counters& group_counters() const { return group_.counters(); }

 private:
  friend class CommitRun;
  Result<std::vector<std::shared_ptr<const TableView>>> run(const WriteContext& context,
                                                            std::vector<TableCommit> commits,
                                                            bool creates);
  void count(const Error& error);
  Result<iceberg::TableMetadata> define(pg::Connection& connection, CreateTableRequest& request,
                                        const store::NamespaceRow& space);

  const Config config_;
  const Backends& backends_;
  Projector& projector_;
  TableCache& cache_;
  TableLatch& latch_;
  const CommitDeps deps_;
  CommitCounters counters_;
  CommitGroup group_;
};

}  // namespace duckicelake::catalog
