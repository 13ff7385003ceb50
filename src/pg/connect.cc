// SPDX-License-Identifier: Apache-2.0
// Opening, setting up and closing a session.
#include <libpq-fe.h>
#include <poll.h>

#include <array>

#include "pg/connection.h"
#include "pg/error.h"
#include "pg/poll.h"
#include "pg/statement_cache.h"

namespace duckicelake::pg {

namespace {

void drop_notice(void*, const char*) {}  // libpq's own processor writes to stderr

// What every session looks like, whatever the server, the role and the database have as defaults.
// client_connection_check_interval ends the work of a backend whose client has given up; only
// servers on Linux are sure to know it.
constexpr Sql kSetUp = R"(
SELECT set_config('search_path', 'pg_catalog', false),
       set_config('TimeZone', 'UTC', false),
       set_config('DateStyle', 'ISO, YMD', false),
       set_config('IntervalStyle', 'postgres', false),
       set_config('bytea_output', 'hex', false),
       set_config('extra_float_digits', '1', false),
       set_config('standard_conforming_strings', 'on', false),
       set_config('lock_timeout', '0', false),
       set_config('statement_timeout', $1, false),
       set_config('idle_in_transaction_session_timeout', $2, false),
       set_config('plan_cache_mode', $3, false),
       CASE WHEN current_setting('server_version_num')::int >= 140000 AND version() LIKE '%linux%'
            THEN set_config('client_connection_check_interval', '2s', false) END)";

std::string cause_of(pg_conn* handle) {
  std::string text = PQerrorMessage(handle);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Result<bool> poll_socket(int socket, short events, Deadline until) {
  for (;;) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    const auto wait = std::clamp(left, milliseconds(0), milliseconds(60'000));
    pollfd entry{socket, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(wait.count()));
    if (ready > 0) return true;  // errors and hang-ups too: the read that follows tells them
    if (ready < 0 && errno != EINTR) {
      return connection_error("waiting for the database failed", "poll failed");
    }
    if (has_passed(until)) return false;
  }
}

void Connection::Deleter::operator()(pg_conn* handle) const { PQfinish(handle); }

Connection::Connection(Handle handle, const PgConfig& config, CostCounters* totals)
    : handle_(std::move(handle)),
      cache_(std::make_unique<StatementCache>(config.statement_cache_size)),
      totals_(totals) {}

Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Connection> Connection::connect(const PgConfig& config, Deadline deadline,
                                       CostCounters* totals) {
  DIL_CHECK_OK(validate(config));
  std::string cause;
  for (const Endpoint& endpoint : config.endpoints) {
    const Deadline until = earlier(deadline, deadline_after(config.connect_timeout));
    const std::string port = std::to_string(endpoint.port);
    const char* target = config.session_target == SessionTarget::kReadWrite ? "read-write" : "any";
    // The address and the authentication are given here; PGHOST and the like cannot change them.
    const std::array<const char*, 16> keys = {"host",
                                              "port",
                                              "user",
                                              "password",
                                              "dbname",
                                              "sslmode",
                                              "sslrootcert",
                                              "application_name",
                                              "client_encoding",
                                              "gssencmode",
                                              "keepalives_idle",
                                              "keepalives_interval",
                                              "keepalives_count",
                                              "tcp_user_timeout",
                                              "target_session_attrs",
                                              nullptr};
    const std::array<const char*, 16> values = {endpoint.host.c_str(),
                                                port.c_str(),
                                                config.user.c_str(),
                                                config.password.reveal().c_str(),
                                                config.database.c_str(),
                                                config.sslmode.c_str(),
                                                config.sslrootcert.c_str(),
                                                config.application_name.c_str(),
                                                "UTF8",
                                                "disable",
                                                "30",
                                                "10",
                                                "3",
                                                "30000",
                                                target,
                                                nullptr};
    Handle handle(PQconnectStartParams(keys.data(), values.data(), 0));
    DIL_ASSERT(handle != nullptr);  // out of memory
    PQsetNoticeProcessor(handle.get(), drop_notice, nullptr);
    PostgresPollingStatusType next =
        PQstatus(handle.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    bool in_time = true;
    while (in_time && (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING)) {
      const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
      DIL_TRY(in_time, poll_socket(PQsocket(handle.get()), events, until));
      if (in_time) next = PQconnectPoll(handle.get());
    }
    if (in_time && next == PGRES_POLLING_OK) {
      Connection connection(std::move(handle), config, totals);
      connection.deadline_ = until;
      Status ready = connection.set_up(config);
      if (ready) {
        connection.deadline_ = deadline;
        return connection;
      }
      cause += fmt::format("{}:{}: {}; ", endpoint.host, port, ready.error().to_string());
    } else {
      cause += fmt::format("{}:{}: {}; ", endpoint.host, port,
                           in_time ? cause_of(handle.get()) : "no answer in time");
    }
    if (has_passed(deadline)) break;
  }
  return connection_error("the database cannot be reached", cause);
}

Status Connection::set_up(const PgConfig& config) {
  if (PQsetnonblocking(handle_.get(), 1) != 0) return lost();
  const char* plan =
      config.plan_cache_mode == PlanCacheMode::kForceGeneric ? "force_generic_plan" : "auto";
  const Statement statement{kSetUp,
                            {std::to_string(config.statement_timeout.count()),
                             std::to_string(config.idle_in_transaction_timeout.count()), plan},
                            Prepare::kOnce,
                            "set up the session"};
  DIL_CHECK_OK(run(&statement, {}, nullptr));
  return {};
}

void Connection::close() { handle_.reset(); }

Status Connection::check_usable() const {
  if (handle_) return {};
  return connection_error("the connection to the database was lost", "the connection is closed");
}

Error Connection::timed_out() {
  close();
  return make_error(Code::kDeadlineExceeded, "the database did not answer in time");
}

Error Connection::lost() {
  const std::string cause = handle_ ? cause_of(handle_.get()) : "the connection is closed";
  close();
  return connection_error("the connection to the database was lost", cause);
}

bool Connection::is_alive() {
  if (!handle_) return false;
  // A last message of the server and the end of the stream may wait one behind the other.
  for (int i = 0; i < 16; ++i) {
    pollfd entry{PQsocket(handle_.get()), POLLIN, 0};
    if (poll(&entry, 1, 0) == 0) return true;
    if (PQconsumeInput(handle_.get()) == 0 || PQstatus(handle_.get()) == CONNECTION_BAD) break;
    PQisBusy(handle_.get());  // parses what was read
  }
  close();
  return false;
}

TransactionState Connection::transaction_state() const {
  if (!handle_) return TransactionState::kUnknown;
  switch (PQtransactionStatus(handle_.get())) {
    case PQTRANS_IDLE: return TransactionState::kIdle;
    case PQTRANS_INTRANS: return TransactionState::kActive;
    case PQTRANS_INERROR: return TransactionState::kFailed;
    default: return TransactionState::kUnknown;
  }
}

int Connection::backend_pid() const { return handle_ ? PQbackendPID(handle_.get()) : 0; }

int Connection::server_version() const { return handle_ ? PQserverVersion(handle_.get()) : 0; }

std::size_t Connection::cached_statements() const { return cache_->size(); }

void Connection::count(const Cost& cost) {
  cost_.statements += cost.statements;
  cost_.rows_read += cost.rows_read;
  cost_.round_trips += cost.round_trips;
  if (totals_ != nullptr) totals_->add(cost);
}

}  // namespace duckicelake::pg
