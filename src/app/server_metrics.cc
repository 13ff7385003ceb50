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

}  // namespace

std::string write_metrics(const ServerReading& reading) {
  MetricsText out;
  reading.requests.write(out);
  write_connections(out, reading.connections);
  write_workers(out, reading.workers, reading.handler);
  write_catalog(out, reading);
  write_postgres(out, reading.postgres);
  write_store(out, reading.store);
  write_process_metrics(out);
  return out.take();
}

}  // namespace duckicelake::app
