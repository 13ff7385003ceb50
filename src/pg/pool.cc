// SPDX-License-Identifier: Apache-2.0
#include "pg/pool.h"

namespace duckicelake::pg {

namespace {

// Asking an idle session whether it lives may not eat the caller's time.
constexpr std::chrono::milliseconds kPingTime{2'000};

}  // namespace

// One caller of `take` that found nothing. It is handed a connection or the right to open one.
struct Pool::Waiter {
  std::condition_variable arrived;
  bool is_served = false;
  Idle gift;
};

Lease::Lease(Pool& pool, std::unique_ptr<Connection> connection, Deadline opened)
    : pool_(&pool), connection_(std::move(connection)), opened_(opened) {}

Lease::Lease(Lease&& other) noexcept
    : pool_(other.pool_), connection_(std::move(other.connection_)), opened_(other.opened_) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    give_back();
    pool_ = other.pool_;
    connection_ = std::move(other.connection_);
    opened_ = other.opened_;
  }
  return *this;
}

Lease::~Lease() { give_back(); }

void Lease::give_back() {
  if (connection_) pool_->give_back(std::move(connection_), opened_);
}

Result<std::unique_ptr<Pool>> Pool::make(PgConfig config) {
  DIL_CHECK_OK(validate(config));
  return std::unique_ptr<Pool>(new Pool(std::move(config)));
}

Pool::~Pool() {
  const std::lock_guard lock(mutex_);
  DIL_ASSERT(open_ == idle_.size() && waiters_.empty());
}

Result<Lease> Pool::acquire(Deadline deadline) {
  for (;;) {
    DIL_TRY(Idle idle, take(deadline));
    if (!idle.connection) return open(deadline);
    if (!is_healthy(idle, deadline)) {
      idle.connection.reset();
      drop_slot(Slot::kBroken);
      // Each round uses up one idle connection, so this ends.
      continue;
    }
    idle.connection->set_deadline(deadline);
    const std::lock_guard lock(mutex_);
    ++counters_.acquired;
    return Lease(*this, std::move(idle.connection), idle.opened);
  }
}

Result<Pool::Idle> Pool::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (waiters_.empty() && !idle_.empty()) {
    Idle idle = std::move(idle_.back());
    idle_.pop_back();
    return idle;
  }
  if (waiters_.empty() && open_ < config_.pool_max) {
    ++open_;
    return Idle{};
  }
  Waiter waiter;
  waiters_.push_back(&waiter);
  ++counters_.waits;
  const Deadline until = earlier(deadline, deadline_after(config_.acquire_timeout));
  waiter.arrived.wait_until(lock, until, [&] { return waiter.is_served; });
  if (waiter.is_served) return std::move(waiter.gift);
  std::erase(waiters_, &waiter);
  ++counters_.acquire_timeouts;
  return make_error(Code::kUnavailable, "all {} database connections are in use", config_.pool_max);
}

Result<Lease> Pool::open(Deadline deadline) {
  Result<Connection> connection = Connection::connect(config_, deadline, &cost_);
  if (!connection) {
    drop_slot(Slot::kNeverOpened);
    return std::move(connection).error();
  }
  const std::lock_guard lock(mutex_);
  ++counters_.connects;
  ++counters_.acquired;
  return Lease(*this, std::make_unique<Connection>(*std::move(connection)),
               std::chrono::steady_clock::now());
}

Result<AsyncConnection> Pool::open_async(std::span<const Statement> statements, Deadline deadline) {
  Result<AsyncConnection> connection =
      AsyncConnection::connect(config_, statements, deadline, &cost_);
  const std::lock_guard lock(mutex_);
  ++(connection ? counters_.connects : counters_.connect_failures);
  return connection;
}

bool Pool::is_healthy(Idle& idle, Deadline deadline) {
  if (!idle.connection->is_alive()) return false;
  if (std::chrono::steady_clock::now() - idle.since < config_.idle_check_after) return true;
  idle.connection->set_deadline(earlier(deadline, deadline_after(kPingTime)));
  return idle.connection->ping().has_value();
}

void Pool::drop_slot(Slot slot) {
  const std::lock_guard lock(mutex_);
  if (slot == Slot::kBroken) ++counters_.dropped;
  if (slot == Slot::kNeverOpened) ++counters_.connect_failures;
  if (waiters_.empty()) {
    --open_;
    return;
  }
  // The right to open a connection goes to the one who waits longest.
  Waiter* waiter = waiters_.front();
  waiters_.pop_front();
  waiter->is_served = true;
  waiter->arrived.notify_one();
}

void Pool::give_back(std::unique_ptr<Connection> connection, Deadline opened) {
  const Deadline now = std::chrono::steady_clock::now();
  const bool is_old = now - opened > config_.max_lifetime;
  if (is_old || !connection->is_reusable() ||
      connection->transaction_state() != TransactionState::kIdle) {
    connection.reset();
    drop_slot(is_old ? Slot::kRetired : Slot::kBroken);
    return;
  }
  std::vector<Idle> expired;  // closed after the lock is released
  const std::lock_guard lock(mutex_);
  Idle idle{std::move(connection), opened, now};
  if (!waiters_.empty()) {
    Waiter* waiter = waiters_.front();
    waiters_.pop_front();
    waiter->gift = std::move(idle);
    waiter->is_served = true;
    waiter->arrived.notify_one();
    return;
  }
  idle_.push_back(std::move(idle));
  expired = take_expired(now);
}

std::vector<Pool::Idle> Pool::take_expired(Deadline now) {
  std::vector<Idle> out;
  // The least recently used stand first.
  std::size_t count = 0;
  while (count < idle_.size() && open_ > config_.pool_min &&
         now - idle_[count].since > config_.idle_close_after) {
    out.push_back(std::move(idle_[count]));
    ++count;
    --open_;
  }
  idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(count));
  return out;
}

Status Pool::warm_up(Deadline deadline) {
  std::vector<Lease> leases;
  while (leases.size() < config_.pool_min) {
    DIL_TRY(Lease lease, acquire(deadline));
    leases.push_back(std::move(lease));
  }
  return {};
}

void Pool::close_idle() {
  std::vector<Idle> closed;
  const std::lock_guard lock(mutex_);
  closed.swap(idle_);
  open_ -= closed.size();
}

PoolCounters Pool::counters() const {
  const std::lock_guard lock(mutex_);
  PoolCounters out = counters_;
  out.idle = idle_.size();
  out.in_use = open_ - idle_.size();
  out.waiting = waiters_.size();
  out.cost = cost_.snapshot();
  return out;
}

}  // namespace duckicelake::pg
