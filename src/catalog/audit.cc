// SPDX-License-Identifier: Apache-2.0
#include "catalog/audit.h"

#include <algorithm>
#include <exception>

namespace duckicelake::catalog {
namespace {

using Verdict = Decision::Verdict;

constexpr std::chrono::seconds kFlushTime{10};
constexpr std::chrono::seconds kLastFlushTime{3};
constexpr std::chrono::minutes kExpiryInterval{15};
constexpr std::int64_t kExpiryBatch = 10'000;
constexpr std::size_t kRowsPerStatement = 2'000;

std::int64_t now_micros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string_view decision_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow: return "ok";
    case Verdict::kHide: return "hidden";
    case Verdict::kDeny: break;
  }
  return "denied";
}

std::int64_t object_id(const ObjectRef& object) {
  if (object.table) return object.table->value;
  if (object.view) return object.view->value;
  return -1;
}

void mix(std::size_t& hash, std::size_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
}

// What makes two decisions alike, seen in either form.
struct Likeness {
  std::string_view catalog, principal, subject, actor, channel, operation, object, decision;
  std::int64_t schema;
  std::int64_t id;

  std::size_t hash() const {
    std::size_t out = std::hash<std::string_view>{}(principal);
    mix(out, std::hash<std::string_view>{}(catalog));
    mix(out, std::hash<std::string_view>{}(operation));
    mix(out, std::hash<std::string_view>{}(object));
    mix(out, decision.size());
    mix(out, static_cast<std::size_t>(id));
    return out;
  }
  friend bool operator==(const Likeness&, const Likeness&) = default;
};

Likeness likeness_of(const store::AuditRow& row) {
  return {row.catalog_id,
          row.principal,
          row.subject,
          row.actor,
          row.channel,
          row.operation,
          row.object,
          row.decision,
          row.schema_id.value_or(-1),
          row.object_id.value_or(-1)};
}

std::string_view catalog_of(const Caller& caller) {
  return caller.trail == nullptr ? std::string_view() : caller.trail->catalog_id();
}

}  // namespace

store::AuditRow audit_row(const Caller& caller, std::string_view operation,
                          const ObjectRef& object) {
  store::AuditRow row;
  row.catalog_id = catalog_of(caller);
  row.at_micros = now_micros();
  row.last_at_micros = row.at_micros;
  row.principal = caller.principal.id;
  row.subject = caller.principal.subject_id();
  row.actor = caller.principal.actor;
  row.channel = caller.principal.channel;
  row.operation = operation;
  row.object = object.name;
  if (object.schema) row.schema_id = object.schema->value;
  if (const std::int64_t id = object_id(object); id >= 0) row.object_id = id;
  row.decision = "ok";
  row.request_id = caller.request_id;
  row.last_request_id = caller.request_id;
  return row;
}

Audit::Audit(Config config, pg::Pool& pool)
    : config_(std::move(config)),
      pool_(pool),
      next_expiry_(std::chrono::steady_clock::now()),
      thread_([this] { run(); }) {}

Audit::~Audit() {
  {
    const std::lock_guard lock(stop_mutex_);
    is_stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

// The path of every cached load: nothing is allocated when a like decision waits already.
Status Audit::note(const Caller& caller, Action action, const ObjectRef& object,
                   const Decision& decision) {
  decisions_.fetch_add(1, std::memory_order_relaxed);
  if (decision.verdict == Verdict::kDeny) denied_.fetch_add(1, std::memory_order_relaxed);
  if (decision.verdict == Verdict::kHide) hidden_.fetch_add(1, std::memory_order_relaxed);
  const Principal& principal = caller.principal;
  const Likeness wanted{catalog_of(caller),
                        principal.id,
                        principal.subject_id(),
                        principal.actor,
                        principal.channel,
                        rule_of(action).operation,
                        object.name,
                        decision_name(decision.verdict),
                        object.schema ? object.schema->value : -1,
                        object_id(object)};
  const std::size_t hash = wanted.hash();
  Shard& shard = shards_[hash % kShards];
  {
    const std::lock_guard lock(shard.mutex);
    const auto [first, last] = shard.rows.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      store::AuditRow& row = at->second;
      if (!row.key_id.empty() || !row.detail.empty() || likeness_of(row) != wanted) continue;
      ++row.repeats;
      row.last_at_micros = now_micros();
      row.last_request_id.assign(caller.request_id);
      return {};
    }
  }
  store::AuditRow row = audit_row(caller, rule_of(action).operation, object);
  row.decision = wanted.decision;
  row.reason = decision.reason;
  decisions_.fetch_sub(1, std::memory_order_relaxed);  // submit counts it
  return submit(std::move(row));
}

Status Audit::submit(store::AuditRow row) {
  if (waiting_.fetch_add(1, std::memory_order_relaxed) >= config_.max_waiting) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    refused_.fetch_add(1, std::memory_order_relaxed);
    return Error(Code::kUnavailable, "the request cannot be recorded now; try again",
                 "too many audit records wait for PostgreSQL");
  }
  decisions_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t hash = likeness_of(row).hash();
  Shard& shard = shards_[hash % kShards];
  const std::lock_guard lock(shard.mutex);
  shard.rows.emplace(hash, std::move(row));
  return {};
}

void Audit::tell(const store::AuditRow& row) const {
  if (config_.log) config_.log(row);
}

