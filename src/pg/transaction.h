// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "pg/connection.h"

namespace duckicelake::pg {

enum class Isolation { kReadCommitted, kRepeatableRead, kSerializable };
enum class Access { kReadWrite, kReadOnly };

struct TransactionOptions {
  Isolation isolation = Isolation::kReadCommitted;
  Access access = Access::kReadWrite;
};

Statement begin_statement(const TransactionOptions& options);
Statement commit_statement(Access access = Access::kReadWrite);
// For batches that put each of several commits behind its own savepoint.
Statement savepoint_statement(const SqlIdent& name);
Statement release_statement(const SqlIdent& name);

// One transaction on a connection, rolled back when destroyed before `commit`. BEGIN travels with
// the first statement and costs no round trip of its own; a transaction that was never used costs
// nothing. The connection serves this transaction alone meanwhile.
class Transaction {
 public:
  // Pre-condition: the connection has no open transaction (otherwise the first use is kInternal).
  explicit Transaction(Connection& connection, const TransactionOptions& options = {});
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  // As those of Connection. After a failure only `rollback_to` and `rollback` can follow.
  Result<ResultSet> exec(const Statement& statement);
  Result<ResultSet> exec(const Sql& sql, std::vector<Param> params = {});
  Result<std::vector<ResultSet>> batch(std::span<const Statement> statements);

  // Sends the statement together with the next one, in order and without a round trip of its own.
  // Its rows are dropped; its failure is that of the call it goes with. What nothing follows is
  // sent by `commit`.
  void defer(Statement statement);

  // Reads in one round trip what calls that follow will ask for one by one: until the transaction
  // ends each of them, here or on the connection, is answered from it once when its statements and
  // parameters are the same. What is not asked for is dropped. For transactions whose view of the
  // database stands still, and for rows that they do not change in between.
  Status read_ahead(std::span<const Statement> statements);

  // The connection, inside of the transaction, for COPY, scripts and streams.
  Result<Connection*> begun();

  // Success: the transaction is durable. kCommitStateUnknown: the connection was lost after COMMIT
  // was sent, or no answer came in time; it may or may not have happened (read-only transactions
  // have no such outcome). Any other Error: it was rolled back.
  Status commit();
  // The statements and COMMIT in one round trip.
  Result<std::vector<ResultSet>> commit_with(std::span<const Statement> statements);
  // Ends it now. A failure closes the connection, which has the same effect.
  void rollback();

  Status savepoint(const SqlIdent& name);
  // Takes back what came after the savepoint, which stays.
  Status rollback_to(const SqlIdent& name);
  Status release(const SqlIdent& name);

 private:
  enum class State { kNew, kOpen, kDone };
  Result<std::vector<ResultSet>> run(std::span<const Statement> statements, const Statement* after);
  Status check_open() const;

  Connection& connection_;
  std::vector<Statement> deferred_;
  Statement begin_;
  Access access_;
  State state_ = State::kNew;
};

}  // namespace duckicelake::pg
