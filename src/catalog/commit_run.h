// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

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
  struct Target {
    const TableCommit* commit = nullptr;
    store::NamespaceRow space;
    std::optional<TableId> id;
    std::unique_ptr<TableWork> work;
    std::size_t first_slot = 0;
    std::optional<OwnRows> own;  // of a commit that changed rows only
  };
  enum class Round { kDone, kAgain };

  Result<Round> round();
  Status resolve();
  Status lock_tables();
  Status plan();
  // The cached view if nothing of the table changed since, else a new one.
  Result<std::shared_ptr<const TableView>> current_view(pg::Connection& connection, TableId table);
  Result<Round> write();
  Status take_slots(pg::Transaction& transaction, std::vector<store::Slot>& shared);
  // Whether somebody else changed one of the tables, or took a new one's name, after it was looked
  // at and before our first snapshot.
  Result<bool> is_overtaken(pg::Connection& connection, SnapshotId before);
  Result<std::vector<std::shared_ptr<const TableView>>> publish();
  Result<bool> was_answered_before(pg::Connection& connection);
  void unlock();

  TableCommits& owner_;
  const WriteContext& context_;
  std::vector<TableCommit> commits_;
  const bool creates_;
  const pg::Deadline until_;

  std::optional<pg::Lease> lease_;
  std::vector<Target> targets_;
  std::vector<TableLock> locks_;
  std::vector<TableId> latched_;
  bool is_repeated_ = false;
};

}  // namespace duckicelake::catalog
