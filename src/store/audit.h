// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/lake.h"

// The record of decisions: rows are added, and go only by age.
namespace duckicelake::store {

// Who, as whom, what, on what, and what was decided. Decisions of reads that are alike in all but
// time and request may be one row: `repeats` of them, between `at` and `last_at`.
struct AuditRow {
  std::int64_t id = 0;         // of rows that were read
  std::string catalog_id;      // in whose record
  std::int64_t at_micros = 0;  // since the epoch
  std::int64_t last_at_micros = 0;
  std::int64_t repeats = 1;
  std::string principal;  // as whom
  std::string subject;    // who authenticated
  std::string actor;      // empty: not named
  std::string channel;
  std::string operation;
  std::string object;
  std::optional<std::int64_t> schema_id;
  std::optional<std::int64_t> object_id;
  std::string decision;  // "ok", "denied", "hidden", …
  std::string reason;
  std::string request_id;
  std::string last_request_id;
  std::string key_id;  // of a key that was given out; never its secret
  std::vector<std::string> masked_cols;
  std::vector<std::string> applied_policies;
  std::string detail;  // JSON; empty: none
};

// One statement for all rows.
pg::Statement insert_audit_statement(std::span<const AuditRow> rows);

struct AuditFilter {
  std::string principal;  // empty: all; so of the others
  std::string operation;
  std::string decision;
  std::string object;
  std::string request_id;
  std::optional<std::int64_t> from_micros;  // at or after
  std::optional<std::int64_t> to_micros;    // before
  std::optional<std::int64_t> before_id;    // older than this row
  std::int64_t limit = 200;
};
// The newest first.
Result<std::vector<AuditRow>> load_audit(pg::Connection& connection, const Lake& lake,
                                         const AuditFilter& filter);

// Removes rows that are older than so many days, at most `limit`; how many went. Its own
// transaction. Pre-condition: days > 0.
Result<std::int64_t> expire_audit(pg::Connection& connection, std::int64_t days,
                                  std::int64_t limit);

}  // namespace duckicelake::store
