// SPDX-License-Identifier: Apache-2.0
#include "catalog/nan_upkeep.h"

#include "catalog/table_places.h"
#include "store/eager.h"
#include "store/nan_counts.h"
#include "store/registry.h"

namespace duckicelake::catalog {
namespace {

constexpr std::chrono::seconds kConnectTime{5};
constexpr std::chrono::seconds kStatementTime{30};
// How long the thread may be deaf to its own end.
constexpr std::chrono::milliseconds kSlice{250};

bool may_pass(const Error& error) {
  return error.code() == Code::kUnavailable || error.code() == Code::kDeadlineExceeded ||
         error.code() == Code::kInternal;
}

}  // namespace

NanUpkeep::NanUpkeep(pg::Pool& pool, const store::Lake& own, DataEngine& engine, Find find)
    : pool_(pool), own_(own), engine_(engine), find_(std::move(find)), thread_([this] { run(); }) {}

NanUpkeep::~NanUpkeep() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

NanUpkeep::Counters NanUpkeep::counters() const {
  return {is_leader_, counted_, passed_, failures_};
}

bool NanUpkeep::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return is_over_.load(); });
}

void NanUpkeep::run() {
  do {
    Result<pg::Connection> connection =
        pg::Connection::connect(pool_.config(), pg::deadline_after(kConnectTime));
    if (!connection.has_value()) continue;
    (void)lead(*connection).has_value();
    leads_own_ = leads_shared_ = false;
    is_leader_ = false;
  } while (wait(kElection));
}

Status NanUpkeep::elect(pg::Connection& connection) {
  if (!leads_own_) {
    DIL_TRY(leads_own_, store::try_lead_nans(connection, own_));
    is_leader_ = leads_own_;
    // What came while nobody did the work.
    if (leads_own_) due_.emplace(own_.metadata_schema.name(), Clock::now());
  }
  if (!leads_shared_) {
    DIL_TRY(leads_shared_, store::try_lead_shared_nans(connection));
  }
  return {};
}

Status NanUpkeep::lead(pg::Connection& connection) {
  due_.clear();
  // Listen first: what is committed from here on is heard, what was before is looked up.
  DIL_CHECK_OK(store::listen_to_snapshots(connection));
  Clock::time_point elected{};
  while (!is_over_) {
    if ((!leads_own_ || !leads_shared_) && Clock::now() - elected > kElection) {
      connection.set_deadline(pg::deadline_after(kStatementTime));
      DIL_CHECK_OK(elect(connection));
      elected = Clock::now();
    }
    DIL_CHECK_OK(hear(connection));
    const auto now = Clock::now();
    for (auto at = due_.begin(); at != due_.end() && !is_over_;) {
      if (at->second > now) {
        ++at;
        continue;
      }
      const std::string schema = at->first;
      at = due_.erase(at);
      const Status done = work(connection, schema);
      if (done.has_value()) continue;
      ++failures_;
      if (!connection.is_open()) return done;
      due_[schema] = Clock::now() + kPause;
    }
  }
  return {};
}

Status NanUpkeep::hear(pg::Connection& connection) {
  DIL_TRY(std::optional<pg::Notification> note, connection.wait_notify(pg::deadline_after(kSlice)));
  while (note) {
    const bool is_own = note->payload == own_.metadata_schema.name();
    if (is_own ? leads_own_ : leads_shared_) due_.emplace(note->payload, Clock::now());
    DIL_TRY(note, connection.wait_notify(pg::deadline_after(std::chrono::milliseconds(0))));
  }
  return {};
}

Status NanUpkeep::work(pg::Connection& connection, const std::string& schema) {
  bool has_more = false;
  if (schema == own_.metadata_schema.name()) {
    DIL_TRY(has_more, step(connection, own_));
  } else {
    connection.set_deadline(pg::deadline_after(kStatementTime));
    DIL_TRY(const std::int64_t registry, store::load_catalogs_version(connection));
    DIL_TRY(const std::optional<Target> target, find_(schema, registry));
    if (!target) return {};
    DIL_TRY(has_more, step(connection, target->lake));
  }
  if (has_more) due_.emplace(schema, Clock::now());
  return {};
}

Result<bool> NanUpkeep::step(pg::Connection& connection, const store::Lake& lake) {
  connection.set_deadline(pg::deadline_after(kStatementTime));
  DIL_TRY(const store::UncountedFiles found, store::load_uncounted_files(connection, lake, kBatch));
  for (const store::UncountedFile& file : found.files) {
    if (is_over_) return false;
    const auto start = Clock::now();
    DIL_CHECK_OK(count(connection, lake, file.data_file_id, file.uri, file.columns));
    wait(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start));
  }
  if (is_over_) return false;
  connection.set_deadline(pg::deadline_after(kStatementTime));
  if (found.through >= 0) DIL_CHECK_OK(store::pass_files(connection, lake, found.through));
  return !found.is_last;
}

Status NanUpkeep::count(pg::Connection& connection, const store::Lake& lake, std::int64_t file,
                        const std::string& uri, const std::vector<FieldId>& columns) {
  const std::pair key(lake.catalog_id, file);
  std::vector<store::NanCount> counts;
  // DuckLake takes any path in a row, and the keys are the server's own.
  if (is_in_own_place(lake, uri)) {
    const auto found = engine_.count_nans(uri, columns, kFileTime);
    if (!found.has_value() && may_pass(found.error()) && ++tries_[key] < kTries) {
      return found.error();
    }
    if (found.has_value()) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if ((*found)[i]) counts.push_back({columns[i], *(*found)[i]});
      }
    }
  }
  tries_.erase(key);
  connection.set_deadline(pg::deadline_after(kStatementTime));
  DIL_CHECK_OK(store::save_nan_counts(connection, lake, file, counts));
  ++(counts.empty() ? passed_ : counted_);
  return {};
}

}  // namespace duckicelake::catalog
