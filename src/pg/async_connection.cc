// SPDX-License-Identifier: Apache-2.0
#include "pg/async_connection.h"

#include <libpq-fe.h>

#include "pg/bound_params.h"
#include "pg/error.h"

namespace duckicelake::pg {
namespace {

std::string name_of(std::size_t statement) { return fmt::format("a{}", statement); }

}  // namespace

AsyncConnection::AsyncConnection(Connection connection, std::span<const Statement> statements)
    : connection_(std::move(connection)) {
  for (const Statement& statement : statements) {
    labels_.emplace_back(statement.name.empty() ? std::string_view("unnamed") : statement.name);
  }
}

Result<AsyncConnection> AsyncConnection::connect(const PgConfig& config,
                                                 std::span<const Statement> statements,
                                                 Deadline deadline, CostCounters* totals) {
  DIL_TRY(Connection connection, Connection::connect(config, deadline, totals));
  DIL_CHECK_OK(connection.pipeline_mode(false));
  AsyncConnection out(std::move(connection), statements);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    DIL_CHECK_OK(out.prepare(i, statements[i]));
  }
  return out;
}

Status AsyncConnection::prepare(std::size_t index, const Statement& statement) {
  const BoundParams bound(statement.params);
  if (PQsendPrepare(connection_.handle_.get(), name_of(index).c_str(),
                    std::string(statement.sql.text()).c_str(), bound.size(),
                    bound.types.data()) != 1) {
    return connection_.lost();
  }
  connection_.count(Cost{0, 0, 1});
  DIL_TRY(const ResultHandle result, connection_.next_result());
  if (!result) return connection_.lost();
  Status prepared;
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    prepared = connection_.failed(result.get(), labels_[index]);
  }
  return connection_.finish_simple(std::move(prepared), labels_[index]);
}

int AsyncConnection::socket() const { return PQsocket(connection_.handle_.get()); }

void AsyncConnection::close() {
  connection_.close();
  is_busy_ = false;
  wants_write_ = false;
  result_.reset();
}

Status AsyncConnection::flush() {
  const int left = PQflush(connection_.handle_.get());
  if (left < 0) {
    Error error = connection_.lost();
    close();
    return error;
  }
  wants_write_ = left > 0;
  return {};
}

Status AsyncConnection::send(std::size_t statement, const std::vector<Param>& params) {
  DIL_ASSERT(!is_busy_ && statement < labels_.size());
  DIL_CHECK_OK(connection_.check_usable());
  DIL_CHECK_OK(check_params(params));
  const BoundParams bound(params);
  if (PQsendQueryPrepared(connection_.handle_.get(), name_of(statement).c_str(), bound.size(),
                          bound.values.data(), bound.lengths.data(), bound.formats.data(),
                          0) != 1) {
    Error error = connection_.lost();
    close();
    return error;
  }
  is_busy_ = true;
  current_ = statement;
  return flush();
}

Result<std::optional<ResultSet>> AsyncConnection::receive() {
  DIL_CHECK_OK(connection_.check_usable());
  pg_conn* handle = connection_.handle_.get();
  if (PQconsumeInput(handle) == 0) {
    Error error = connection_.lost();
    close();
    return error;
  }
  if (wants_write_) DIL_CHECK_OK(flush());
  while (PQisBusy(handle) == 0) {
    if (!is_busy_) break;  // it was heard: a notice, or a parameter that changed
    ResultHandle result(PQgetResult(handle));
    if (!result) return finish();
    if (result_) continue;  // the first one counts
    if (PQresultStatus(result.get()) == PGRES_TUPLES_OK ||
        PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
      result_ = ResultSet(std::move(result));
    } else {
      result_ = tl::unexpected(connection_.failed(result.get(), labels_[current_]));
      if (connection_.is_open()) continue;
      Error error = std::move(*result_).error();
      close();
      return error;
    }
  }
  return std::nullopt;
}

Result<std::optional<ResultSet>> AsyncConnection::finish() {
  is_busy_ = false;
  Result<ResultSet> result =
      result_ ? std::move(*result_)
              : Result<ResultSet>(make_error(Code::kInternal, "the database gave no result"));
  result_.reset();
  if (!result) return std::move(result).error();
  connection_.count(Cost{1, result->size(), 1});
  return std::optional<ResultSet>(*std::move(result));
}

}  // namespace duckicelake::pg
