// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/doctor_store.h"
#include "pg/connection.h"

namespace duckicelake::app {

// Names the registered catalogs that are not as they were registered: the lake is gone, or another
// one; what `init` adds is missing; two have a place in common.
void check_catalogs(Report& report, pg::Connection& connection, const Settings& settings);

}  // namespace duckicelake::app
