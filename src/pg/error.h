// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

struct pg_conn;
struct pg_result;

namespace duckicelake::pg {

inline constexpr std::string_view kSerializationFailure = "40001";
inline constexpr std::string_view kDeadlockDetected = "40P01";
inline constexpr std::string_view kUniqueViolation = "23505";

// The SQLSTATE of an Error that came from PostgreSQL, whatever was added to its message on the way
// up; empty for an error of another origin (a lost connection has none).
std::string_view sqlstate(const Error& error);

// The name of the constraint or unique index that the statement violated; empty when there is none.
std::string constraint_name(const Error& error);

// 40001 or 40P01: the whole transaction may succeed when it is run again.
bool is_serialization_conflict(const Error& error);
bool is_unique_violation(const Error& error, std::string_view constraint);

// Which kind of failure a SQLSTATE is:
//   08*, 53*, 57P0*, 25006, 25P03, 55P03 -> kUnavailable; 57014 -> kDeadlineExceeded;
//   40001, 40P01 -> kCommitFailed; 40003 -> kCommitStateUnknown; 22021, 22P05 -> kInvalidArgument;
//   others -> kInternal.
Code code_for_sqlstate(std::string_view state);

// The Error of a failed result. `what` names the statement for the log ("statement 2 (load head)").
// The message is fit for a caller; the server's words are in the cause.
Error result_error(const pg_result* result, std::string_view what);

// The Error of a connection that could not be made or was lost.
Error connection_error(std::string_view message, std::string_view cause);

}  // namespace duckicelake::pg
