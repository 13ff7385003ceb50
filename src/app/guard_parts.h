// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/log.h"
#include "app/settings.h"
#include "base/result.h"
#include "catalog/guard.h"

namespace duckicelake::app {

// Who comes in by these settings: clients of the settings and of their file, other issuers. The
// settings must outlive it, and so must pool and logger. kInvalidArgument: authentication is asked
// for and there is nobody who could come in, or tokens could not be signed.
Result<std::unique_ptr<catalog::Guard>> make_guard(const Settings& settings, pg::Pool& pool,
                                                   const store::Lake& lake, Logger& logger);

}  // namespace duckicelake::app
