// SPDX-License-Identifier: Apache-2.0
// Batches of statements in libpq's pipeline mode ("Pipeline Mode" in the PostgreSQL documentation).
#include <libpq-fe.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "pg/bound_params.h"
#include "pg/connection.h"
#include "pg/error.h"
#include "pg/statement_cache.h"

namespace duckicelake::pg {

namespace {

constexpr std::ptrdiff_t kOutside = -1;  // of a step that belongs to no statement of the caller

bool ended_session(const pg_result* result) {
  const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == nullptr || std::string_view(severity) == "FATAL" ||
         std::string_view(severity) == "PANIC";
}

// A prepared statement that the server no longer has, or whose result type changed with its table.
bool shows_stale_plan(const pg_result* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
  return (state != nullptr && std::string_view(state) == "26000") ||
         (function != nullptr && std::string_view(function) == "RevalidateCachedQuery");
}

Error commit_unknown(const Error& error) {
  return Error(Code::kCommitStateUnknown, "it is not known whether the database has committed",
               error.to_string());
}

}  // namespace

struct Connection::Exchange {
  enum class Kind { kPrepare, kExecute, kDeallocate };
  struct Step {
    Kind kind;
    std::ptrdiff_t index = kOutside;  // of the caller's statement
    Effect effect = Effect::kPlain;
    std::string key;   // in the statement cache
    std::string name;  // on the server
    std::string_view label;
  };

  bool commit_is_open() const { return commit_sent && !commit_done && !error; }
  std::string what(const Step& step) const {
    const std::string_view label = step.label.empty() ? "unnamed" : step.label;
    return step.index == kOutside ? fmt::format("{}", label)
                                  : fmt::format("statement {} ({})", step.index, label);
  }

