// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/log.h"
#include "app/request_metrics.h"
#include "app/settings.h"
#include "rest/observer.h"

namespace duckicelake::app {

// Counts every answered request, writes its access line at the level that the settings name, and
// logs once what went wrong on our side (5xx), with its cause. Thread-safe; both must outlive it.
class RequestLog final : public rest::RequestObserver {
 public:
  RequestLog(Logger& logger, RequestMetrics& metrics, AccessLog access);
  void on_request(const rest::RequestRecord& record) noexcept override;

 private:
  void log_access(const rest::RequestRecord& record);
  void log_failure(const rest::RequestRecord& record);

  Logger& logger_;
  RequestMetrics& metrics_;
  const bool writes_access_;
  const LogLevel access_level_;
};

}  // namespace duckicelake::app
