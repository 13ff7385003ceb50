// SPDX-License-Identifier: Apache-2.0
#include "app/server_metrics.h"

#include "app/process_metrics.h"

namespace duckicelake::app {
namespace {

void write_connections(MetricsText& out, const net::ServerStats& stats) {
  out.gauge("duckicelake_connections", "Open client connections",
            static_cast<double>(stats.connections_open));
  out.counter("duckicelake_connections_accepted_total", "Client connections accepted",
              stats.connections_accepted);
  out.counter("duckicelake_connections_refused_total", "Client connections over the limit",
              stats.connections_refused);
  out.counter("duckicelake_received_bytes_total", "HTTP bytes received", stats.bytes_received);
  out.counter("duckicelake_sent_bytes_total", "HTTP bytes sent", stats.bytes_sent);
  out.counter("duckicelake_tls_handshake_failures_total", "TLS handshakes that failed",
              stats.tls_handshake_failures);
  out.counter("duckicelake_handler_timeouts_total", "Requests answered with 504",
              stats.handler_timeouts);
  out.family("duckicelake_http_faults_total", "counter",
             "Requests that the HTTP server refused itself");
  for (std::size_t kind = 0; kind < net::kFaultKinds; ++kind) {
    out.sample(stats.faults_by_kind[kind],
               {{"kind", net::fault_name(static_cast<net::FaultKind>(kind))}});
  }
}

void write_workers(MetricsText& out, const WorkerPool::Counters& workers,
                   const rest::RestHandler::Counters& handler) {
  out.gauge("duckicelake_workers", "Worker threads", static_cast<double>(workers.threads));
  out.gauge("duckicelake_workers_busy", "Worker threads at work",
            static_cast<double>(workers.busy));
  out.gauge("duckicelake_worker_queue", "Requests that wait for a worker",
            static_cast<double>(workers.waiting));
  out.counter("duckicelake_worker_tasks_total", "Requests that a worker finished",
              workers.finished);
  out.counter("duckicelake_worker_refused_total", "Requests refused because no worker was free",
              workers.refused);
  out.counter("duckicelake_gzip_cache_hits_total", "Compressed answers found in the cache",
              handler.gzip_hits);
  out.counter("duckicelake_gzip_cache_misses_total", "Compressed answers that had to be made",
              handler.gzip_misses);
  out.gauge("duckicelake_gzip_cache_bytes", "Compressed answers kept",
            static_cast<double>(handler.gzip_bytes));
}

// One family with a sample for each catalog; without a name there is one, without a label.
class PerCatalog {
 public:
  PerCatalog(MetricsText& out, const std::map<std::string, CatalogReading>& catalogs)
      : out_(out), catalogs_(catalogs) {}

  template <class Of>
  void counter(std::string_view name, std::string_view help, Of of) {
    out_.family(name, "counter", help);
    for (const auto& [id, reading] : catalogs_) out_.sample(of(reading), {label(id)});
  }
  template <class Of>
  void gauge(std::string_view name, std::string_view help, Of of) {
    out_.family(name, "gauge", help);
    for (const auto& [id, reading] : catalogs_) {
      out_.sample(static_cast<double>(of(reading)), {label(id)});
    }
  }
  template <class Of>
  void sorted(std::string_view name, std::string_view help, std::string_view by,
              std::initializer_list<std::pair<std::string_view, Of>> kinds) {
    out_.family(name, "counter", help);
    for (const auto& [id, reading] : catalogs_) {
      for (const auto& [kind, of] : kinds) out_.sample(of(reading), {{by, kind}, label(id)});
    }
  }

 private:
  static MetricLabel label(const std::string& id) { return {id.empty() ? "" : "catalog", id}; }

