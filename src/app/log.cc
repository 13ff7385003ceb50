// SPDX-License-Identifier: Apache-2.0
#include "app/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/bytes.h"
#include "json/writer.h"

namespace duckicelake::app {
namespace {

std::int64_t now_micros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// RFC 3339 in UTC with milliseconds.
std::string timestamp(std::int64_t unix_micros) {
  const std::time_t seconds = static_cast<std::time_t>(unix_micros / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     unix_micros / 1000 % 1000);
}

// Bare where that is unambiguous, else as a JSON string.
void append_text_value(std::string& out, std::string_view text) {
  bool is_bare = !text.empty();
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '\\' || c == '=') is_bare = false;
  }
  if (is_bare) {
    out.append(text);
  } else {
    json::append_string(out, text);
  }
}

std::string json_line(std::int64_t unix_micros, LogLevel level, std::string_view logger,
                      std::string_view message, std::initializer_list<LogField> fields) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  writer.member("ts", timestamp(unix_micros));
  writer.member("level", level_name(level));
  writer.member("logger", logger);
  writer.member("message", message);
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { writer.member(field.key, value); }, field.value);
  }
  writer.end_object();
  out.push_back('\n');
  return out;
}

std::string text_line(std::int64_t unix_micros, LogLevel level, std::string_view logger,
                      std::string_view message, std::initializer_list<LogField> fields) {
  std::string out = fmt::format("{} {} {}: ", timestamp(unix_micros), level_name(level), logger);
  // The message as it is, but for what would end the line or fool a terminal.
  std::string quoted;
  json::append_string(quoted, message);
  bool is_plain = is_valid_utf8(message);
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) is_plain = false;
  }
  out += is_plain ? std::string(message) : quoted;
  for (const LogField& field : fields) {
    out += fmt::format(" {}=", field.key);
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      append_text_value(out, *text);
    } else {
      std::visit(
          [&](const auto& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
              out += fmt::format("{}", value);
            }
          },
          field.value);
    }
  }
  out.push_back('\n');
  return out;
}

// A log that cannot be written any more must not stop the service: errors are ignored.
void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      ::pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, 1000);
    } else if (count < 0 && errno != EINTR) {
      return;
    }
  }
}

}  // namespace

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "DEBUG";
    case LogLevel::kInfo: return "INFO";
    case LogLevel::kWarning: return "WARNING";
    case LogLevel::kError: return "ERROR";
    case LogLevel::kCritical: return "CRITICAL";
  }
  return "ERROR";
}

std::string format_log_line(LogFormat format, std::int64_t unix_micros, LogLevel level,
                            std::string_view logger, std::string_view message,
                            std::initializer_list<LogField> fields) {
  return format == LogFormat::kJson ? json_line(unix_micros, level, logger, message, fields)
                                    : text_line(unix_micros, level, logger, message, fields);
}

Logger::Logger(LogLevel least, LogFormat format, int fd)
    : least_(least), format_(format), fd_(fd), thread_([this] { run(); }) {}

Logger::~Logger() {
  {
    std::lock_guard lock(pending_mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Logger::log(LogLevel level, std::string_view logger, std::string_view message,
                 std::initializer_list<LogField> fields) {
  if (is_enabled(level)) {
    append(format_log_line(format_, now_micros(), level, logger, message, fields));
  }
}

void Logger::log_error(LogLevel level, std::string_view logger, std::string_view message,
                       const Error& error) {
  log(level, logger, message,
      {{"error", code_name(error.code())},
       {"detail", std::string_view(error.message())},
       {"cause", std::string_view(error.cause())}});
}

void Logger::append(std::string_view line) {
  bool was_empty = false;
  {
    std::lock_guard lock(pending_mutex_);
    if (pending_.size() + line.size() > kMaxPending) {
      ++dropped_;
      return;
    }
    was_empty = pending_.empty();
    pending_ += line;
  }
  if (was_empty) wake_.notify_one();
}

void Logger::flush() {
  std::unique_lock lock(pending_mutex_);
  written_.wait(lock, [this] { return pending_.empty() && !is_writing_; });
}

void Logger::run() {
  std::unique_lock lock(pending_mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    std::string bytes = std::move(pending_);
    pending_.clear();
    if (dropped_ > 0) {
      bytes += format_log_line(format_, now_micros(), LogLevel::kWarning, "duckicelake.log",
                               "log lines were dropped", {{"lines", dropped_}});
      dropped_ = 0;
    }
    is_writing_ = true;
    lock.unlock();
    write_all(fd_, bytes);
    lock.lock();
    is_writing_ = false;
    written_.notify_all();
  }
}

}  // namespace duckicelake::app
