// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "app/metrics_text.h"
#include "net/http.h"
#include "rest/route.h"

namespace duckicelake::app {

// Upper bounds of duckicelake_request_seconds; the last bucket is +Inf.
inline constexpr std::array<double, 11> kRequestBuckets = {.005, .01, .025, .05, .1, .25,
                                                           .5,   1,   2.5,  5,   10};

// Counts and durations of answered requests by route, method and status class. Thread-safe. A
// recording is two relaxed additions in cells that few other threads touch; the page adds them up.
class RequestMetrics {
 public:
  RequestMetrics();

  void record(rest::RouteId route, net::Method method, int status,
              std::chrono::nanoseconds duration);
  // Families duckicelake_request_seconds and duckicelake_requests_total; series without a request
  // are left out.
  void write(MetricsText& out) const;

 private:
  static constexpr std::size_t kShards = 8;
  static constexpr std::size_t kClasses = 6;  // index: status / 100
  static constexpr std::size_t kMethods = 8;  // for requests that match no route

  struct Cell {
    std::array<std::atomic<std::uint64_t>, kRequestBuckets.size() + 1> buckets{};
    std::atomic<std::uint64_t> nanoseconds{0};
  };
  struct Series {
    std::array<std::uint64_t, kRequestBuckets.size() + 1> buckets{};
    std::uint64_t nanoseconds = 0;
    std::uint64_t count = 0;
  };

  std::size_t row_of(rest::RouteId route, net::Method method) const;
  Series sum(std::size_t row, std::size_t status_class) const;

  const std::size_t routes_;
  const std::size_t rows_;  // routes, then methods without a route
  std::array<std::unique_ptr<Cell[]>, kShards> shards_;
};

}  // namespace duckicelake::app
