// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/commit_group.h"
#include "catalog/table_commits.h"
#include "catalog/table_lock.h"

namespace duckicelake::catalog {

// One commit of one or several tables, from names to published metadata. Used once.
class CommitRun {
 public:
  CommitRun(TableCommits& owner, const WriteContext& context, std::vector<TableCommit> commits,
            bool creates, pg::Deadline until)
      : owner_(owner),
        context_(context),
        commits_(std::move(commits)),
        creates_(creates),
        until_(until) {}

  Result<std::vector<std::shared_ptr<const TableView>>> run();

 private:
  enum class Round { kDone, kAgain };

  Result<Round> round();
  Status resolve();
  Status lock_tables();
  Status plan();
  // The cached view if nothing of the table changed since, else a new one.
  Result<std::shared_ptr<const TableView>> current_view(pg::Connection& connection, TableId table);
  Result<Round> write();
  Result<std::vector<std::shared_ptr<const TableView>>> publish();
  Result<bool> was_answered_before(pg::Connection& connection);
  void unlock();

  TableCommits& owner_;
  const WriteContext& context_;
  std::vector<TableCommit> commits_;
  const bool creates_;
  const pg::Deadline until_;

  std::optional<pg::Lease> lease_;
  std::vector<CommitTarget> targets_;
  std::vector<TableLock> locks_;
  std::vector<TableId> latched_;
  bool is_repeated_ = false;
  bool is_alone_ = false;  // the next round shares no transaction
};

}  // namespace duckicelake::catalog
