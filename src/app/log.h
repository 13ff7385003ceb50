// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "base/error.h"

namespace duckicelake::app {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kCritical };
enum class LogFormat : std::uint8_t { kJson, kText };

std::string_view level_name(LogLevel level);  // "DEBUG", …

struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool> value;
};

// One line: {"ts":…,"level":…,"logger":…,"message":…, fields…} or its text form, with '\n'. Control
// characters and bytes that are not UTF-8 are escaped, so a line is a line whatever it quotes.
std::string format_log_line(LogFormat format, std::int64_t unix_micros, LogLevel level,
                            std::string_view logger, std::string_view message,
                            std::initializer_list<LogField> fields);

// Lines to a file descriptor, written by a thread of its own: a caller never waits for the reader
// of the log. At most kMaxPending bytes wait; what does not fit is dropped and counted in a later
// line. Thread-safe. Nothing here knows secrets: a Secret does not convert to a field, and an
// Error's cause is free of them by contract.
class Logger {
 public:
  static constexpr std::size_t kMaxPending = std::size_t{8} << 20;

  Logger(LogLevel least, LogFormat format, int fd);
  ~Logger();  // writes what waits
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  bool is_enabled(LogLevel level) const { return level >= least_; }
  void log(LogLevel level, std::string_view logger, std::string_view message,
           std::initializer_list<LogField> fields = {});
  // With the error's code, message and cause as fields.
  void log_error(LogLevel level, std::string_view logger, std::string_view message,
                 const Error& error);
  // Returns when what was logged before is written.
  void flush();

 private:
  void append(std::string_view line);
  void run();

  const LogLevel least_;
  const LogFormat format_;
  const int fd_;
  std::mutex pending_mutex_;  // guards all below but the thread
  std::condition_variable wake_;
  std::condition_variable written_;
  std::string pending_;
  std::uint64_t dropped_ = 0;
  bool is_writing_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace duckicelake::app
