// SPDX-License-Identifier: Apache-2.0
#include "catalog/projection.h"

#include "catalog/projection_run.h"

namespace duckicelake::catalog {

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
      manifests_(config.manifest_cache_entries) {}

Result<std::shared_ptr<const TableView>> Projector::project(
    TableId table, std::shared_ptr<const TableView> previous, pg::Deadline deadline) {
  DIL_TRY(pg::Lease lease, pool_.acquire(deadline));
  const pg::Cost before = lease->cost();
  const auto started = std::chrono::steady_clock::now();
  Status locked = store::lock_table(*lease, lake_, table);
  if (!locked.has_value()) {
    lease.discard();
    return std::move(locked).error();
  }
  Result<std::shared_ptr<const TableView>> result =
      ProjectionRun(*this, *lease, table, std::move(previous)).run();
  if (!result.has_value() && result.error().code() == Code::kCorruptData) {
    // The stored state does not fit the table (an earlier fault, a restored database): make it
    // anew, once.
    result = ProjectionRun(*this, *lease, table, nullptr, ProjectionRun::From::kNothing).run();
  }
  // The lock belongs to the session: without a clean unlock the session must not live on.
  if (!store::unlock_table(*lease, lake_, table).has_value()) lease.discard();
  counters_.rows_read += (lease->cost() - before).rows_read;
  counters_.microseconds +=
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now() - started)
                                     .count());
  if (!result.has_value() && result.error().code() != Code::kNoSuchTable) ++counters_.failures;
  return result;
}

}  // namespace duckicelake::catalog
