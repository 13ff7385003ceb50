// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/commit_table.h"
#include "catalog/group_queue.h"
#include "catalog/projection.h"
#include "catalog/slot_pacer.h"
#include "catalog/write_context.h"
#include "store/names.h"

namespace duckicelake::catalog {

struct TableCommit;

// One table of a commit, from its name to what the transaction made of it.
struct CommitTarget {
  const TableCommit* commit = nullptr;
  store::NamespaceRow space;
  std::optional<TableId> id;  // of a new table known once it is written
  std::unique_ptr<TableWork> work;
  std::optional<OwnRows> own;  // of a commit that changed rows only; once written
};

// A commit that is ready to be written: planned, with its tables' locks held.
struct ReadyCommit {
  const WriteContext& context;
  std::span<CommitTarget> targets;
  pg::Connection& connection;  // of the commit's thread, which waits; without open transaction
  pg::Deadline until;
};

enum class Written {
  kDone,      // durable
  kRepeated,  // the same request was answered before; nothing was written
  kAgain,     // others were faster: plan it anew
  kAlone,     // the same, and better not together with others
};

// Writes the commits of one process to one lake, each as snapshots of its own. Commits that are
// ready while another is being written share the next transaction, so that the slot, which the
// whole lake waits for, is taken once for all of them, and made durable once. Thread-safe.
class CommitGroup {
 public:
  struct Counters {
    std::atomic<std::uint64_t> transactions{0};  // that were committed
    std::atomic<std::uint64_t> commits{0};       // in them
  };

  explicit CommitGroup(const Backends& backends) : backends_(backends) {}

  // Blocks. An error is this commit's own: what fails for the group comes back as kAlone.
  // kCommitStateUnknown: nobody knows whether the transaction became durable.
  Result<Written> write(ReadyCommit& commit);
  // By itself, whatever others do.
  Result<Written> write_alone(ReadyCommit& commit);

  const Counters& counters() const { return counters_; }

 private:
  struct Member {
    ReadyCommit* commit = nullptr;
    std::optional<Result<Written>> result;
  };
  // Longer ones would keep DuckDB's writers waiting for the slot.
  static constexpr std::size_t kMaxGroup = 32;

  void write_together(std::span<Member* const> members);
  Status write_members(std::vector<Member*>& members);
  Status claim_keys(pg::Transaction& transaction, std::vector<Member*>& members);
  Status drop_overtaken(pg::Transaction& transaction, SnapshotId before,
                        std::vector<Member*>& members);
  Status drop_unlocked(pg::Connection& connection, std::vector<Member*>& members);
  Status write_rows(pg::Transaction& transaction, std::span<const store::Slot> slots,
                    Member& member);
  void pace();

  const Backends& backends_;
  Counters counters_;
  SlotPacer pacer_;
  GroupQueue<Member> queue_{kMaxGroup};
};

}  // namespace duckicelake::catalog
