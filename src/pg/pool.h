// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "pg/async_connection.h"
#include "pg/connection.h"

namespace duckicelake::pg {

class Pool;

// A connection on loan; it returns at destruction. One in a transaction, broken or too old is
// closed instead. Settings changed with SET, advisory locks of the session and LISTEN would stay on
// it: undo them, or `discard`.
class Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  Connection& operator*() const { return *connection_; }
  Connection* operator->() const { return connection_.get(); }
  // Closes the connection; the lease is useless then.
  void discard() { connection_->close(); }

 private:
  friend class Pool;
  Lease(Pool& pool, std::unique_ptr<Connection> connection, Deadline opened);
  void give_back();

  Pool* pool_;
  std::unique_ptr<Connection> connection_;
  Deadline opened_;
};

// A reading of the pool for metrics and cost tests. Gauges first, then totals since the start.
struct PoolCounters {
  std::uint64_t in_use = 0;
  std::uint64_t idle = 0;
  std::uint64_t waiting = 0;
  std::uint64_t acquired = 0;
  std::uint64_t waits = 0;             // acquisitions that had to wait for a connection
  std::uint64_t acquire_timeouts = 0;  // of these, those that waited in vain
  std::uint64_t connects = 0;
  std::uint64_t connect_failures = 0;
  std::uint64_t dropped = 0;  // connections that were broken, timed out or left in a transaction
  Cost cost;
};

// Connections to one database. Thread-safe. Nothing is connected before the first use, and no
// thread runs here: what is idle is looked after when connections come and go. A session that the
// server ended is noticed before it is handed out, so a restart of PostgreSQL costs the requests
// that were under way and those that come while it is away, and nothing after.
class Pool {
 public:
  // kInvalidArgument when the configuration is not valid.
  static Result<std::unique_ptr<Pool>> make(PgConfig config);
  // Pre-condition: every lease is back.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A connection whose calls end at `deadline`. Waits for a free one, first come first served,
  // until `deadline` or for the configured acquire timeout. kUnavailable: none came free, or the
  // server cannot be reached.
  Result<Lease> acquire(Deadline deadline);
  // A session for an event loop, to the same database and counted in the same cost, but not one of
  // the pool: it waits for no free place and takes none. The pool must outlive it.
  Result<AsyncConnection> open_async(std::span<const Statement> statements, Deadline deadline);
  // Opens connections up to `pool_min`.
  Status warm_up(Deadline deadline);
  // Closes what is idle.
  void close_idle();

  PoolCounters counters() const;
  const PgConfig& config() const { return config_; }

 private:
  friend class Lease;
  struct Idle {
    std::unique_ptr<Connection> connection;
    Deadline opened;
    Deadline since;
  };
  struct Waiter;
  enum class Slot { kNeverOpened, kBroken, kRetired };

  explicit Pool(PgConfig config) : config_(std::move(config)) {}
  Result<Lease> open(Deadline deadline);
  // Takes an idle connection, or the right to open one (an Idle without connection).
  Result<Idle> take(Deadline deadline);
  bool is_healthy(Idle& idle, Deadline deadline);
  void give_back(std::unique_ptr<Connection> connection, Deadline opened);
  void drop_slot(Slot slot);
  std::vector<Idle> take_expired(Deadline now);  // under mutex_

  const PgConfig config_;
  CostCounters cost_;

  mutable std::mutex mutex_;  // guards all below
  std::vector<Idle> idle_;    // the most recently used last
  std::deque<Waiter*> waiters_;
  std::size_t open_ = 0;  // in use, idle and being opened; <= pool_max
  PoolCounters counters_;
};

}  // namespace duckicelake::pg
