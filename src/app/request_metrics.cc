// SPDX-License-Identifier: Apache-2.0
#include "app/request_metrics.h"

#include <algorithm>

namespace duckicelake::app {
namespace {

std::size_t shard_of_this_thread() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

constexpr std::array<std::string_view, 6> kClassNames = {"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"};

constexpr std::array<std::string_view, kRequestBuckets.size() + 1> kBucketNames = {
    "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "+Inf"};

}  // namespace

RequestMetrics::RequestMetrics() : routes_(rest::route_count()), rows_(routes_ + kMethods) {
  for (auto& shard : shards_) shard = std::make_unique<Cell[]>(rows_ * kClasses);
}

std::size_t RequestMetrics::row_of(rest::RouteId route, net::Method method) const {
  if (route < routes_) return route;
  return routes_ + std::min(static_cast<std::size_t>(method), kMethods - 1);
}

void RequestMetrics::record(rest::RouteId route, net::Method method, int status,
                            std::chrono::nanoseconds duration) {
  const std::size_t status_class =
      status >= 100 && status < 600 ? static_cast<std::size_t>(status) / 100 : kClasses - 1;
  const double seconds = std::chrono::duration<double>(duration).count();
  const std::size_t bucket = static_cast<std::size_t>(
      std::lower_bound(kRequestBuckets.begin(), kRequestBuckets.end(), seconds) -
      kRequestBuckets.begin());
  Cell& cell =
      shards_[shard_of_this_thread() % kShards][row_of(route, method) * kClasses + status_class];
  cell.buckets[bucket].fetch_add(1, std::memory_order_relaxed);
  cell.nanoseconds.fetch_add(
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count())),
      std::memory_order_relaxed);
}

RequestMetrics::Series RequestMetrics::sum(std::size_t row, std::size_t status_class) const {
  Series out;
  for (const auto& shard : shards_) {
    const Cell& cell = shard[row * kClasses + status_class];
    for (std::size_t i = 0; i < out.buckets.size(); ++i) {
      out.buckets[i] += cell.buckets[i].load(std::memory_order_relaxed);
    }
    out.nanoseconds += cell.nanoseconds.load(std::memory_order_relaxed);
  }
  for (const std::uint64_t bucket : out.buckets) out.count += bucket;
  return out;
}

void RequestMetrics::write(MetricsText& out) const {
  struct Labelled {
    Series series;
    std::string_view endpoint, method, status;
  };
  std::vector<Labelled> all;
  for (std::size_t row = 0; row < rows_; ++row) {
    const bool is_route = row < routes_;
    const auto route = is_route ? static_cast<rest::RouteId>(row) : rest::kNoRoute;
    const auto method =
        is_route ? rest::route_method(route) : static_cast<net::Method>(row - routes_);
    for (std::size_t status_class = 0; status_class < kClasses; ++status_class) {
      Series series = sum(row, status_class);
      if (series.count == 0) continue;
      all.push_back(
          {series, rest::route_path(route), rest::method_name(method), kClassNames[status_class]});
    }
  }
  out.family("duckicelake_request_seconds", "histogram",
             "Time from a complete request to its answer");
  for (const Labelled& one : all) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < kBucketNames.size(); ++i) {
      so_far += one.series.buckets[i];
      out.sample(so_far,
                 {{"endpoint", one.endpoint},
                  {"method", one.method},
                  {"status", one.status},
                  {"le", kBucketNames[i]}},
                 "_bucket");
    }
    const MetricLabels labels = {
        {"endpoint", one.endpoint}, {"method", one.method}, {"status", one.status}};
    out.sample(static_cast<double>(one.series.nanoseconds) / 1e9, labels, "_sum");
    out.sample(one.series.count, labels, "_count");
  }
  out.family("duckicelake_requests_total", "counter", "Answered requests");
  for (const Labelled& one : all) {
    out.sample(one.series.count,
               {{"endpoint", one.endpoint}, {"method", one.method}, {"status", one.status}});
  }
}

}  // namespace duckicelake::app
