// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace duckicelake::app {

struct MetricLabel {
  std::string_view name;
  std::string_view value;
};
using MetricLabels = std::initializer_list<MetricLabel>;

// Builds a page in Prometheus' text format 0.0.4. A family is announced once, its samples follow
// it.
class MetricsText {
 public:
  // `type`: counter, gauge or histogram.
  void family(std::string_view name, std::string_view type, std::string_view help);
  // Of the family announced last, with `suffix` behind its name ("_bucket", mostly nothing).
  void sample(double value, MetricLabels labels = {}, std::string_view suffix = {});
  void sample(std::uint64_t value, MetricLabels labels = {}, std::string_view suffix = {});

  // A family with one sample.
  void counter(std::string_view name, std::string_view help, std::uint64_t value,
               MetricLabels labels = {});
  void gauge(std::string_view name, std::string_view help, double value, MetricLabels labels = {});

  std::string take() { return std::move(out_); }

 private:
  void begin_sample(MetricLabels labels, std::string_view suffix);

  std::string out_;
  std::string name_;
};

}  // namespace duckicelake::app
