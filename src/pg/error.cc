// SPDX-License-Identifier: Apache-2.0
#include "pg/error.h"

#include <libpq-fe.h>

#include "base/result.h"

namespace duckicelake::pg {

namespace {

// The cause begins `sqlstate=XXXXX constraint="..." ` so that it can be read back.
constexpr std::string_view kStateMark = "sqlstate=";
constexpr std::string_view kConstraintMark = " constraint=\"";
constexpr std::size_t kStateLength = 5;

std::string_view field(const pg_result* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::string_view message_for(std::string_view state, Code code) {
  if (state == "42501") {
    return "the database role lacks a right that this operation needs; `doctor` lists the rights";
  }
  if (state == "25006") return "the database is read-only at present";
  if (state == "55P03") return "the database object is locked by another session";
  if (state.substr(0, 2) == "53") return "the database is out of resources at present";
  if (state == "42P01" || state == "42703" || state == "3F000" || state == "42883") {
    return "the database lacks a table, column or function that is expected";
  }
  switch (code) {
    case Code::kUnavailable: return "the database is not available at present";
    case Code::kDeadlineExceeded: return "the database did not finish in time";
    case Code::kCommitFailed: return "the database transaction met a concurrent one";
    case Code::kCommitStateUnknown: return "it is not known whether the database has committed";
    case Code::kInvalidArgument: return "a text is not valid UTF-8 for the database";
    default: return "the database refused a statement";
  }
}

}  // namespace

Code code_for_sqlstate(std::string_view state) {
  const std::string_view group = state.substr(0, 2);
  if (state == kSerializationFailure || state == kDeadlockDetected) return Code::kCommitFailed;
  if (state == "40003") return Code::kCommitStateUnknown;
  if (state == "57014") return Code::kDeadlineExceeded;
  if (group == "08" || group == "53" || state.substr(0, 4) == "57P0" || state == "25006" ||
      state == "25P03" || state == "55P03") {
    return Code::kUnavailable;
  }
  if (state == "22021" || state == "22P05") return Code::kInvalidArgument;
  return Code::kInternal;
}

std::string_view sqlstate(const Error& error) {
  std::string_view cause = error.cause();
  if (cause.substr(0, kStateMark.size()) != kStateMark) return {};
  return cause.substr(kStateMark.size(), kStateLength);
}

std::string constraint_name(const Error& error) {
  if (sqlstate(error).empty()) return {};
  std::string_view cause = error.cause();
  const std::size_t begin = kStateMark.size() + kStateLength;
  if (cause.substr(begin, kConstraintMark.size()) != kConstraintMark) return {};
  std::string name;
  for (std::size_t i = begin + kConstraintMark.size(); i < cause.size(); ++i) {
    if (cause[i] == '"') {
      if (i + 1 == cause.size() || cause[i + 1] != '"') break;
      ++i;
    }
    name.push_back(cause[i]);
  }
  return name;
}

bool is_serialization_conflict(const Error& error) {
  const std::string_view state = sqlstate(error);
  return state == kSerializationFailure || state == kDeadlockDetected;
}

bool is_unique_violation(const Error& error, std::string_view constraint) {
  return sqlstate(error) == kUniqueViolation && constraint_name(error) == constraint;
}

Error result_error(const pg_result* result, std::string_view what) {
  const std::string_view state = field(result, PG_DIAG_SQLSTATE);
  if (state.size() != kStateLength) {
    return connection_error("the connection to the database was lost",
                            fmt::format("{}: {}", what, PQresultErrorMessage(result)));
  }
  const Code code = code_for_sqlstate(state);
  std::string cause = fmt::format("{}{}", kStateMark, state);
  if (const std::string_view constraint = field(result, PG_DIAG_CONSTRAINT_NAME);
      !constraint.empty()) {
    cause += kConstraintMark;
    for (char c : constraint) {
      if (c == '"') cause.push_back('"');
      cause.push_back(c);
    }
    cause.push_back('"');
  }
  // Not the detail: it quotes values of rows. The log names the constraint instead.
  cause += fmt::format(" {}: {}", what, field(result, PG_DIAG_MESSAGE_PRIMARY));
  if (const std::string_view hint = field(result, PG_DIAG_MESSAGE_HINT); !hint.empty()) {
    cause += fmt::format(" ({})", hint);
  }
  return Error(code, std::string(message_for(state, code)), std::move(cause));
}

Error connection_error(std::string_view message, std::string_view cause) {
  while (!cause.empty() && cause.back() == '\n') cause.remove_suffix(1);
  return Error(Code::kUnavailable, std::string(message), std::string(cause));
}

}  // namespace duckicelake::pg