  MetricsText& out_;
  const std::map<std::string, CatalogReading>& catalogs_;
};

using Reading = const CatalogReading&;
using Count = std::uint64_t (*)(Reading);

void write_catalog(PerCatalog& out) {
  out.gauge("duckicelake_metadata_cache_size", "Tables whose metadata is cached",
            [](Reading r) { return r.service.cache_entries; });
  out.counter("duckicelake_metadata_cache_hits_total", "Loads answered from the cache",
              [](Reading r) { return r.service.cache_hits; });
  out.counter("duckicelake_metadata_cache_misses_total", "Loads that were not",
              [](Reading r) { return r.service.cache_misses; });
  out.counter("duckicelake_head_probes_total", "Reads of the lake's head",
              [](Reading r) { return r.probe.probes; });
  out.counter("duckicelake_head_questions_total", "Requests that asked for the head",
              [](Reading r) { return r.probe.questions; });
  out.counter("duckicelake_head_probe_failures_total", "Reads of the head that failed",
              [](Reading r) { return r.probe.failures; });
  out.counter("duckicelake_projections_total", "Projections that wrote a metadata version",
              [](Reading r) { return r.service.projections; });
  out.counter("duckicelake_projection_failures_total", "Projections that failed",
              [](Reading r) { return r.service.projection_failures; });
  out.counter("duckicelake_projection_seconds_total", "Time spent in projections",
              [](Reading r) { return r.service.projection_seconds; });
  out.counter("duckicelake_projection_rows_total", "PostgreSQL rows that projections read",
              [](Reading r) { return r.service.rows_read; });
  out.gauge("duckicelake_eager_leader", "Whether this process publishes ahead of loads",
            [](Reading r) { return r.service.eager_leader ? 1 : 0; });
  out.counter("duckicelake_eager_notifications_total", "Announcements of DuckLake snapshots heard",
              [](Reading r) { return r.service.eager_notifications; });
  out.counter("duckicelake_eager_published_total", "Tables published ahead of loads",
              [](Reading r) { return r.service.eager_published; });
  out.counter("duckicelake_eager_failures_total", "Of these, failures",
              [](Reading r) { return r.service.eager_failures; });
  out.gauge("duckicelake_eager_lag_seconds",
            "From the newest DuckLake snapshot to its publication, the last time",
            [](Reading r) { return r.service.eager_lag_seconds; });
  out.sorted<Count>("duckicelake_commit_total", "Commits of tables, by how they ended", "outcome",
                    {{"ok", [](Reading r) { return r.service.commits_ok; }},
                     {"repeated", [](Reading r) { return r.service.commits_repeated; }},
                     {"conflict", [](Reading r) { return r.service.commits_conflict; }},
                     {"refused", [](Reading r) { return r.service.commits_refused; }},
                     {"unknown", [](Reading r) { return r.service.commits_unknown; }},
                     {"failed", [](Reading r) { return r.service.commits_failed; }}});
  out.counter("duckicelake_commit_retries_total",
              "Rounds of commits that were made again because others wrote meanwhile",
              [](Reading r) { return r.service.commit_retries; });
  out.counter("duckicelake_commit_transactions_total",
              "Transactions in which commits of tables became durable",
              [](Reading r) { return r.service.commit_transactions; });
  out.counter("duckicelake_commit_written_total",
              "Commits that they hold: several share one when they are ready at the same time",
              [](Reading r) { return r.service.commits_written; });
  out.sorted<Count>("duckicelake_files_written_total", "Objects that projections wrote", "kind",
                    {{"manifest", [](Reading r) { return r.service.manifests_written; }},
                     {"manifest_list", [](Reading r) { return r.service.manifest_lists_written; }},
                     {"metadata", [](Reading r) { return r.service.metadata_files_written; }},
                     {"delete", [](Reading r) { return r.service.delete_files_written; }},
                     {"inlined", [](Reading r) { return r.service.inlined_files_written; }}});
}

// Of all shared catalogs together.
void write_tenants(MetricsText& out, const ServerReading& reading) {
  const Tenants::Counters& tenants = reading.tenants;
  out.gauge("duckicelake_catalogs_registered",
            "Catalogs beside the own one, as they are known here",
            static_cast<double>(tenants.registered));
  out.gauge("duckicelake_catalogs_open", "Of these, those that are open",
            static_cast<double>(tenants.open));
  out.counter("duckicelake_catalogs_opened_total", "Catalogs that were opened", tenants.opened);
  out.counter("duckicelake_catalogs_evicted_total", "Catalogs that made room for others",
              tenants.evicted);
  const catalog::SharedEager::Counters& eager = reading.shared_eager;
  out.gauge("duckicelake_shared_eager_leader",
            "Whether this process publishes the catalogs beside the own ones ahead of loads",
            eager.is_leader ? 1 : 0);
  out.counter("duckicelake_shared_eager_notifications_total",
              "Announcements heard there, those of own catalogs too", eager.notifications);
  out.counter("duckicelake_shared_eager_published_total", "Tables published ahead of loads there",
              eager.published);
  out.counter("duckicelake_shared_eager_failures_total", "Failures there", eager.failures);
  out.gauge("duckicelake_shared_eager_lag_seconds",
            "From the newest DuckLake snapshot to its publication there, the last time",
            eager.lag_seconds);
}

void write_nan_upkeep(MetricsText& out, const catalog::NanUpkeep::Counters& nans) {
  out.gauge("duckicelake_nan_leader", "Whether this process counts NaN for the own catalog",
            nans.is_leader ? 1 : 0);
  out.counter("duckicelake_nan_files_counted_total",
              "Files whose NaN were counted because their writers had not", nans.counted);
  out.counter("duckicelake_nan_files_passed_total", "Files that could not be counted", nans.passed);
  out.counter("duckicelake_nan_failures_total", "Times that counting stopped, to be tried again",
              nans.failures);
}

void write_postgres(MetricsText& out, const pg::PoolCounters& pool) {
  out.gauge("duckicelake_pg_pool_in_use", "PostgreSQL connections in use",
            static_cast<double>(pool.in_use));
  out.gauge("duckicelake_pg_pool_idle", "PostgreSQL connections that are idle",
            static_cast<double>(pool.idle));
  out.gauge("duckicelake_pg_pool_waiting", "Requests that wait for a PostgreSQL connection",
            static_cast<double>(pool.waiting));
  out.counter("duckicelake_pg_pool_acquired_total", "Connections handed out", pool.acquired);
  out.counter("duckicelake_pg_pool_waits_total", "Of these, after a wait", pool.waits);
  out.counter("duckicelake_pg_pool_timeouts_total", "Waits for a connection in vain",
              pool.acquire_timeouts);
  out.counter("duckicelake_pg_connects_total", "Connections made", pool.connects);
  out.counter("duckicelake_pg_connect_failures_total", "Connections that could not be made",
              pool.connect_failures);
  out.counter("duckicelake_pg_dropped_total", "Connections dropped", pool.dropped);
  out.counter("duckicelake_pg_statements_total", "Statements sent", pool.cost.statements);
  out.counter("duckicelake_pg_rows_read_total", "Rows received", pool.cost.rows_read);
  out.counter("duckicelake_pg_round_trips_total", "Waits for an answer", pool.cost.round_trips);
}

void write_store(MetricsText& out, const objstore::Counters& store) {
  out.family("duckicelake_s3_calls_total", "counter", "Calls to the object store");
  for (std::size_t op = 0; op < objstore::kOperationCount; ++op) {
    for (std::size_t outcome = 0; outcome < objstore::kOutcomeCount; ++outcome) {
      const auto operation = static_cast<objstore::Operation>(op);
      const auto result = static_cast<objstore::Outcome>(outcome);
      const std::uint64_t count = store.of(operation, result);
      // Successes always, so that rates exist from the start; failures when there were some.
      if (count == 0 && result != objstore::Outcome::kOk) continue;
      out.sample(count, {{"operation", objstore::operation_name(operation)},
                         {"outcome", objstore::outcome_name(result)}});
    }
  }
  out.counter("duckicelake_s3_retries_total", "Attempts that were repeated", store.retries);
  out.counter("duckicelake_s3_received_bytes_total", "Bodies received", store.bytes_in);
  out.counter("duckicelake_s3_sent_bytes_total", "Bodies sent", store.bytes_out);
  out.counter("duckicelake_s3_connections_total", "Connections opened", store.connections);
}

void write_storage(PerCatalog& out) {
  out.sorted<Count>(
      "duckicelake_vend_total", "Answers that gave a caller a way to a table's bytes, by its kind",
      "kind",
      {{"sts", [](Reading r) { return r.storage.access.granted_keys; }},
       {"gateway", [](Reading r) { return r.storage.access.granted_gateway; }},
       {"signing", [](Reading r) { return r.storage.access.granted_signing; }},
       {"static", [](Reading r) { return r.storage.access.granted_static; }},
       {"static_withheld", [](Reading r) { return r.storage.access.withheld_static; }},
       {"denied", [](Reading r) { return r.storage.access.denied; }},
       {"unfit", [](Reading r) { return r.storage.access.unfit; }}});
  out.counter("duckicelake_sts_calls_total", "Keys asked of the STS",
              [](Reading r) { return r.storage.access.sts_calls; });
  out.counter("duckicelake_sts_failures_total", "Of these, in vain",
              [](Reading r) { return r.storage.access.sts_failures; });
  out.counter("duckicelake_sts_widened_total", "Keys for folders where files did not fit",
              [](Reading r) { return r.storage.access.sts_widened; });
  out.counter("duckicelake_vend_cache_hits_total", "Keys that were handed out again",
              [](Reading r) { return r.storage.access.keys.hits; });
  out.counter("duckicelake_vend_cache_misses_total", "Keys that had to be made",
              [](Reading r) { return r.storage.access.keys.misses; });
  out.gauge("duckicelake_vend_cache_size", "Keys kept",
            [](Reading r) { return r.storage.access.keys.entries; });
  out.counter("duckicelake_storage_scope_loads_total", "Look-ups of where a table's objects lie",
              [](Reading r) { return r.storage.access.scope_loads; });
  out.sorted<Count>("duckicelake_s3_sign_total", "Requests to the store to be signed", "decision",
                    {{"granted", [](Reading r) { return r.storage.signing.granted; }},
                     {"denied", [](Reading r) { return r.storage.signing.denied; }}});
  out.sorted<Count>("duckicelake_gateway_requests_total", "Requests to the S3 gateway", "decision",
                    {{"granted", [](Reading r) { return r.storage.gateway.passed; }},
                     {"denied", [](Reading r) { return r.storage.gateway.denied; }}});
}

void write_gateway(MetricsText& out, const ServerReading& reading) {
  const GatewayServer::Counters& traffic = reading.gateway_traffic;
  out.counter("duckicelake_gateway_strangers_total",
              "Requests to the S3 gateway with keys of no catalog, or none that are good",
              reading.gateway_strangers);
  out.family("duckicelake_gateway_bytes_total", "counter", "Bodies through the S3 gateway");
  out.sample(traffic.bytes_in, {{"direction", "in"}});
  out.sample(traffic.bytes_out, {{"direction", "out"}});
  out.counter("duckicelake_gateway_connections_total", "Connections of the S3 gateway",
              traffic.connections);
  out.counter("duckicelake_gateway_connections_refused_total", "Of these, over the limit",
              traffic.refused);
}

void write_direct(PerCatalog& out) {
  out.sorted<Count>("duckicelake_direct_total", "Requests for a PostgreSQL role, by how they ended",
                    "outcome",
                    {{"reader", [](Reading r) { return r.storage.direct.readers; }},
                     {"writer", [](Reading r) { return r.storage.direct.writers; }},
                     {"repeated", [](Reading r) { return r.storage.direct.repeated; }},
                     {"refused", [](Reading r) { return r.storage.direct.refused; }},
                     {"failed", [](Reading r) { return r.storage.direct.failures; }}});
  out.gauge("duckicelake_direct_leader", "Whether this process looks after such roles",
            [](Reading r) { return r.storage.direct_upkeep.is_leader ? 1 : 0; });
  out.counter("duckicelake_direct_armed_total", "Tables that it bound them on",
              [](Reading r) { return r.storage.direct_upkeep.armed; });
  out.counter("duckicelake_direct_dropped_total", "Roles that were over and are gone",
              [](Reading r) { return r.storage.direct_upkeep.dropped; });
  out.counter("duckicelake_direct_ended_total", "Sessions of such roles that it ended",
              [](Reading r) { return r.storage.direct_upkeep.ended; });
}

void write_access(MetricsText& out, const catalog::Audit::Counters& audit,
                  const catalog::Authenticator::Counters& who) {
  out.family("duckicelake_tokens_total", "counter", "Requests for tokens");
  out.sample(who.issued, {{"outcome", "issued"}});
  out.sample(who.refused, {{"outcome", "refused"}});
  out.sample(who.limited, {{"outcome", "limited"}});
  out.family("duckicelake_bearer_tokens_total", "counter", "Bearer tokens of requests");
  out.sample(who.token_hits, {{"outcome", "known"}});
  out.sample(who.token_proofs, {{"outcome", "proved"}});
  out.sample(who.token_failures, {{"outcome", "refused"}});
  out.gauge("duckicelake_known_tokens", "Proved tokens that are kept",
            static_cast<double>(who.known_tokens));
  out.counter("duckicelake_decisions_total", "Decisions of the gate, without those of changes",
              audit.decisions);
  out.family("duckicelake_denials_total", "counter", "Of these, denials");
  out.sample(audit.denied, {{"decision", "denied"}});
  out.sample(audit.hidden, {{"decision", "hidden"}});
  out.counter("duckicelake_audit_rows_total", "Audit rows that were recorded after the decision",
              audit.rows);
  out.counter("duckicelake_audit_refused_total", "Requests that could not be recorded",
              audit.refused);
  out.counter("duckicelake_audit_failures_total", "Failures to record, each tried again",
              audit.failures);
  out.gauge("duckicelake_audit_waiting", "Audit rows that wait to be recorded",
            static_cast<double>(audit.waiting));
}

}  // namespace

std::string write_metrics(const ServerReading& reading) {
  MetricsText out;
  reading.requests.write(out);
  write_connections(out, reading.connections);
  write_workers(out, reading.workers, reading.handler);
  PerCatalog by_catalog(out, reading.catalogs);
  write_catalog(by_catalog);
  write_tenants(out, reading);
  write_nan_upkeep(out, reading.nan_upkeep);
  write_postgres(out, reading.postgres);
  write_store(out, reading.store);
  write_storage(by_catalog);
  write_gateway(out, reading);
  write_direct(by_catalog);
  write_access(out, reading.audit, reading.authenticator);
  write_process_metrics(out);
  return out.take();
}

}  // namespace duckicelake::app
