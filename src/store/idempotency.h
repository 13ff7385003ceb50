// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/lake.h"

// What requests with an Idempotency-Key came to (REST specification, parameter idempotency-key).
namespace duckicelake::store {

// A request that carried a key. One key stands for one request: the same operation with the same
// body by the same principal.
struct IdempotencyRecord {
  std::string key;        // UUID version 7, lower case
  std::string principal;  // its id
  std::string operation;  // operationId of the specification
  std::string body_hash;  // of the target and the body; hex
};

// How a request ended: with the error that the caller was given, or else with a text of the use
// case from which the same answer can be made again (empty where the answer says nothing).
struct Outcome {
  std::optional<Error> error;
  std::string text;
};

// Whether the same request would come to the same error whenever it is made: such an error is kept
// for repetitions. Not so faults of the server, lack of rights, and lost races.
bool is_final(const Error& error);

// The outcome of the request if it ended already. kUnprocessable when the key stands for another
// one.
Result<std::optional<Outcome>> find_outcome(pg::Connection& connection, const Lake& lake,
                                            const IdempotencyRecord& record);

// The same, to begin a transaction that does what the request asks for, before it takes a slot: a
// repetition that comes meanwhile waits here for the end of the transaction.
Result<std::optional<Outcome>> claim_key(pg::Transaction& transaction, const Lake& lake,
                                         const IdempotencyRecord& record);

// Of several requests that share a transaction, in their order and in one round trip.
Result<std::vector<Result<std::optional<Outcome>>>> claim_keys(
    pg::Transaction& transaction, const Lake& lake,
    std::span<const IdempotencyRecord* const> records);

// Becomes durable with the transaction, so that a change and its outcome are there together or not
// at all. Also removes a few of the outcomes that are older than kOutcomeHours.
// Pre-condition: claim_key in the same transaction found none.
Status save_outcome(pg::Transaction& transaction, const Lake& lake, const IdempotencyRecord& record,
                    const Outcome& outcome);

inline constexpr int kOutcomeHours = 24;

}  // namespace duckicelake::store
