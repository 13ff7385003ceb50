// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "catalog/change_log.h"
#include "catalog/head_reader.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// Proof of freshness for cached answers: the head of a lake that was read after the question was
// asked. Questions that arrive while reads are under way share the next one. I/O threads have two
// sessions and never wait for them (HeadReader); workers have one and read in turn.
// Thread-safe. It also keeps, from the changes of each advance, which tables changed when.
class HeadProbe {
 public:
  using Fresh = FreshHead;
  using Callback = HeadCallback;
  using Post = HeadReader::Post;

  // How many sessions of PostgreSQL it keeps: three, or one (and another while a worker reads) for
  // one of many catalogs.
  enum class Sessions : bool { kFew, kMany };
  // `pool` must outlive the probe. `post` may be empty when only await_blocking is used.
  HeadProbe(pg::Pool& pool, store::Lake lake, const Post& post,
            Sessions sessions = Sessions::kMany);
  // The I/O threads must be over, or `close` must have run; and the callers of await_blocking be
  // over.
  ~HeadProbe() = default;
  HeadProbe(const HeadProbe&) = delete;
  HeadProbe& operator=(const HeadProbe&) = delete;

  // On I/O thread `thread_index`, where the callback runs too; it must not throw. kUnavailable when
  // the lake's PostgreSQL is away; kDeadlineExceeded.
  void await(std::size_t thread_index, Callback callback) {
    const bool is_second_sooner = sessions_ == Sessions::kMany &&
                                  thread_index == HeadReader::kHomeThread &&
                                  readers_[0].is_reading() && !readers_[1].is_reading();
    readers_[is_second_sooner ? 1 : 0].ask(thread_index, std::move(callback));
  }
  // On I/O thread HeadReader::kHomeThread, or when that is over: ends the sessions, and drops
  // questions. Nobody may ask any more.
  void close();
  // On a thread that may wait. The same errors; a caller whose turn it is to read may return up to
  // kHeadReadTime after its deadline.
  Result<Fresh> await_blocking(pg::Deadline deadline);

  // The newest snapshot known to have changed the table (rows, files or definition); the begin of
  // the watch when none.
  SnapshotId last_change(TableId table) const { return changes_.last_change(table); }
  // The newest snapshot after which names may resolve differently.
  SnapshotId last_name_change() const { return changes_.last_name_change(); }

  struct Counters {
    std::uint64_t probes = 0;
    std::uint64_t questions = 0;
    std::uint64_t failures = 0;
  };
  Counters counters() const;

 private:
  // A read for workers, and what it gave.
  struct Round {
    std::optional<Result<Fresh>> result;
  };
  Result<Fresh> read();
  Result<Fresh> read_with(pg::Connection& connection);

  pg::Pool& pool_;
  const store::Lake lake_;
  const Sessions sessions_;
  ChangeLog changes_;
  HeadCounters counters_;
  std::array<HeadReader, 2> readers_;  // their reads overlap: nobody waits for a whole one first

  std::mutex rounds_mutex_;  // guards is_reading_ and next_round_
  std::condition_variable round_ended_;
  bool is_reading_ = false;
  std::shared_ptr<Round> next_round_;  // for those who ask from now on
  std::unique_ptr<pg::Lease> lease_;   // of the worker whose turn it is
};

}  // namespace duckicelake::catalog
