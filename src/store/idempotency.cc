// SPDX-License-Identifier: Apache-2.0
#include "store/idempotency.h"

#include <array>

namespace duckicelake::store {
namespace {

using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr Sql kFind =
    "SELECT principal, operation, body_hash, error, body FROM duckicelake.idempotency "
    "WHERE catalog_id = $1 AND key = $2::uuid";

constexpr Sql kClaim =
    "SELECT pg_advisory_xact_lock(hashtextextended('duckicelake key ' || $1 || ' ' || $2, 0))";

constexpr Sql kSave =
    "INSERT INTO duckicelake.idempotency (catalog_id, key, principal, operation, body_hash, error, "
    "body) VALUES ($1, $2::uuid, $3, $4, $5, $6, $7)";

// A few for each new one, so that the table does not grow for ever. Rows that another transaction
// removes at this moment are left to it.
constexpr Sql kCollect =
    "DELETE FROM duckicelake.idempotency WHERE ctid = ANY (ARRAY(SELECT ctid FROM "
    "duckicelake.idempotency WHERE created_at < now() - make_interval(hours => $1::int) "
    "ORDER BY created_at LIMIT 20 FOR UPDATE SKIP LOCKED))";

// The codes of which is_final holds, by the names under which they are stored.
constexpr std::array kFinal = {
    Code::kInvalidArgument,   Code::kNoSuchWarehouse, Code::kNoSuchNamespace, Code::kNoSuchTable,
    Code::kNoSuchView,        Code::kNotFound,        Code::kUnsupported,     Code::kAlreadyExists,
    Code::kNamespaceNotEmpty, Code::kUnprocessable,
};

Result<std::optional<Outcome>> read_outcome(const pg::ResultSet& rows,
                                            const IdempotencyRecord& record) {
  if (rows.empty()) return std::optional<Outcome>();
  RowReader in(rows.row(0));
  const std::string principal = in.text();
  const std::string operation = in.text();
  const std::string body_hash = in.text();
  const std::optional<std::string> error = in.optional_text();
  Outcome out;
  out.text = in.text();
  DIL_CHECK_OK(in.status());
  if (principal != record.principal || operation != record.operation ||
      body_hash != record.body_hash) {
    return Error(Code::kUnprocessable,
                 "the Idempotency-Key was used for another request; each request needs its own");
  }
  if (error) {
    Code code = Code::kInvalidArgument;
    for (const Code known : kFinal) {
      if (code_name(known) == *error) code = known;
    }
    out.error = Error(code, std::move(out.text));
    out.text.clear();
  }
  return std::optional<Outcome>(std::move(out));
}

Statement find_statement(const Lake& lake, const IdempotencyRecord& record) {
  return {kFind, {lake.catalog_id, record.key}, pg::Prepare::kCached, "find outcome"};
}

}  // namespace

bool is_final(const Error& error) {
  for (const Code code : kFinal) {
    if (code == error.code()) return true;
  }
  return false;
}

Result<std::optional<Outcome>> find_outcome(pg::Connection& connection, const Lake& lake,
                                            const IdempotencyRecord& record) {
  DIL_TRY(pg::ResultSet rows, connection.exec(find_statement(lake, record)));
  return read_outcome(rows, record);
}

Result<std::vector<Result<std::optional<Outcome>>>> claim_keys(
    pg::Transaction& transaction, const Lake& lake,
    std::span<const IdempotencyRecord* const> records) {
  std::vector<Result<std::optional<Outcome>>> out;
  if (records.empty()) return out;
  std::vector<Statement> statements;
  for (const IdempotencyRecord* record : records) {
    statements.push_back(
        Statement{kClaim, {lake.catalog_id, record->key}, pg::Prepare::kCached, "claim key"});
  }
  for (const IdempotencyRecord* record : records) {
    statements.push_back(find_statement(lake, *record));
  }
  DIL_TRY(std::vector<pg::ResultSet> results, transaction.batch(statements));
  for (std::size_t i = 0; i < records.size(); ++i) {
    out.push_back(read_outcome(results[records.size() + i], *records[i]));
  }
  return out;
}

Result<std::optional<Outcome>> claim_key(pg::Transaction& transaction, const Lake& lake,
                                         const IdempotencyRecord& record) {
  const std::array<const IdempotencyRecord*, 1> one = {&record};
  DIL_TRY(auto outcomes, claim_keys(transaction, lake, one));
  return std::move(outcomes.front());
}

Status save_outcome(pg::Transaction& transaction, const Lake& lake, const IdempotencyRecord& record,
                    const Outcome& outcome) {
  std::optional<std::string> error;
  if (outcome.error) error = code_name(outcome.error->code());
  const std::string& body = outcome.error ? outcome.error->message() : outcome.text;
  transaction.defer(Statement{kSave,
                              {lake.catalog_id, record.key, record.principal, record.operation,
                               record.body_hash, error, body},
                              pg::Prepare::kCached,
                              "save outcome"});
  transaction.defer(Statement{kCollect, {kOutcomeHours}, pg::Prepare::kCached, "collect outcomes"});
  return {};
}

}  // namespace duckicelake::store
