// SPDX-License-Identifier: Apache-2.0
#include "app/catalog_reading.h"

#include <algorithm>

namespace duckicelake::app {
namespace {

void add_service(catalog::ServiceCounters& to, const catalog::ServiceCounters& of) {
  to.cache_hits += of.cache_hits;
  to.cache_misses += of.cache_misses;
  to.cache_entries += of.cache_entries;
  to.projections += of.projections;
  to.projection_failures += of.projection_failures;
  to.manifests_written += of.manifests_written;
  to.manifest_lists_written += of.manifest_lists_written;
  to.metadata_files_written += of.metadata_files_written;
  to.delete_files_written += of.delete_files_written;
  to.inlined_files_written += of.inlined_files_written;
  to.rows_read += of.rows_read;
  to.projection_seconds += of.projection_seconds;
  to.eager_leader |= of.eager_leader;
  to.eager_notifications += of.eager_notifications;
  to.eager_published += of.eager_published;
  to.eager_failures += of.eager_failures;
  to.eager_lag_seconds = std::max(to.eager_lag_seconds, of.eager_lag_seconds);
  to.commits_ok += of.commits_ok;
  to.commits_repeated += of.commits_repeated;
  to.commits_conflict += of.commits_conflict;
  to.commits_refused += of.commits_refused;
  to.commits_unknown += of.commits_unknown;
  to.commits_failed += of.commits_failed;
  to.commit_retries += of.commit_retries;
  to.commit_transactions += of.commit_transactions;
  to.commits_written += of.commits_written;
}

void add_storage(StorageParts::Reading& to, const StorageParts::Reading& of) {
  to.access.sts_calls += of.access.sts_calls;
  to.access.sts_failures += of.access.sts_failures;
  to.access.sts_widened += of.access.sts_widened;
  to.access.granted_keys += of.access.granted_keys;
  to.access.granted_gateway += of.access.granted_gateway;
  to.access.granted_signing += of.access.granted_signing;
  to.access.granted_static += of.access.granted_static;
  to.access.withheld_static += of.access.withheld_static;
  to.access.denied += of.access.denied;
  to.access.unfit += of.access.unfit;
  to.access.scope_loads += of.access.scope_loads;
  to.access.keys.hits += of.access.keys.hits;
  to.access.keys.misses += of.access.keys.misses;
  to.access.keys.entries += of.access.keys.entries;
  to.signing.granted += of.signing.granted;
  to.signing.denied += of.signing.denied;
  to.gateway.passed += of.gateway.passed;
  to.gateway.denied += of.gateway.denied;
  to.direct.readers += of.direct.readers;
  to.direct.writers += of.direct.writers;
  to.direct.repeated += of.direct.repeated;
  to.direct.refused += of.direct.refused;
  to.direct.failures += of.direct.failures;
  to.direct_upkeep.is_leader |= of.direct_upkeep.is_leader;
  to.direct_upkeep.armed += of.direct_upkeep.armed;
  to.direct_upkeep.dropped += of.direct_upkeep.dropped;
  to.direct_upkeep.ended += of.direct_upkeep.ended;
}

}  // namespace

void CatalogReading::add(const CatalogReading& other) {
  add_service(service, other.service);
  probe.probes += other.probe.probes;
  probe.questions += other.probe.questions;
  probe.failures += other.probe.failures;
  add_storage(storage, other.storage);
}

CatalogReading CatalogReading::totals() const {
  CatalogReading out = *this;
  out.service.cache_entries = 0;
  out.service.eager_leader = false;
  out.service.eager_lag_seconds = 0;
  out.storage.access.keys.entries = 0;
  out.storage.direct_upkeep.is_leader = false;
  return out;
}

}  // namespace duckicelake::app
