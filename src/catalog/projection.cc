// SPDX-License-Identifier: Apache-2.0
#include "catalog/projection.h"

#include "catalog/projection_run.h"
#include "catalog/table_lock.h"
#include "pg/error.h"

namespace duckicelake::catalog {
namespace {

constexpr int kMaxAttempts = 4;

}  // namespace

std::shared_ptr<const manifest::DecodedManifest> ManifestCache::find(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto it = index_.find(path);
  if (it == index_.end()) return nullptr;
  order_.splice(order_.begin(), order_, it->second);
  return it->second->manifest;
}

void ManifestCache::insert(const std::string& path,
                           std::shared_ptr<const manifest::DecodedManifest> manifest) {
  std::lock_guard lock(mutex_);
  if (index_.contains(path)) return;
  entries_ += manifest->entries.size() + 1;
  order_.push_front({path, std::move(manifest)});
  index_.emplace(path, order_.begin());
  while (entries_ > max_entries_ && order_.size() > 1) {
    entries_ -= order_.back().manifest->entries.size() + 1;
    index_.erase(order_.back().path);
    order_.pop_back();
  }
}

Projector::Projector(Config config, const store::Lake& lake, pg::Pool& pool,
                     objstore::ObjectStore& objects, DataEngine& engine)
    : config_(config),
      lake_(lake),
      pool_(pool),
      objects_(objects),
      engine_(engine),
      manifests_(config.manifest_cache_entries),
      hints_(objects) {}

VersionHints::~VersionHints() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void VersionHints::note(const std::string& folder, std::int64_t version) {
  std::lock_guard lock(mutex_);
  pending_[folder] = version;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_all();
}

void VersionHints::settle() {
  std::unique_lock lock(mutex_);
  is_urgent_ = !pending_.empty();
  wake_.notify_all();
  wake_.wait(lock, [this] { return (pending_.empty() && !is_writing_) || stopping_; });
}

void VersionHints::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_ || !pending_.empty()) {
    wake_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    wake_.wait_for(lock, kDelay, [this] { return stopping_ || is_urgent_; });
    is_urgent_ = false;
    is_writing_ = true;
    const std::map<std::string, std::int64_t> batch = std::exchange(pending_, {});
    lock.unlock();
    std::vector<objstore::PutObject> objects;
    for (const auto& [folder, version] : batch) {
      Result<std::string> key = objects_.key_of(folder + "version-hint.text");
      if (!key.has_value()) continue;
      objects.push_back({std::move(*key), std::to_string(version), {"text/plain", false}});
    }
    (void)objects_.put_many(objects);
    lock.lock();
    is_writing_ = false;
    wake_.notify_all();
    if (stopping_) break;
  }
}

Result<std::shared_ptr<const TableView>> Projector::project(
    TableId table, std::shared_ptr<const TableView> previous, pg::Deadline deadline) {
  DIL_TRY(pg::Lease lease, pool_.acquire(deadline));
  TableLock lock(lease, lake_, table);
  DIL_CHECK_OK(lock.take());
  auto result = project_locked(*lease, table, std::move(previous));
  lock.release();
  return result;
}

Result<std::shared_ptr<const TableView>> Projector::project_locked(
    pg::Connection& connection, TableId table, std::shared_ptr<const TableView> previous,
    const OwnRows* own) {
  const pg::Cost before = connection.cost();
  const auto started = std::chrono::steady_clock::now();
  Result<std::shared_ptr<const TableView>> result =
      ProjectionRun(*this, connection, table, previous).run(own);
  // A cleanup of DuckLake's that touched the same sidecar rows meanwhile: look again.
  for (int attempt = 1; attempt < kMaxAttempts && !result.has_value() &&
                        pg::is_serialization_conflict(result.error());
       ++attempt) {
    result = ProjectionRun(*this, connection, table, previous).run();
  }
  if (!result.has_value() && pg::is_serialization_conflict(result.error())) {
    result = std::move(result).error().with_code(Code::kUnavailable);
  }
  if (!result.has_value() && result.error().code() == Code::kCorruptData) {
    // The stored state does not fit the table (an earlier fault, a restored database): make it
    // anew, once.
    result = ProjectionRun(*this, connection, table, nullptr, ProjectionRun::From::kNothing).run();
  }
  counters_.rows_read += (connection.cost() - before).rows_read;
  counters_.microseconds +=
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now() - started)
                                     .count());
  if (!result.has_value() && result.error().code() != Code::kNoSuchTable) ++counters_.failures;
  return result;
}

}  // namespace duckicelake::catalog
