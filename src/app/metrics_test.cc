// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <thread>
#include <vector>

#include "app/metrics_text.h"
#include "app/process_metrics.h"
#include "app/request_metrics.h"
#include "app/server_metrics.h"

namespace duckicelake::app {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

// What a scraper demands: families announced once, each sample behind its family, no series twice.
void expect_well_formed(const std::string& text) {
  ASSERT_TRUE(text.empty() || text.ends_with('\n'));
  static const std::regex kSample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\.)*"(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\.)*")*\})? (NaN|[+-]Inf|[0-9.e+-]+))re");
  std::set<std::string> families, series;
  std::string family;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << line;
      continue;
    }
    if (line.starts_with("# HELP ")) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
    const std::string name = match[1];
    EXPECT_TRUE(name.starts_with(family)) << line;
    EXPECT_TRUE(series.insert(name + match[2].str()).second) << line;
  }
}

TEST(MetricsText, WritesFamiliesAndEscapes) {
  MetricsText out;
  out.counter("a_total", "help \\ with\nlines", 7);
  out.gauge("b", "h", 0.25, {{"x", "q\"uo\\te\n"}, {"", "left out"}, {"y", ""}});
  out.gauge("c", "h", std::numeric_limits<double>::infinity());
  const std::string text = out.take();
  EXPECT_EQ(text,
            "# HELP a_total help \\\\ with\\nlines\n# TYPE a_total counter\na_total 7\n"
            "# HELP b h\n# TYPE b gauge\nb{x=\"q\\\"uo\\\\te\\n\",y=\"\"} 0.25\n"
            "# HELP c h\n# TYPE c gauge\nc +Inf\n");
  expect_well_formed(text);
}

TEST(RequestMetrics, SortsDurationsIntoCumulativeBuckets) {
  using std::chrono::milliseconds;
  RequestMetrics metrics;
  for (const int ms : {1, 5, 6, 2400, 60'000}) {
    metrics.record(rest::kNoRoute, net::Method::kGet, 404, milliseconds(ms));
  }
  metrics.record(0, net::Method::kPost, 200, milliseconds(3));
  MetricsText out;
  metrics.write(out);
  const std::string text = out.take();
  expect_well_formed(text);
  const std::string labels = R"(endpoint="unknown",method="GET",status="4xx")";
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{" + labels + ",le=\"0.005\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{" + labels + ",le=\"0.01\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{" + labels + ",le=\"2.5\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{" + labels + ",le=\"10.0\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{" + labels + ",le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_count{" + labels + "} 5\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_sum{" + labels + "} 62.412\n"));
  EXPECT_THAT(text, HasSubstr("duckicelake_requests_total{" + labels + "} 5\n"));
  // A route's method is its own, whatever the request says.
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        "requests_total{{endpoint=\"{}\",method=\"{}\",status=\"2xx\"}} 1\n",
                        rest::route_path(0), rest::method_name(rest::route_method(0)))));
}

TEST(RequestMetrics, TakesOddStatusesAndNegativeDurations) {
  RequestMetrics metrics;
  for (const int status : {-1, 0, 99, 600, 1 << 30}) {
    metrics.record(254, net::Method::kOther, status, std::chrono::nanoseconds(-5));
  }
  MetricsText out;
  metrics.write(out);
  EXPECT_THAT(out.take(), HasSubstr("status=\"5xx\"} 5\n"));
}

TEST(RequestMetrics, LosesNothingAcrossThreads) {
  RequestMetrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        metrics.record(0, net::Method::kGet, 200, std::chrono::microseconds(10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MetricsText out;
  metrics.write(out);
  EXPECT_THAT(out.take(), HasSubstr("status=\"2xx\"} 12000\n"));
}

TEST(ServerMetrics, AreWellFormedAndNameNoCatalogUnlessTold) {
  RequestMetrics requests;
  requests.record(0, net::Method::kGet, 200, std::chrono::milliseconds(1));
  std::map<std::string, CatalogReading> catalogs;
  catalogs[""];
  ServerReading reading{requests, {}, {}, {}, catalogs, {}, {}, {}, {}, 0, {}, {}, {}, {}};
  reading.store.calls[0][1] = 3;
  const std::string text = write_metrics(reading);
  expect_well_formed(text);
  EXPECT_THAT(text, Not(HasSubstr("catalog=")));
  EXPECT_THAT(text,
              HasSubstr("duckicelake_s3_calls_total{operation=\"get\",outcome=\"not_found\"} 3\n"));
  for (const char* name :
       {"duckicelake_metadata_cache_size", "duckicelake_metadata_cache_hits_total",
        "duckicelake_metadata_cache_misses_total", "duckicelake_pg_pool_in_use",
        "duckicelake_pg_pool_idle", "duckicelake_pg_rows_read_total",
        "process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds",
        "duckicelake_build_info"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name)) << name;
  }
  catalogs.clear();
  catalogs["lake"];
  catalogs["other"].service.cache_hits = 3;
  const std::string named = write_metrics(reading);
  expect_well_formed(named);
  EXPECT_THAT(named, HasSubstr("duckicelake_metadata_cache_size{catalog=\"lake\"} 0\n"));
  EXPECT_THAT(named, HasSubstr("duckicelake_metadata_cache_hits_total{catalog=\"other\"} 3\n"));
}

TEST(ServerMetrics, TotalsOfAClosedCatalogStayAndItsGaugesDoNot) {
  CatalogReading closed;
  closed.service.commits_ok = 2;
  closed.service.cache_entries = 5;
  closed.storage.access.granted_keys = 4;
  closed.storage.access.keys.entries = 1;
  CatalogReading sum;
  sum.add(closed.totals());
  sum.add(closed);
  EXPECT_EQ(sum.service.commits_ok, 4U);
  EXPECT_EQ(sum.service.cache_entries, 5U);
  EXPECT_EQ(sum.storage.access.granted_keys, 8U);
  EXPECT_EQ(sum.storage.access.keys.entries, 1U);
}

}  // namespace
}  // namespace duckicelake::app
