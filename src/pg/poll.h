// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pg/deadline.h"

namespace duckicelake::pg {

// Waits for the events of poll(2) on the socket; false when `until` passed before one came.
Result<bool> poll_socket(int socket, short events, Deadline until);

}  // namespace duckicelake::pg
