// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "app/application.h"
#include "app/backends.h"
#include "app/commands.h"
#include "app/signals.h"
#include "app/version.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kLogger = "duckicelake.server";
constexpr std::chrono::milliseconds kRetryPause{500};
// How often what nobody uses is let go.
constexpr std::chrono::minutes kTidyPeriod{5};

// Waits for PostgreSQL. false: a signal asked to stop meanwhile.
Result<bool> wait_for_postgres(const Settings& settings, pg::Pool& pool, Logger& logger) {
  const pg::Deadline give_up = pg::deadline_after(settings.listen.start_wait);
  while (true) {
    Result<pg::Lease> lease = pool.acquire(pg::deadline_after(settings.postgres.connect_timeout));
    if (lease) return true;
    if (pg::has_passed(give_up)) return std::move(lease).error();
    logger.log_error(LogLevel::kWarning, kLogger, "PostgreSQL is away; trying again",
                     lease.error());
    if (wait_signal(kRetryPause) == Signal::kStop) return false;
  }
}

void notice(const std::vector<std::string>& without_effect, Logger& logger) {
  for (const std::string& name : without_effect) {
    logger.log(LogLevel::kInfo, kLogger, "a setting of a feature still to come has no effect yet",
               {{"setting", std::string_view(name)}});
  }
}

void wait_for_end(Application& application, std::chrono::seconds idle, Logger& logger) {
  const std::chrono::milliseconds period = std::min<std::chrono::milliseconds>(kTidyPeriod, idle);
  while (true) {
    switch (wait_signal(period)) {
      case Signal::kNone: application.release_idle(); break;
      case Signal::kReload: {
        const Status reloaded = application.reload_tls();
        if (reloaded) {
          logger.log(LogLevel::kInfo, kLogger, "the certificate was read again");
        } else {
          logger.log_error(LogLevel::kWarning, kLogger, "the certificate stays as it was",
                           reloaded.error());
        }
        break;
      }
      case Signal::kStop: return;
    }
  }
}

Status serve(const Settings& settings, const std::vector<std::string>& without_effect,
             Logger& logger) {
  notice(without_effect, logger);
  DIL_TRY(std::unique_ptr<pg::Pool> pool, pg::Pool::make(postgres_config(settings)));
  DIL_TRY(const bool is_there, wait_for_postgres(settings, *pool, logger));
  if (!is_there) return {};
  DIL_TRY(Application::Prepared prepared, Application::prepare(settings, *pool, logger));
  DIL_TRY(std::unique_ptr<Application> application,
          Application::start(settings, std::move(pool), std::move(prepared), logger));
  logger.log(LogLevel::kInfo, kLogger, "ready",
             {{"address", std::string_view(settings.listen.host)},
              {"port", std::int64_t{application->port()}},
              {"tls", !settings.listen.tls_certificate_file.empty()},
              {"catalog", std::string_view(settings.catalog_id)},
              {"version", kVersion}});
  wait_for_end(*application, settings.catalog_idle, logger);
  logger.log(LogLevel::kInfo, kLogger, "draining");
  if (!application->drain()) {
    // It may be abandoned at any moment: what it has written is named by nothing before it is
    // complete.
    logger.log(LogLevel::kWarning, kLogger, "stopped while work was under way");
    logger.flush();
    std::_Exit(0);
  }
  application.reset();
  logger.log(LogLevel::kInfo, kLogger, "stopped");
  return {};
}

}  // namespace

int run_serve(const Settings& settings, const std::vector<std::string>& without_effect) {
  block_signals();
  Logger logger(settings.log_level, settings.log_format, STDERR_FILENO);
  const Status served = serve(settings, without_effect, logger);
  if (served) return 0;
  logger.log_error(LogLevel::kCritical, kLogger, "not served", served.error());
  return 1;
}

}  // namespace duckicelake::app
