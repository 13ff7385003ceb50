// SPDX-License-Identifier: Apache-2.0
#include "catalog/direct_upkeep.h"

#include <set>

#include "store/direct.h"
#include "store/eager.h"

namespace duckicelake::catalog {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectTime{5};
constexpr std::chrono::seconds kStatementTime{30};
constexpr std::chrono::milliseconds kSlice{250};
constexpr std::size_t kMostSchemas = 64;  // the next look at all finds the others

}  // namespace

DirectUpkeep::DirectUpkeep(pg::Pool& pool,
                           std::function<void(std::string_view, const Error&)> on_event)
    : pool_(pool), on_event_(std::move(on_event)), thread_([this] { run(); }) {}

DirectUpkeep::~DirectUpkeep() {
  is_over_ = true;
  {
    const std::lock_guard lock(mutex_);
  }
  wake_.notify_all();
  thread_.join();
}

DirectUpkeep::Counters DirectUpkeep::counters() const {
  return {is_leader_, armed_, dropped_, ended_};
}

bool DirectUpkeep::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return is_over_.load(); });
}

void DirectUpkeep::note(std::string_view what, const Error& why) const {
  if (on_event_) on_event_(what, why);
}

void DirectUpkeep::run() {
  do {
    Result<pg::Connection> connection =
        pg::Connection::connect(pool_.config(), pg::deadline_after(kConnectTime));
    if (!connection.has_value()) continue;
    connection->set_deadline(pg::deadline_after(kStatementTime));
    const Result<bool> elected = store::try_lead_direct(*connection);
    if (!elected.has_value()) continue;
    Status done = *elected ? lead(*connection) : end_sessions(*connection);
    is_leader_ = false;
    if (!done) note("vended PostgreSQL roles could not be looked after", done.error());
  } while (wait(kLook));
}

Status DirectUpkeep::lead(pg::Connection& connection) {
  is_leader_ = true;
  DIL_CHECK_OK(store::listen_to_snapshots(connection));
  auto next_look = SteadyClock::now();
  auto next_collect = next_look;
  auto next_arm = next_look;
  while (!is_over_) {
    const auto now = SteadyClock::now();
    connection.set_deadline(pg::deadline_after(kStatementTime));
    if (now >= next_arm) {
      DIL_CHECK_OK(arm(connection, std::nullopt));
      next_arm = now + kLookAtAll;
    }
    if (now >= next_look) {
      DIL_CHECK_OK(end_sessions(connection));
      next_look = now + kLook;
    }
    if (now >= next_collect) {
      DIL_CHECK_OK(collect(connection));
      next_collect = now + kCollect;
    }
    DIL_CHECK_OK(hear(connection));
  }
  return {};
}

// The payload names a lake's schema, or whatever somebody sent: then it is no lake's.
Status DirectUpkeep::hear(pg::Connection& connection) {
  std::set<std::string> schemas;
  DIL_TRY(std::optional<pg::Notification> heard,
          connection.wait_notify(pg::deadline_after(kSlice)));
  while (heard) {
    if (schemas.size() < kMostSchemas) schemas.insert(std::move(heard->payload));
    DIL_TRY(heard, connection.wait_notify(pg::deadline_after(std::chrono::milliseconds(0))));
  }
  connection.set_deadline(pg::deadline_after(kStatementTime));
  for (const std::string& schema : schemas) DIL_CHECK_OK(arm(connection, schema));
  // Many announcements one after the other are answered four times in a second.
  if (!schemas.empty()) wait(kSlice);
  return {};
}

Status DirectUpkeep::arm(pg::Connection& connection, const std::optional<std::string>& schema) {
  DIL_TRY(const auto unarmed, store::find_unarmed_anywhere(connection, schema));
  for (const store::UnarmedOf& one : unarmed) {
    if (is_over_) return {};
    const Status armed = store::arm_table(connection, one.schema, one.table);
    // Busy, or somebody else's: it stays closed until the next look.
    if (armed) ++armed_;
    if (!armed && !connection.is_open()) return armed;
  }
  return {};
}

Status DirectUpkeep::end_sessions(pg::Connection& connection) {
  DIL_TRY(const int ended, store::end_direct_sessions(connection));
  ended_ += static_cast<std::uint64_t>(ended);
  return {};
}

Status DirectUpkeep::collect(pg::Connection& connection) {
  for (int batch = 0; batch < 10 && !is_over_; ++batch) {
    connection.set_deadline(pg::deadline_after(kStatementTime));
    DIL_TRY(const int dropped, store::drop_expired_roles(connection, kBatch));
    dropped_ += static_cast<std::uint64_t>(dropped);
    if (dropped < kBatch) break;
  }
  return {};
}

}  // namespace duckicelake::catalog
