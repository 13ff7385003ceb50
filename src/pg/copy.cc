// SPDX-License-Identifier: Apache-2.0
#include "pg/copy.h"

#include <libpq-fe.h>
#include <poll.h>

#include <memory>
#include <utility>

#include "pg/connection.h"
#include "pg/error.h"
#include "pg/value.h"

namespace duckicelake::pg {

namespace {
constexpr std::size_t kCopyBufferBytes = 64 * 1024;
}

Result<CopyIn> Connection::copy_in(const Sql& sql) {
  DIL_TRY(ResultHandle result, start_simple(sql));
  if (PQresultStatus(result.get()) == PGRES_COPY_IN) return CopyIn(*this);
  if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
    return finish_simple(failed(result.get(), "copy in"), "copy in").error();
  }
  close();
  return make_error(Code::kInternal, "a database statement is not COPY FROM STDIN");
}

CopyIn::CopyIn(CopyIn&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)), buffer_(std::move(other.buffer_)) {}

CopyIn::~CopyIn() {
  if (connection_ == nullptr || !connection_->is_open()) return;
  pg_conn* handle = connection_->handle_.get();
  if (PQputCopyEnd(handle, "canceled by the client") != 1) {
    connection_->close();
    return;
  }
  // The answer is the error that was asked for; a connection that does not give it is closed
  // inside.
  static_cast<void>(connection_->finish_simple({}, "copy in"));
}

Status CopyIn::send_buffer() {
  DIL_ASSERT(connection_ != nullptr);
  DIL_CHECK_OK(connection_->check_usable());
  for (;;) {
    const int queued =
        PQputCopyData(connection_->handle_.get(), buffer_.data(), static_cast<int>(buffer_.size()));
    if (queued < 0) return connection_->lost();
    // Flushed each time, or libpq's own buffer would take all the rows.
    DIL_CHECK_OK(connection_->flush());
    if (queued > 0) break;
  }
  buffer_.clear();
  return {};
}

Status CopyIn::row(std::span<const std::optional<std::string_view>> fields) {
  for (const std::optional<std::string_view>& field : fields) {
    if (field && field->find('\0') != std::string_view::npos) {
      return invalid_argument("text may not contain a NUL character");
    }
  }
  append_copy_row(buffer_, fields);
  return buffer_.size() < kCopyBufferBytes ? Status() : send_buffer();
}

Status CopyIn::raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kCopyBufferBytes - buffer_.size());
    buffer_ += part;
    bytes.remove_prefix(part.size());
    if (buffer_.size() >= kCopyBufferBytes) DIL_CHECK_OK(send_buffer());
  }
  return {};
}

Result<std::int64_t> CopyIn::finish() {
  if (!buffer_.empty()) DIL_CHECK_OK(send_buffer());
  Connection& connection = *std::exchange(connection_, nullptr);
  DIL_CHECK_OK(connection.check_usable());
  int queued = 0;
  while ((queued = PQputCopyEnd(connection.handle_.get(), nullptr)) == 0) {
    DIL_CHECK_OK(connection.flush());
  }
  if (queued < 0) return connection.lost();
  DIL_TRY(ResultHandle result, connection.next_result());
  if (!result) return connection.lost();
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    return connection.finish_simple(connection.failed(result.get(), "copy in"), "copy in").error();
  }
  const std::int64_t rows = ResultSet(std::move(result)).affected();
  DIL_CHECK_OK(connection.finish_simple({}, "copy in"));
  return rows;
}

Result<std::int64_t> Connection::copy_out(const Sql& sql,
                                          const std::function<Status(std::string_view)>& on_row) {
  DIL_TRY(ResultHandle first, start_simple(sql));
  if (PQresultStatus(first.get()) == PGRES_FATAL_ERROR) {
    return finish_simple(failed(first.get(), "copy out"), "copy out").error();
  }
  if (PQresultStatus(first.get()) != PGRES_COPY_OUT) {
    close();
    return make_error(Code::kInternal, "a database statement is not COPY TO STDOUT");
  }
  std::int64_t rows = 0;
  for (;;) {
    char* data = nullptr;
    const int length = PQgetCopyData(handle_.get(), &data, 1);
    const std::unique_ptr<char, decltype(&PQfreemem)> owner(data, &PQfreemem);
    if (length > 0) {
      ++rows;
      if (Status status = on_row({data, static_cast<std::size_t>(length)}); !status) {
        close();
        return std::move(status).error();
      }
    } else if (length == 0) {
      DIL_TRY(const bool in_time, wait_socket(POLLIN, deadline_));
      if (!in_time) return timed_out();
      if (PQconsumeInput(handle_.get()) == 0) return lost();
    } else if (length == -1) {
      break;
    } else {
      return lost();
    }
  }
  count(Cost{0, static_cast<std::uint64_t>(rows), 0});
  DIL_CHECK_OK(finish_simple({}, "copy out"));
  return rows;
}

}  // namespace duckicelake::pg