  std::vector<Step> steps;
  std::size_t next = 0;                                    // the step whose result comes next
  std::unordered_map<std::string, std::string> preparing;  // key -> name
  std::vector<ResultSet> results;
  std::uint64_t rows = 0;
  int syncs = 1;               // that are still to come
  std::optional<Error> error;  // the first failure
  bool commit_sent = false;
  bool commit_done = false;
};

Status Connection::pipeline_mode(bool on) {
  if ((PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF) == on) return {};
  const int done = on ? PQenterPipelineMode(handle_.get()) : PQexitPipelineMode(handle_.get());
  if (done == 1) return {};
  return Error(Code::kInternal, "the database connection is busy with another operation",
               PQerrorMessage(handle_.get()));
}

bool Connection::send(Exchange& exchange, const Statement& statement, std::ptrdiff_t index) {
  const BoundParams bound(statement);
  const std::string sql(statement.sql.text());
  exchange.commit_sent = exchange.commit_sent || statement.effect == Effect::kCommit;
  Exchange::Step step{Exchange::Kind::kExecute, index, statement.effect, {}, {}, statement.name};
  if (statement.prepare == Prepare::kOnce) {
    exchange.steps.push_back(std::move(step));
    return PQsendQueryParams(handle_.get(), sql.c_str(), bound.size(), bound.types.data(),
                             bound.values.data(), bound.lengths.data(), bound.formats.data(),
                             0) == 1;
  }
  std::string key = StatementCache::key_of(statement);
  std::string name = cache_->find(key);
  if (name.empty()) {
    auto [entry, is_new] = exchange.preparing.try_emplace(key);
    if (is_new) {
      entry->second = cache_->next_name();
      exchange.steps.push_back(Exchange::Step{Exchange::Kind::kPrepare, index, Effect::kPlain,
                                              std::move(key), entry->second, statement.name});
      if (PQsendPrepare(handle_.get(), entry->second.c_str(), sql.c_str(), bound.size(),
                        bound.types.data()) != 1) {
        return false;
      }
    }
    name = entry->second;
  }
  exchange.steps.push_back(std::move(step));
  return PQsendQueryPrepared(handle_.get(), name.c_str(), bound.size(), bound.values.data(),
                             bound.lengths.data(), bound.formats.data(), 0) == 1;
}

bool Connection::send_evicted(Exchange& exchange) {
  for (std::string& name : cache_->take_evicted()) {
    const std::string sql = "DEALLOCATE " + name;  // a name that next_name made: no quoting needed
    Exchange::Step step{
        Exchange::Kind::kDeallocate, kOutside, Effect::kPlain, {}, {}, "deallocate"};
    step.name = std::move(name);
    exchange.steps.push_back(std::move(step));
    if (PQsendQueryParams(handle_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) !=
        1) {
      return false;
    }
  }
  return true;
}

Status Connection::accept_failure(Exchange& exchange, const pg_result* result) {
  const Exchange::Step& step = exchange.steps[exchange.next];
  const bool has_ended = ended_session(result) || PQstatus(handle_.get()) == CONNECTION_BAD;
  if (shows_stale_plan(result)) {
    is_stale_ = true;
    cache_->clear();
  }
  if (!exchange.error && step.kind != Exchange::Kind::kDeallocate) {
    Error error = result_error(result, exchange.what(step));
    if (is_stale_) {
      // The next connection prepares it anew, so trying again is right.
      error = Error(Code::kUnavailable, "the database objects were changed at this moment",
                    error.cause());
    }
    // The session ended while the COMMIT was at work: it may have been done already. A session that
    // ended in an earlier statement never came to the COMMIT, unless it ended without a word.
    const bool had_word = PQresultErrorField(result, PG_DIAG_SQLSTATE) != nullptr;
    if (has_ended && exchange.commit_is_open() && (!had_word || step.effect == Effect::kCommit)) {
      error = commit_unknown(error);
    }
    exchange.error = std::move(error);
  }
  if (step.kind == Exchange::Kind::kDeallocate) is_stale_ = true;
  if (!has_ended) return {};
  close();
  return exchange.error ? *exchange.error
                        : connection_error("the connection to the database was lost", "");
}

Status Connection::accept(Exchange& exchange, ResultHandle result) {
  if (exchange.next >= exchange.steps.size()) {
    close();
    return make_error(Code::kInternal, "the database answered more than it was asked");
  }
  Exchange::Step& step = exchange.steps[exchange.next];
  switch (PQresultStatus(result.get())) {
    case PGRES_EMPTY_QUERY:
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK: {
      if (step.kind == Exchange::Kind::kPrepare) cache_->insert(step.key, step.name);
      if (step.kind != Exchange::Kind::kExecute) break;
      ResultSet rows(std::move(result));
      if (step.effect != Effect::kPlain) {
        // A COMMIT of a transaction that had failed succeeds as a ROLLBACK.
        exchange.commit_done = rows.command_tag() == "COMMIT";
        if (!exchange.commit_done && !exchange.error) {
          exchange.error = make_error(Code::kInternal,
                                      "the database transaction had failed and was rolled back");
        }
      }
      if (step.index != kOutside) {
        exchange.rows += rows.size();
        exchange.results.push_back(std::move(rows));
      }
      break;
    }
    case PGRES_PIPELINE_ABORTED:
      if (step.kind == Exchange::Kind::kDeallocate) cache_->restore_evicted(step.name);
      break;
    case PGRES_FATAL_ERROR: return accept_failure(exchange, result.get());
    default: {
      // COPY cannot be ended in pipeline mode.
      Error error = Error(Code::kInternal, "a database statement cannot be part of a batch",
                          exchange.what(step));
      close();
      return error;
    }
  }
  return {};
}

Status Connection::receive(Exchange& exchange) {
  bool separator_is_due = false;
  for (;;) {
    DIL_CHECK_OK(wait_result());
    ResultHandle result(PQgetResult(handle_.get()));
    if (!result) {
      if (!separator_is_due) return lost();
      separator_is_due = false;
      ++exchange.next;
      continue;
    }
    if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) {
      if (--exchange.syncs == 0) return {};
      continue;
    }
    // A broken connection may answer with its error at any place.
    if (separator_is_due) ++exchange.next;
    separator_is_due = true;
    DIL_CHECK_OK(accept(exchange, std::move(result)));
  }
}

