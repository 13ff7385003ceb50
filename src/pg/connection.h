// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pg/config.h"
#include "pg/copy.h"
#include "pg/counters.h"
#include "pg/deadline.h"
#include "pg/result_set.h"
#include "pg/statement.h"

struct pg_conn;

namespace duckicelake::pg {

class StatementCache;

struct Notification {
  std::string channel;
  std::string payload;  // at most 8000 bytes
  int backend_pid = 0;  // of the session that notified
};

enum class TransactionState { kIdle, kActive, kFailed, kUnknown };

// One session of PostgreSQL. Blocking calls; each wait ends at the deadline of the connection, and
// a wait that did not end in time closes the connection (kDeadlineExceeded), for what the server
// does then is no longer known. For one thread at a time. Neither Transaction nor CopyIn may
// outlive it, and it may not be moved while one of them lives.
//
// The session is set up the same way whatever the server's defaults are: UTF-8, UTC, ISO dates, and
// search_path = pg_catalog, so every table, function and type that is not PostgreSQL's own must be
// written with its schema.
//
// A write outside of Transaction whose connection is lost answers kUnavailable although it may have
// happened; use Transaction where that matters.
class Connection {
 public:
  // kUnavailable when no endpoint can be reached or logged in to before the deadline; otherwise the
  // connection's deadline is set to `deadline`. `totals` (may be null) must outlive the connection.
  static Result<Connection> connect(const PgConfig& config, Deadline deadline,
                                    CostCounters* totals = nullptr);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  // Holds for every later call.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  Deadline deadline() const { return deadline_; }

  // One round trip. Runs in the open transaction, if there is one.
  Result<ResultSet> exec(const Statement& statement);
  Result<ResultSet> exec(const Sql& sql, std::vector<Param> params = {});

  // One round trip for all statements, in order, one ResultSet each. The first failure skips the
  // others and is returned. Without an open transaction, and without a BEGIN among them, they are
  // one transaction. A transaction that a BEGIN among them opened is rolled back when one of them
  // fails. kCommitStateUnknown: the connection was lost after a COMMIT among them was sent.
  Result<std::vector<ResultSet>> batch(std::span<const Statement> statements);

  // One round trip; rows are handed over as they come and are not kept. When `on_row` fails its
  // Error is returned and the connection is closed.
  Status for_each_row(const Statement& statement, const std::function<Status(const Row&)>& on_row);

  // Several statements at once, without parameters; results are dropped. For migrations.
  Status exec_script(const Sql& sql);

  // COPY ... FROM STDIN. The connection serves nothing else until CopyIn is finished or destroyed.
  Result<CopyIn> copy_in(const Sql& sql);
  // COPY ... TO STDOUT. `on_row` gets one row a time in the format of the statement
  // (`parse_copy_row` for text). Returns the number of rows. When `on_row` fails the connection is
  // closed.
  Result<std::int64_t> copy_out(const Sql& sql,
                                const std::function<Status(std::string_view)>& on_row);

  // Notifications sent while not connected are lost: read the state anew after each `listen`. A
  // session that listens does not belong into the pool.
  Status listen(const SqlIdent& channel);
  // The next one, or none when `until` passed. The connection stays open then.
  Result<std::optional<Notification>> wait_notify(Deadline until);

  // One round trip that does nothing.
  Status ping();
  // Without a round trip: false when the server has closed the session.
  bool is_alive();

  // False after close, a lost connection or a wait that timed out; every call then is kUnavailable.
  bool is_open() const { return handle_ != nullptr; }
  // False also when the session should not be reused (a cached plan is out of date).
  bool is_reusable() const { return is_open() && !is_stale_; }
  void close();

  TransactionState transaction_state() const;
  int backend_pid() const;
  int server_version() const;  // 150012 for 15.12
  const Cost& cost() const { return cost_; }
  std::size_t cached_statements() const;

 private:
  friend class AsyncConnection;
  friend class Transaction;
  friend class CopyIn;
  struct Deleter {
    void operator()(pg_conn* handle) const;
  };
  using Handle = std::unique_ptr<pg_conn, Deleter>;
  struct Exchange;  // one batch on its way

  Connection(Handle handle, const PgConfig& config, CostCounters* totals);
  Status set_up(const PgConfig& config);

  // `before` and `after` (may be null) are sent around the statements and their results are
  // dropped.
  Result<std::vector<ResultSet>> run(const Statement* before, std::span<const Statement> statements,
                                     const Statement* after);
  // The results of all of the statements when all were read ahead; they are taken out.
  std::optional<std::vector<ResultSet>> take_ahead(std::span<const Statement> statements);
  bool send(Exchange& exchange, const Statement& statement, std::ptrdiff_t index);
  bool send_evicted(Exchange& exchange);
  Status receive(Exchange& exchange);
  Status accept(Exchange& exchange, ResultHandle result);
  Status accept_failure(Exchange& exchange, const pg_result* result);

  Status check_usable() const;
  // Waits until libpq has a result (or the connection breaks), sending what is queued meanwhile.
  Status wait_result();
  Status flush();
  // poll(2) until `until`; false when that time passed.
  Result<bool> wait_socket(short events, Deadline until);
  Error timed_out();
  Error lost();
  Status pipeline_mode(bool on);
  // Without pipeline mode. `start` sends by the simple protocol and awaits the first result;
  // `finish` takes the results that remain and answers the first failure among them and `first`.
  Result<ResultHandle> start_simple(const Sql& sql);
  Result<ResultHandle> next_result();
  Status finish_simple(Status first, std::string_view what);
  // The Error of a failed result; closes the connection when the server has ended the session.
  Error failed(const pg_result* result, std::string_view what);
  void count(const Cost& cost);

  Handle handle_;
  Deadline deadline_;
  std::unique_ptr<StatementCache> cache_;
  CostCounters* totals_ = nullptr;
  Cost cost_;
  std::vector<std::pair<Statement, ResultSet>> ahead_;  // of the open transaction
  bool is_stale_ = false;
  bool was_single_row_ = false;  // see run
};

}  // namespace duckicelake::pg
