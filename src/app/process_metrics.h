// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/metrics_text.h"

namespace duckicelake::app {

// process_* as Prometheus' client libraries name them, read from /proc/self, and
// duckicelake_build_info. What the system does not tell is left out.
void write_process_metrics(MetricsText& out);

}  // namespace duckicelake::app
