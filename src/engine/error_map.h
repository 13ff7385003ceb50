// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <duckdb.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::engine {

// What a failure means when DuckDB's own kind does not settle it: bytes that do not parse when
// reading a file, a query that does not bind when describing a view.
struct Operation {
  std::string what;  // shown to the caller: "reading s3://…"
  Code fallback = Code::kInternal;
};

// The kind of a DuckDB error from its type and, for I/O, its text.
Code classify_duckdb_error(duckdb_error_type type, std::string_view message, Code fallback);

// The caller sees `operation.what` and a short reason for the kind; `cause` (DuckDB's text: paths,
// SQL) is for the log.
Error make_engine_error(Code code, std::string_view cause, const Operation& operation);

}  // namespace duckicelake::engine
