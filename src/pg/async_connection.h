// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"

namespace duckicelake::pg {

// A session for an event loop that waits for its socket: after `connect` no call waits. It knows a
// fixed list of prepared statements and runs one at a time. For one thread at a time, `connect`
// perhaps on another. The loop has its own clock: no deadline is looked at here.
//
// A call that fails because the session has ended, or is out of step with the server, closes it.
class AsyncConnection {
 public:
  // Blocking. Opens and sets up a session as Connection::connect does, and prepares the statements
  // (their parameters give the types).
  static Result<AsyncConnection> connect(const PgConfig& config,
                                         std::span<const Statement> statements, Deadline deadline,
                                         CostCounters* totals = nullptr);

  // Pre-condition of both: is_open().
  int socket() const;
  // What was sent has not all left: wait until the socket can be written, too.
  bool wants_write() const { return wants_write_; }

  bool is_open() const { return connection_.is_open(); }
  // A statement was sent and its result is still to come.
  bool is_busy() const { return is_busy_; }
  void close();

  // Sends the prepared statement. Pre-condition: !is_busy().
  Status send(std::size_t statement, const std::vector<Param>& params);
  // Takes what the socket has: to be called when it can be read (or written, if that was wanted).
  // nullopt: the result is not complete yet, or none is due. An Error while none is due: the server
  // has ended the session.
  Result<std::optional<ResultSet>> receive();

 private:
  AsyncConnection(Connection connection, std::span<const Statement> statements);
  Status prepare(std::size_t index, const Statement& statement);
  Status flush();
  Result<std::optional<ResultSet>> finish();

  Connection connection_;
  std::vector<std::string> labels_;  // of the statements, for the log
  std::size_t current_ = 0;          // the statement under way
  bool is_busy_ = false;
  bool wants_write_ = false;
  std::optional<Result<ResultSet>> result_;  // came, and its end did not yet
};

}  // namespace duckicelake::pg