std::optional<std::vector<ResultSet>> Connection::take_ahead(
    std::span<const Statement> statements) {
  std::vector<std::size_t> places;
  for (const Statement& statement : statements) {
    std::size_t place = 0;
    const auto is_same = [&](const Statement& known) {
      return known.sql.text() == statement.sql.text() && known.params == statement.params;
    };
    while (place < ahead_.size() &&
           (!is_same(ahead_[place].first) ||
            std::find(places.begin(), places.end(), place) != places.end())) {
      ++place;
    }
    if (place == ahead_.size()) return std::nullopt;
    places.push_back(place);
  }
  std::vector<ResultSet> out;
  for (const std::size_t place : places) out.push_back(std::move(ahead_[place].second));
  std::sort(places.begin(), places.end());
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    ahead_.erase(ahead_.begin() + static_cast<std::ptrdiff_t>(*place));
  }
  return out;
}

Result<std::vector<ResultSet>> Connection::run(const Statement* before,
                                               std::span<const Statement> statements,
                                               const Statement* after) {
  DIL_CHECK_OK(check_usable());
  if (before != nullptr || after != nullptr) {
    ahead_.clear();
  } else if (!ahead_.empty() && !statements.empty()) {
    if (auto known = take_ahead(statements)) return std::move(*known);
  }
  for (const Statement& statement : statements) DIL_CHECK_OK(check_params(statement.params));
  if (has_passed(deadline_)) {
    // Nothing was sent: the connection stays good.
    return make_error(Code::kDeadlineExceeded, "the time for this operation is over");
  }
  // A session that has ended already is told apart here from one that ends after it was asked:
  // nothing was sent, so nothing, a COMMIT in particular, can have happened.
  if (!is_alive()) {
    return connection_error("the connection to the database was lost",
                            "the server has ended the session before the statement was sent");
  }
  DIL_CHECK_OK(pipeline_mode(true));
  const bool began_idle = transaction_state() == TransactionState::kIdle;

  Exchange exchange;
  exchange.results.reserve(statements.size());
  // libpq 15 keeps single-row mode for the first command of a pipeline, and drops it at the second.
  // A Sync with nothing before it is that first command.
  bool sent = true;
  if (std::exchange(was_single_row_, false)) {
    exchange.syncs = 2;
    sent = PQpipelineSync(handle_.get()) == 1;
  }
  sent = sent && (before == nullptr || send(exchange, *before, kOutside));
  for (std::size_t i = 0; i < statements.size(); ++i) {
    sent = sent && send(exchange, statements[i], static_cast<std::ptrdiff_t>(i));
  }
  sent = sent && (after == nullptr || send(exchange, *after, kOutside));
  sent = sent && send_evicted(exchange) && PQpipelineSync(handle_.get()) == 1;
  // What was queued without its Sync is never executed, as closing the connection rolls it back.
  if (!sent) return lost();

  const Status received = receive(exchange);
  count(Cost{statements.size(), exchange.rows, 1});
  if (!received) {
    const bool all_done = exchange.results.size() == statements.size() && !exchange.error;
    if (exchange.commit_done && all_done) return std::move(exchange.results);
    if (exchange.commit_is_open()) return commit_unknown(received.error());
    return exchange.error ? *exchange.error : received.error();
  }
  if (!exchange.error) return std::move(exchange.results);
  if (began_idle && transaction_state() == TransactionState::kFailed) {
    const Statement rollback{"ROLLBACK", {}, Prepare::kOnce, "rollback"};
    if (!run(&rollback, {}, nullptr)) close();
  }
  return *exchange.error;
}

}  // namespace duckicelake::pg
