// SPDX-License-Identifier: Apache-2.0
#include "pg/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include "pg/bound_params.h"
#include "pg/error.h"
#include "pg/poll.h"
#include "pg/statement_cache.h"

namespace duckicelake::pg {

namespace {

std::string_view severity_of(const pg_result* result) {
  const char* text = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

bool is_success(const pg_result* result) {
  switch (PQresultStatus(result)) {
    case PGRES_EMPTY_QUERY:
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK: return true;
    default: return false;
  }
}

}  // namespace

Result<bool> Connection::wait_socket(short events, Deadline until) {
  return poll_socket(PQsocket(handle_.get()), events, until);
}

Status Connection::wait_result() {
  for (;;) {
    const int queued = PQflush(handle_.get());
    if (queued < 0) return lost();
    if (PQisBusy(handle_.get()) == 0) return {};
    const short events = static_cast<short>(queued > 0 ? POLLIN | POLLOUT : POLLIN);
    DIL_TRY(const bool in_time, wait_socket(events, deadline_));
    if (!in_time) return timed_out();
    if (PQconsumeInput(handle_.get()) == 0) return lost();
  }
}

Status Connection::flush() {
  for (;;) {
    const int queued = PQflush(handle_.get());
    if (queued < 0) return lost();
    if (queued == 0) return {};
    // Reads too: a server that has something to say may not take more before it is heard.
    DIL_TRY(const bool in_time, wait_socket(POLLIN | POLLOUT, deadline_));
    if (!in_time) return timed_out();
    if (PQconsumeInput(handle_.get()) == 0) return lost();
  }
}

Result<ResultSet> Connection::exec(const Statement& statement) {
  DIL_TRY(std::vector<ResultSet> results, run(nullptr, {&statement, 1}, nullptr));
  return std::move(results.front());
}

Result<ResultSet> Connection::exec(const Sql& sql, std::vector<Param> params) {
  return exec(Statement{sql, std::move(params)});
}

Result<std::vector<ResultSet>> Connection::batch(std::span<const Statement> statements) {
  return run(nullptr, statements, nullptr);
}

Status Connection::ping() {
  const Statement statement{"SELECT 1", {}, Prepare::kOnce, "ping"};
  DIL_CHECK_OK(run(&statement, {}, nullptr));
  return {};
}

Error Connection::failed(const pg_result* result, std::string_view what) {
  Error error = result_error(result, what);
  const std::string_view severity = severity_of(result);
  if (severity.empty() || severity == "FATAL" || severity == "PANIC") close();
  return error;
}

Result<ResultHandle> Connection::next_result() {
  DIL_CHECK_OK(wait_result());
  return ResultHandle(PQgetResult(handle_.get()));
}

Result<ResultHandle> Connection::start_simple(const Sql& sql) {
  DIL_CHECK_OK(check_usable());
  if (has_passed(deadline_)) {
    return make_error(Code::kDeadlineExceeded, "the time for this operation is over");
  }
  DIL_CHECK_OK(pipeline_mode(false));
  if (PQsendQuery(handle_.get(), std::string(sql.text()).c_str()) != 1) return lost();
  count(Cost{1, 0, 1});
  DIL_TRY(ResultHandle result, next_result());
  if (!result) return lost();
  return result;
}

Status Connection::finish_simple(Status first, std::string_view what) {
  while (is_open()) {
    DIL_TRY(const ResultHandle result, next_result());
    if (!result) break;
    if (is_success(result.get())) continue;
    const ExecStatusType status = PQresultStatus(result.get());
    Error error = status == PGRES_FATAL_ERROR
                      ? failed(result.get(), what)
                      : make_error(Code::kInternal, "a database script may not contain COPY");
    // A COPY that nobody serves blocks the session.
    if (status != PGRES_FATAL_ERROR) close();
    if (first) first = std::move(error);
  }
  return first;
}

Status Connection::exec_script(const Sql& sql) {
  DIL_TRY(ResultHandle result, start_simple(sql));
  Status first;
  if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
    first = failed(result.get(), "script");
  } else if (!is_success(result.get())) {
    close();
    return make_error(Code::kInternal, "a database script may not contain COPY");
  }
  return finish_simple(std::move(first), "script");
}

Status Connection::for_each_row(const Statement& statement,
                                const std::function<Status(const Row&)>& on_row) {
  DIL_CHECK_OK(check_usable());
  DIL_CHECK_OK(check_params(statement.params));
  if (has_passed(deadline_)) {
    return make_error(Code::kDeadlineExceeded, "the time for this operation is over");
  }
  DIL_CHECK_OK(pipeline_mode(false));
  // Not prepared: planning is nothing beside the rows for which this is used.
  const BoundParams bound(statement);
  if (PQsendQueryParams(handle_.get(), std::string(statement.sql.text()).c_str(), bound.size(),
                        bound.types.data(), bound.values.data(), bound.lengths.data(),
                        bound.formats.data(), 0) != 1 ||
      PQsetSingleRowMode(handle_.get()) != 1) {
    return lost();
  }
  was_single_row_ = true;
  count(Cost{1, 0, 1});
  const std::string_view what = statement.name.empty() ? "unnamed" : statement.name;
  for (;;) {
    DIL_TRY(ResultHandle result, next_result());
    if (!result) return lost();
    if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
      return finish_simple(failed(result.get(), what), what);
    }
    const bool is_row = PQresultStatus(result.get()) == PGRES_SINGLE_TUPLE;
    if (!is_row && !is_success(result.get())) {
      close();
      return make_error(Code::kInternal, "a database statement has no rows to read");
    }
    if (!is_row) return finish_simple({}, what);
    count(Cost{0, 1, 0});
    const ResultSet rows(std::move(result));
    if (Status status = on_row(rows.row(0)); !status) {
      close();
      return status;
    }
  }
}

Status Connection::listen(const SqlIdent& channel) {
  DIL_CHECK_OK(exec(Statement{
      sql_with("LISTEN {channel}", {{"channel", channel}}), {}, Prepare::kOnce, "listen"}));
  return {};
}

Result<std::optional<Notification>> Connection::wait_notify(Deadline until) {
  DIL_CHECK_OK(check_usable());
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> notify(PQnotifies(handle_.get()),
                                                                 &PQfreemem);
    if (notify) {
      return std::optional<Notification>(
          Notification{notify->relname, notify->extra, notify->be_pid});
    }
    DIL_TRY(const bool in_time, wait_socket(POLLIN, until));
    if (!in_time) return std::optional<Notification>();
    if (PQconsumeInput(handle_.get()) == 0) return lost();
  }
}

}  // namespace duckicelake::pg
