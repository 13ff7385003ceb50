// SPDX-License-Identifier: Apache-2.0
#include "pg/transaction.h"

namespace duckicelake::pg {

namespace {

// A rollback must also happen when the caller's time is over.
constexpr std::chrono::milliseconds kRollbackTime{1'000};

Sql isolation_text(Isolation isolation) {
  switch (isolation) {
    case Isolation::kReadCommitted: return "BEGIN ISOLATION LEVEL READ COMMITTED";
    case Isolation::kRepeatableRead: return "BEGIN ISOLATION LEVEL REPEATABLE READ";
    case Isolation::kSerializable: return "BEGIN ISOLATION LEVEL SERIALIZABLE";
  }
  return "BEGIN ISOLATION LEVEL SERIALIZABLE";
}

Statement once(Sql sql, std::string_view name) {
  return Statement{std::move(sql), {}, Prepare::kOnce, name};
}

}  // namespace

Statement begin_statement(const TransactionOptions& options) {
  const Sql access = options.access == Access::kReadOnly ? Sql(" READ ONLY") : Sql(" READ WRITE");
  return once(isolation_text(options.isolation) + access, "begin");
}

Statement commit_statement(Access access) {
  Statement statement = once("COMMIT", "commit");
  statement.effect = access == Access::kReadOnly ? Effect::kReadOnlyCommit : Effect::kCommit;
  return statement;
}

Statement savepoint_statement(const SqlIdent& name) {
  return once(sql_with("SAVEPOINT {name}", {{"name", name}}), "savepoint");
}

Statement release_statement(const SqlIdent& name) {
  return once(sql_with("RELEASE SAVEPOINT {name}", {{"name", name}}), "release savepoint");
}

Transaction::Transaction(Connection& connection, const TransactionOptions& options)
    : connection_(connection), begin_(begin_statement(options)), access_(options.access) {}

Transaction::~Transaction() { rollback(); }

Status Transaction::check_open() const {
  if (state_ != State::kDone) return {};
  return make_error(Code::kInternal, "the database transaction has ended already");
}

Result<std::vector<ResultSet>> Transaction::run(std::span<const Statement> statements,
                                                const Statement* after) {
  DIL_CHECK_OK(check_open());
  const bool is_first = state_ == State::kNew;
  if (is_first && connection_.is_open() &&
      connection_.transaction_state() != TransactionState::kIdle) {
    state_ = State::kDone;
    return make_error(Code::kInternal, "a database transaction is open on this connection already");
  }
  const std::vector<Statement> deferred = std::exchange(deferred_, {});
  std::vector<Statement> joined;
  if (!deferred.empty()) {
    joined = deferred;
    joined.insert(joined.end(), statements.begin(), statements.end());
    statements = joined;
  }
  Result<std::vector<ResultSet>> results =
      connection_.run(is_first ? &begin_ : nullptr, statements, after);
  if (results.has_value() && !deferred.empty()) {
    results->erase(results->begin(),
                   results->begin() + static_cast<std::ptrdiff_t>(deferred.size()));
  }
  // A first batch that fails takes its BEGIN back.
  state_ = after != nullptr || (is_first && !results) ? State::kDone : State::kOpen;
  if (state_ == State::kDone && connection_.is_open() &&
      connection_.transaction_state() != TransactionState::kIdle) {
    state_ = State::kOpen;
    rollback();
  }
  return results;
}

void Transaction::defer(Statement statement) { deferred_.push_back(std::move(statement)); }

Result<ResultSet> Transaction::exec(const Statement& statement) {
  DIL_TRY(std::vector<ResultSet> results, run({&statement, 1}, nullptr));
  return std::move(results.front());
}

Result<ResultSet> Transaction::exec(const Sql& sql, std::vector<Param> params) {
  return exec(Statement{sql, std::move(params)});
}

Result<std::vector<ResultSet>> Transaction::batch(std::span<const Statement> statements) {
  return run(statements, nullptr);
}

Status Transaction::read_ahead(std::span<const Statement> statements) {
  DIL_TRY(std::vector<ResultSet> results, run(statements, nullptr));
  for (std::size_t i = 0; i < statements.size(); ++i) {
    connection_.ahead_.emplace_back(statements[i], std::move(results[i]));
  }
  return {};
}

Result<Connection*> Transaction::begun() {
  DIL_CHECK_OK(check_open());
  if (state_ == State::kNew || !deferred_.empty()) DIL_CHECK_OK(run({}, nullptr));
  return &connection_;
}

Status Transaction::commit() {
  DIL_CHECK_OK(check_open());
  if (state_ == State::kNew && deferred_.empty()) {
    state_ = State::kDone;
    return {};
  }
  DIL_CHECK_OK(commit_with({}));
  return {};
}

Result<std::vector<ResultSet>> Transaction::commit_with(std::span<const Statement> statements) {
  const Statement commit = commit_statement(access_);
  return run(statements, &commit);
}

void Transaction::rollback() {
  const State before = std::exchange(state_, State::kDone);
  if (before != State::kOpen || !connection_.is_open()) return;
  const Deadline deadline = connection_.deadline();
  connection_.set_deadline(std::max(deadline, deadline_after(kRollbackTime)));
  const Statement statement = once("ROLLBACK", "rollback");
  if (!connection_.run(&statement, {}, nullptr)) connection_.close();
  connection_.set_deadline(deadline);
}

Status Transaction::savepoint(const SqlIdent& name) {
  DIL_CHECK_OK(exec(savepoint_statement(name)));
  return {};
}

Status Transaction::rollback_to(const SqlIdent& name) {
  DIL_CHECK_OK(
      exec(once(sql_with("ROLLBACK TO SAVEPOINT {name}", {{"name", name}}), "rollback to")));
  return {};
}

Status Transaction::release(const SqlIdent& name) {
  DIL_CHECK_OK(exec(release_statement(name)));
  return {};
}

}  // namespace duckicelake::pg