void Audit::run() {
  std::unique_lock lock(stop_mutex_);
  while (!is_stopping_) {
    stopped_.wait_for(lock, config_.flush_interval, [&] { return is_stopping_; });
    lock.unlock();
    if (!flush().has_value()) failures_.fetch_add(1, std::memory_order_relaxed);
    expire_old();
    lock.lock();
  }
  lock.unlock();
  (void)flush();
}

std::vector<store::AuditRow> Audit::take() {
  std::vector<store::AuditRow> out;
  for (Shard& shard : shards_) {
    std::unordered_multimap<std::size_t, store::AuditRow> taken;
    {
      const std::lock_guard lock(shard.mutex);
      taken.swap(shard.rows);
    }
    for (auto& [hash, row] : taken) out.push_back(std::move(row));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.at_micros < b.at_micros; });
  return out;
}

Status Audit::flush() {
  const std::lock_guard flushing(flushing_);
  std::vector<store::AuditRow> taken = take();
  for (const store::AuditRow& row : taken) tell(row);
  retry_.insert(retry_.end(), std::make_move_iterator(taken.begin()),
                std::make_move_iterator(taken.end()));
  if (retry_.empty()) return {};
  return write(retry_);
}

// Rows leave `rows` as they are recorded. A batch that PostgreSQL does not take for what it holds
// is tried row by row, so that one row cannot hold up all others.
Status Audit::write(std::vector<store::AuditRow>& rows) {
  bool is_stopping = false;
  {
    const std::lock_guard lock(stop_mutex_);
    is_stopping = is_stopping_;
  }
  const pg::Deadline until =
      pg::deadline_after(is_stopping ? std::chrono::milliseconds(kLastFlushTime)
                                     : std::chrono::milliseconds(kFlushTime));
  DIL_TRY(pg::Lease lease, pool_.acquire(until));
  const auto forget = [&](std::size_t count) {
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
    waiting_.fetch_sub(count, std::memory_order_relaxed);
    rows_.fetch_add(count, std::memory_order_relaxed);
  };
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), kRowsPerStatement);
    const auto done = lease->exec(store::insert_audit_statement(std::span(rows).first(count)));
    if (done.has_value()) {
      forget(count);
      continue;
    }
    if (done.error().code() == Code::kUnavailable ||
        done.error().code() == Code::kDeadlineExceeded) {
      return done.error();
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = lease->exec(store::insert_audit_statement(std::span(rows).first(1)));
      if (!one.has_value() && (one.error().code() == Code::kUnavailable ||
                               one.error().code() == Code::kDeadlineExceeded)) {
        return one.error();
      }
      if (!one.has_value()) failures_.fetch_add(1, std::memory_order_relaxed);
      forget(1);  // the log has it
    }
  }
  return {};
}

void Audit::expire_old() {
  if (config_.retention_days <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_expiry_) return;
  next_expiry_ = now + kExpiryInterval;
  auto lease = pool_.acquire(pg::deadline_after(kFlushTime));
  if (!lease.has_value()) return;
  const auto gone = store::expire_audit(**lease, config_.retention_days, kExpiryBatch);
  // More may be left: soon again.
  if (gone.has_value() && *gone == kExpiryBatch) next_expiry_ = now;
}

Audit::Counters Audit::counters() const {
  Counters out;
  out.decisions = decisions_;
  out.rows = rows_;
  out.refused = refused_;
  out.failures = failures_;
  out.waiting = waiting_;
  out.denied = denied_;
  out.hidden = hidden_;
  return out;
}

Status AuditTrail::note(const Caller& caller, Action action, const ObjectRef& object,
                        const Decision& decision) {
  if (audit_ == nullptr) return {};
  if (!decision.is_allowed() || !rule_of(action).is_change) {
    return audit_->note(caller, action, object, decision);
  }
  store::AuditRow row = audit_row(caller, rule_of(action).operation, object);
  row.reason = decision.reason;
  add_change(std::move(row));
  return {};
}

// Use cases ask again inside of their transaction: one row for each thing that was asked for. The
// later question may know the object's id.
void AuditTrail::add_change(store::AuditRow row) {
  if (audit_ == nullptr) return;
  for (store::AuditRow& known : changes_) {
    if (known.operation != row.operation || known.object != row.object) continue;
    if (row.schema_id) known.schema_id = row.schema_id;
    if (row.object_id) known.object_id = row.object_id;
    if (!row.detail.empty()) known.detail = std::move(row.detail);
    return;
  }
  changes_.push_back(std::move(row));
}

void AuditTrail::write_in(pg::Transaction& transaction) {
  if (audit_ == nullptr || changes_.empty()) return;
  transaction.defer(store::insert_audit_statement(changes_));
  is_written_ = true;
}

void AuditTrail::finish(const Error* error) noexcept {
  if (audit_ == nullptr || changes_.empty()) return;
  try {
    const bool was_recorded = is_written_ && error == nullptr;
    for (store::AuditRow& row : changes_) {
      if (was_recorded) {
        audit_->tell(row);
        continue;
      }
      if (error != nullptr) {
        row.decision = error->code() == Code::kCommitStateUnknown ? "unknown" : "failed";
        row.reason = code_name(error->code());
      }
      // Refused when too many wait: the change was recorded with itself, or did not happen.
      (void)audit_->submit(std::move(row));
    }
    changes_.clear();
    is_written_ = false;
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace duckicelake::catalog
