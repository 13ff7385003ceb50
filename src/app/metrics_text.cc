// SPDX-License-Identifier: Apache-2.0
#include "app/metrics_text.h"

#include <fmt/format.h>

#include <cmath>

namespace duckicelake::app {
namespace {

// `quotes`: also '"', as label values have it.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (quotes && c == '"') {
      out += "\\\"";
    } else {
      out.push_back(c);
    }
  }
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_ += fmt::format("# HELP {} ", name);
  append_escaped(out_, help, false);
  out_ += fmt::format("\n# TYPE {} {}\n", name, type);
}

void MetricsText::begin_sample(MetricLabels labels, std::string_view suffix) {
  out_.append(name_).append(suffix);
  char before = '{';
  for (const MetricLabel& label : labels) {
    if (label.name.empty()) continue;
    out_.push_back(before);
    before = ',';
    out_.append(label.name).append("=\"");
    append_escaped(out_, label.value, true);
    out_.push_back('"');
  }
  out_ += before == ',' ? "} " : " ";
}

void MetricsText::sample(double value, MetricLabels labels, std::string_view suffix) {
  begin_sample(labels, suffix);
  out_ += number_text(value);
  out_.push_back('\n');
}

void MetricsText::sample(std::uint64_t value, MetricLabels labels, std::string_view suffix) {
  begin_sample(labels, suffix);
  out_ += fmt::format("{}\n", value);
}

void MetricsText::counter(std::string_view name, std::string_view help, std::uint64_t value,
                          MetricLabels labels) {
  family(name, "counter", help);
  sample(value, labels);
}

void MetricsText::gauge(std::string_view name, std::string_view help, double value,
                        MetricLabels labels) {
  family(name, "gauge", help);
  sample(value, labels);
}

}  // namespace duckicelake::app
