// SPDX-License-Identifier: Apache-2.0
#include "app/request_log.h"

#include <new>

namespace duckicelake::app {
namespace {

constexpr std::size_t kShownTarget = 512;  // bytes of a request's target in a line

double milliseconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

RequestLog::RequestLog(Logger& logger, RequestMetrics& metrics, AccessLog access)
    : logger_(logger),
      metrics_(metrics),
      writes_access_(
          access != AccessLog::kOff &&
          logger.is_enabled(access == AccessLog::kInfo ? LogLevel::kInfo : LogLevel::kDebug)),
      access_level_(access == AccessLog::kInfo ? LogLevel::kInfo : LogLevel::kDebug) {}

void RequestLog::on_request(const rest::RequestRecord& record) noexcept {
  metrics_.record(record.route, record.method, record.status, record.duration);
  // Memory may run out while a line is made; the answer goes out all the same.
  try {
    if (writes_access_) log_access(record);
    // 501 says what the client asked for, not what went wrong here.
    if (record.status >= 500 && record.status != 501) log_failure(record);
  } catch (const std::bad_alloc&) {
    return;
  }
}

void RequestLog::log_access(const rest::RequestRecord& record) {
  logger_.log(access_level_, "duckicelake.access", "request",
              {{"request_id", record.request_id},
               {"method", rest::method_name(record.method)},
               {"route", rest::route_path(record.route)},
               {"target", record.target.substr(0, kShownTarget)},
               {"status", std::int64_t{record.status}},
               {"duration_ms", milliseconds_of(record.duration)},
               {"request_bytes", std::uint64_t{record.request_bytes}},
               {"response_bytes", std::uint64_t{record.response_bytes}},
               {"caller", record.caller},
               {"peer", record.peer_address}});
}

void RequestLog::log_failure(const rest::RequestRecord& record) {
  // 503 passes by itself; the others are faults.
  const LogLevel level = record.status == 503 ? LogLevel::kWarning : LogLevel::kError;
  if (!logger_.is_enabled(level)) return;
  const std::string_view message = record.message.empty() ? "not answered" : record.message;
  logger_.log(level, "duckicelake.request", message,
              {{"request_id", record.request_id},
               {"method", rest::method_name(record.method)},
               {"route", rest::route_path(record.route)},
               {"target", record.target.substr(0, kShownTarget)},
               {"status", std::int64_t{record.status}},
               {"error", record.error ? code_name(*record.error) : std::string_view()},
               {"cause", record.cause}});
}

}  // namespace duckicelake::app
