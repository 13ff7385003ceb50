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

void write_catalog(MetricsText& out, const ServerReading& reading) {
  const catalog::ServiceCounters& service = reading.service;
  const catalog::HeadProbe::Counters& probe = reading.probe;
  // A label without a name is not written.
  const MetricLabel label{reading.catalog_id.empty() ? "" : "catalog", reading.catalog_id};
  out.gauge("duckicelake_metadata_cache_size", "Tables whose metadata is cached",
            static_cast<double>(service.cache_entries), {label});
  out.counter("duckicelake_metadata_cache_hits_total", "Loads answered from the cache",
              service.cache_hits, {label});
  out.counter("duckicelake_metadata_cache_misses_total", "Loads that were not",
              service.cache_misses, {label});
  out.counter("duckicelake_head_probes_total", "Reads of the lake's head", probe.probes, {label});
  out.counter("duckicelake_head_questions_total", "Requests that asked for the head",
              probe.questions, {label});
  out.counter("duckicelake_head_probe_failures_total", "Reads of the head that failed",
              probe.failures, {label});
  out.counter("duckicelake_projections_total", "Projections that wrote a metadata version",
              service.projections, {label});
  out.counter("duckicelake_projection_failures_total", "Projections that failed",
              service.projection_failures, {label});
  out.family("duckicelake_projection_seconds_total", "counter", "Time spent in projections");
  out.sample(service.projection_seconds, {label});
  out.counter("duckicelake_projection_rows_total", "PostgreSQL rows that projections read",
              service.rows_read, {label});
  out.gauge("duckicelake_eager_leader", "Whether this process publishes ahead of loads",
            service.eager_leader ? 1 : 0, {label});
  out.counter("duckicelake_eager_notifications_total", "Announcements of DuckLake snapshots heard",
              service.eager_notifications, {label});
  out.counter("duckicelake_eager_published_total", "Tables published ahead of loads",
              service.eager_published, {label});
  out.counter("duckicelake_eager_failures_total", "Of these, failures", service.eager_failures,
              {label});
  out.gauge("duckicelake_eager_lag_seconds",
            "From the newest DuckLake snapshot to its publication, the last time",
            service.eager_lag_seconds, {label});
  out.family("duckicelake_commit_total", "counter", "Commits of tables, by how they ended");
  const auto commits = [&](std::string_view outcome, std::uint64_t count) {
    out.sample(count, {{"outcome", outcome}, label});
  };
  commits("ok", service.commits_ok);
  commits("repeated", service.commits_repeated);
  commits("conflict", service.commits_conflict);
  commits("refused", service.commits_refused);
  commits("unknown", service.commits_unknown);
  commits("failed", service.commits_failed);
  out.counter("duckicelake_commit_retries_total",
              "Rounds of commits that were made again because others wrote meanwhile",
              service.commit_retries, {label});
  out.family("duckicelake_files_written_total", "counter", "Objects that projections wrote");
  const auto written = [&](std::string_view kind, std::uint64_t count) {
    out.sample(count, {{"kind", kind}, label});
  };
  written("manifest", service.manifests_written);
  written("manifest_list", service.manifest_lists_written);
  written("metadata", service.metadata_files_written);
  written("delete", service.delete_files_written);
  written("inlined", service.inlined_files_written);
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

void write_storage(MetricsText& out, const StorageParts::Reading& storage) {
  const catalog::StorageCounters& access = storage.access;
  out.family("duckicelake_vend_total", "counter",
             "Answers that gave a caller a way to a table's bytes, by its kind");
  const auto granted = [&](std::string_view kind, std::uint64_t count) {
    out.sample(count, {{"kind", kind}});
  };
  granted("sts", access.granted_keys);
  granted("gateway", access.granted_gateway);
  granted("signing", access.granted_signing);
  granted("denied", access.denied);
  granted("unfit", access.unfit);
  out.counter("duckicelake_sts_calls_total", "Keys asked of the STS", access.sts_calls);
  out.counter("duckicelake_sts_failures_total", "Of these, in vain", access.sts_failures);
  out.counter("duckicelake_sts_widened_total", "Keys for folders where files did not fit",
              access.sts_widened);
  out.counter("duckicelake_vend_cache_hits_total", "Keys that were handed out again",
              access.keys.hits);
  out.counter("duckicelake_vend_cache_misses_total", "Keys that had to be made",
              access.keys.misses);
  out.gauge("duckicelake_vend_cache_size", "Keys kept", static_cast<double>(access.keys.entries));
  out.counter("duckicelake_storage_scope_loads_total", "Look-ups of where a table's objects lie",
              access.scope_loads);
  out.family("duckicelake_s3_sign_total", "counter", "Requests to the store to be signed");
  out.sample(storage.signing.granted, {{"decision", "granted"}});
  out.sample(storage.signing.denied, {{"decision", "denied"}});
  out.family("duckicelake_gateway_requests_total", "counter", "Requests to the S3 gateway");
  out.sample(storage.gateway.passed, {{"decision", "granted"}});
  out.sample(storage.gateway.denied, {{"decision", "denied"}});
  out.family("duckicelake_gateway_bytes_total", "counter", "Bodies through the S3 gateway");
  out.sample(storage.gateway_traffic.bytes_in, {{"direction", "in"}});
  out.sample(storage.gateway_traffic.bytes_out, {{"direction", "out"}});
  out.counter("duckicelake_gateway_connections_total", "Connections of the S3 gateway",
              storage.gateway_traffic.connections);
  out.counter("duckicelake_gateway_connections_refused_total", "Of these, over the limit",
              storage.gateway_traffic.refused);
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
  write_catalog(out, reading);
  write_postgres(out, reading.postgres);
  write_store(out, reading.store);
  write_storage(out, reading.storage);
  write_access(out, reading.audit, reading.authenticator);
  write_process_metrics(out);
  return out.take();
}

}  // namespace duckicelake::app
