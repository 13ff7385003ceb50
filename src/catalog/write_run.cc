// SPDX-License-Identifier: Apache-2.0
#include "catalog/write_run.h"

#include "catalog/audit.h"
#include "pg/error.h"

namespace duckicelake::catalog {
namespace {

constexpr int kMaxTries = 5;

Result<std::string> as_result(store::Outcome outcome) {
  if (outcome.error) return std::move(*outcome.error);
  return std::move(outcome.text);
}

class Run {
 public:
  Run(const Backends& backends, const WriteContext& context, pg::Deadline until, const Write& write)
      : backends_(backends), context_(context), until_(until), write_(write) {}

  Result<std::string> run() {
    for (int attempt = 1;; ++attempt) {
      bool is_unknown = false;
      Result<std::string> result = once(is_unknown);
      if (result.has_value()) return result;
      const bool can_retry = attempt < kMaxTries && !pg::has_passed(until_);
      if (can_retry && pg::is_serialization_conflict(result.error())) {
        if (context_.caller.trail != nullptr) context_.caller.trail->was_rolled_back();
        continue;
      }
      // The key tells what became of it: claiming it waits for the end of the lost transaction.
      if (is_unknown && can_retry && context_.idempotency) continue;
      if (!is_unknown) remember(result.error());
      return result;
    }
  }

 private:
  Result<std::string> once(bool& is_unknown) {
    DIL_TRY(std::optional<store::Outcome> before, look());
    if (before) return as_result(std::move(*before));
    if (write_.prepare) DIL_CHECK_OK(write_.prepare());
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(until_));
    pg::Transaction transaction(*lease);
    if (context_.idempotency) {
      DIL_TRY(std::optional<store::Outcome> known,
              store::claim_key(transaction, backends_.lake, *context_.idempotency));
      if (known) {
        is_known_ = true;
        return as_result(std::move(*known));
      }
    }
    DIL_TRY(std::string text, write_.apply(transaction));
    if (context_.caller.trail != nullptr) {
      context_.caller.trail->write_in(transaction);
    }
    if (context_.idempotency) {
      DIL_CHECK_OK(store::save_outcome(transaction, backends_.lake, *context_.idempotency,
                                       {std::nullopt, text}));
    }
    Status committed = transaction.commit();
    if (!committed.has_value()) {
      is_unknown = committed.error().code() == Code::kCommitStateUnknown;
      return std::move(committed).error();
    }
    return text;
  }

  // The outcome if the request was answered before; else checks it.
  Result<std::optional<store::Outcome>> look() {
    std::optional<store::Outcome> known;
    if (!context_.idempotency && !write_.check) return known;
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(until_));
    if (context_.idempotency) {
      DIL_TRY(known, store::find_outcome(*lease, backends_.lake, *context_.idempotency));
      is_known_ = known.has_value();
    }
    if (known || !write_.check) return known;
    Status checked = write_.check(*lease);
    if (!checked.has_value() && context_.idempotency) {
      // The same request, sent twice at once, may have done it since.
      DIL_TRY(known, store::find_outcome(*lease, backends_.lake, *context_.idempotency));
      is_known_ = known.has_value();
    }
    if (!known) DIL_CHECK_OK(std::move(checked));
    return known;
  }

  // Best effort: without the record a repetition finds the same error by itself.
  void remember(const Error& error) {
    if (is_known_ || !context_.idempotency || !store::is_final(error)) return;
    Result<pg::Lease> lease = backends_.pool.acquire(until_);
    if (!lease.has_value()) return;
    pg::Transaction transaction(**lease);
    auto known = store::claim_key(transaction, backends_.lake, *context_.idempotency);
    if (!known.has_value() || known->has_value()) return;
    const Status saved =
        store::save_outcome(transaction, backends_.lake, *context_.idempotency, {error, {}});
    if (saved.has_value()) (void)transaction.commit();
  }

  const Backends& backends_;
  const WriteContext& context_;
  const pg::Deadline until_;
  const Write& write_;
  bool is_known_ = false;
};

}  // namespace

Result<std::string> run_write(const Backends& backends, const WriteContext& context,
                              pg::Deadline until, const Write& write) {
  return Run(backends, context, until, write).run();
}

}  // namespace duckicelake::catalog
