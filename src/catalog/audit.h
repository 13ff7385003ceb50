// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "catalog/authorize.h"
#include "pg/pool.h"
#include "pg/transaction.h"
#include "store/audit.h"

namespace duckicelake::catalog {

// The record of every decision of the gate, of all catalogs of the process, in table
// duckicelake.audit and in the log.
//
// What changes something is recorded in the transaction that changes it (AuditTrail). Everything
// else waits in memory, at most `flush_interval` and the time that PostgreSQL takes: so much may be
// lost when the process dies. Decisions that are alike in all but time and request become one row
// with their number. When `max_waiting` different ones wait, because PostgreSQL is away, requests
// are refused. Thread-safe.
class Audit {
 public:
  struct Config {
    std::size_t max_waiting = 8192;
    std::chrono::milliseconds flush_interval{250};
    int retention_days = 0;  // 0: rows are kept for ever
    // Called for every row, in the thread that records it; may be empty.
    std::function<void(const store::AuditRow&)> log = {};
  };
  // `pool` must outlive it.
  Audit(Config config, pg::Pool& pool);
  // Records what waits, if PostgreSQL takes it within a few seconds.
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  // A decision of the gate that changes nothing. Does not block. kUnavailable: too many wait.
  Status note(const Caller& caller, Action action, const ObjectRef& object,
              const Decision& decision);
  // Anything else (a key that was given out, a request to the store that was signed). Likewise.
  Status submit(store::AuditRow row);
  // Tells the log about rows that were recorded in a transaction.
  void tell(const store::AuditRow& row) const;
  // Records what waits, now. Blocks.
  Status flush();

  struct Counters {
    std::uint64_t decisions = 0;  // noted and submitted
    std::uint64_t rows = 0;       // recorded by the flushing thread
    std::uint64_t refused = 0;    // because too many waited
    std::uint64_t failures = 0;   // of flushing; nothing was lost by them
    std::uint64_t waiting = 0;
    std::uint64_t denied = 0;
    std::uint64_t hidden = 0;
  };
  Counters counters() const;

 private:
  struct Shard {
    std::mutex mutex;                                            // guards rows
    std::unordered_multimap<std::size_t, store::AuditRow> rows;  // by the hash of what is alike
  };
  static constexpr std::size_t kShards = 8;

  void run();
  std::vector<store::AuditRow> take();
  Status write(std::vector<store::AuditRow>& rows);
  void expire_old();

  const Config config_;
  pg::Pool& pool_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::uint64_t> decisions_{0};
  std::atomic<std::uint64_t> rows_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> denied_{0};
  std::atomic<std::uint64_t> hidden_{0};

  std::mutex flushing_;                 // held by who flushes; guards retry_
  std::vector<store::AuditRow> retry_;  // taken, and not recorded yet
  std::mutex stop_mutex_;               // guards is_stopping_
  std::condition_variable stopped_;
  bool is_stopping_ = false;
  std::chrono::steady_clock::time_point next_expiry_;
  std::thread thread_;  // the last
};

// What one request was decided, from its first question to its answer. Used by one thread at a
// time.
class AuditTrail {
 public:
  // In the record of the catalog, whose id outlives it. `audit` may be null.
  AuditTrail(Audit* audit, std::string_view catalog_id) : audit_(audit), catalog_id_(catalog_id) {}
  AuditTrail(const AuditTrail&) = delete;
  AuditTrail& operator=(const AuditTrail&) = delete;

  Audit* audit() const { return audit_; }
  std::string_view catalog_id() const { return catalog_id_; }
  // The request turned out to be about another catalog. Pre-condition: nothing was taken down yet.
  void move_to(std::string_view catalog_id) { catalog_id_ = catalog_id; }

  // Takes a decision down: allowed changes until the transaction that makes them, all else in the
  // Audit. kUnavailable as Audit::note.
  Status note(const Caller& caller, Action action, const ObjectRef& object,
              const Decision& decision);
  // A change that the use case names more exactly than its action does.
  void add_change(store::AuditRow row);
  // The changes go out with the transaction's next statement.
  void write_in(pg::Transaction& transaction);
  // That transaction was rolled back, and the use case begins again.
  void was_rolled_back() { is_written_ = false; }
  // At the end of the request: records the changes that no transaction did, because nothing was
  // changed or the change failed (then `error` says how).
  void finish(const Error* error) noexcept;

 private:
  Audit* audit_;
  std::string_view catalog_id_;
  std::vector<store::AuditRow> changes_;
  bool is_written_ = false;
};

// A row about the caller in the record of his trail's catalog, with the time of now.
store::AuditRow audit_row(const Caller& caller, std::string_view operation,
                          const ObjectRef& object);

}  // namespace duckicelake::catalog
