// SPDX-License-Identifier: Apache-2.0
#include "engine/error_map.h"

#include <array>
#include <span>

namespace duckicelake::engine {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "… (HTTP 404 Not Found)" and "… (HTTP code 404)" give 404; 0 when the text names no status.
int http_status(std::string_view message) {
  constexpr std::string_view kMark = "(HTTP ";
  constexpr std::string_view kWord = "code ";
  const std::size_t at = message.rfind(kMark);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = message.substr(at + kMark.size());
  if (rest.starts_with(kWord)) rest.remove_prefix(kWord.size());
  if (rest.size() < 3) return 0;
  int status = 0;
  for (char c : rest.substr(0, 3)) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

Code classify_http(int status) {
  if (status == 404) return Code::kNotFound;
  // 401 and 403 mean that the engine's own keys are refused: the caller can do nothing about it.
  if (status == 401 || status == 403 || status == 400) return Code::kInternal;
  return Code::kUnavailable;
}

constexpr std::array<std::string_view, 11> kAway = {"Could not connect",
                                                    "Could not resolve",
                                                    "Could not establish",
                                                    "Timeout was reached",
                                                    "Unable to connect to Postgres",
                                                    "connection to server",
                                                    "server closed the connection",
                                                    "terminating connection",
                                                    "no connection to the server",
                                                    "the database system is",
                                                    "could not receive data from server"};

// PostgreSQL answers, but not as configured: trying again does not help.
constexpr std::array<std::string_view, 4> kRefused = {
    "password authentication failed", "no pg_hba.conf entry", "permission denied for",
    "FATAL:  database \""};

// PostgreSQL's words when somebody else made the same row, schema or table at the same moment.
constexpr std::array<std::string_view, 2> kLostRace = {"duplicate key value violates",
                                                       "\" already exists"};

constexpr std::array<std::string_view, 4> kGone = {
    "No files found that match the pattern", "No such file or directory", "(404", "Not Found"};

bool contains_any(std::string_view message, std::span<const std::string_view> parts) {
  for (std::string_view part : parts) {
    if (contains(message, part)) return true;
  }
  return false;
}

Code classify_io(std::string_view message) {
  if (const int status = http_status(message); status != 0) return classify_http(status);
  if (contains_any(message, kRefused)) return Code::kInternal;
  if (contains_any(message, kAway)) return Code::kUnavailable;
  if (contains_any(message, kGone)) return Code::kNotFound;
  if (contains(message, "Parquet files do not support")) return Code::kUnsupported;
  return Code::kUnavailable;
}

std::string_view short_reason(Code code) {
  switch (code) {
    case Code::kNotFound: return "the file does not exist";
    case Code::kUnavailable: return "a backend does not answer or memory ran out";
    case Code::kDeadlineExceeded: return "it took too long";
    case Code::kCorruptData: return "the content does not parse";
    case Code::kCommitFailed: return "another transaction was faster";
    case Code::kAlreadyExists: return "it exists already";
    case Code::kUnsupported: return "Parquet has no form for a value";
    case Code::kInvalidArgument: return "the statement does not bind";
    default: return "it failed";
  }
}

}  // namespace

Code classify_duckdb_error(duckdb_error_type type, std::string_view message, Code fallback) {
  switch (type) {
    case DUCKDB_ERROR_INTERRUPT: return Code::kDeadlineExceeded;
    case DUCKDB_ERROR_OUT_OF_MEMORY: return Code::kUnavailable;
    case DUCKDB_ERROR_TRANSACTION:
      return contains_any(message, kAway) ? Code::kUnavailable : Code::kCommitFailed;
    case DUCKDB_ERROR_HTTP:
    case DUCKDB_ERROR_IO:
    case DUCKDB_ERROR_NETWORK:
    case DUCKDB_ERROR_CONNECTION: return classify_io(message);
    case DUCKDB_ERROR_CATALOG:
      return contains(message, "already exists!") ? Code::kAlreadyExists : fallback;
    case DUCKDB_ERROR_MISSING_EXTENSION:
    case DUCKDB_ERROR_AUTOLOAD:
    case DUCKDB_ERROR_FATAL:
    case DUCKDB_ERROR_INTERNAL: return Code::kInternal;
    default:
      if (contains_any(message, kRefused)) return Code::kInternal;
      if (contains_any(message, kLostRace)) return Code::kCommitFailed;
      return contains_any(message, kAway) ? Code::kUnavailable : fallback;
  }
}

Error make_engine_error(Code code, std::string_view cause, const Operation& operation) {
  constexpr std::size_t kMaxCause = 2000;
  return Error(code, fmt::format("{}: {}", operation.what, short_reason(code)),
               std::string(cause.substr(0, kMaxCause)));
}

}  // namespace duckicelake::engine
