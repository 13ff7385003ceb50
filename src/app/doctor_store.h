// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "app/settings.h"
#include "base/error.h"

namespace duckicelake::app {

// Prints a line for each check as it comes, and counts.
class Report {
 public:
  void ok(std::string_view name, std::string_view detail);
  void warn(std::string_view name, std::string_view detail);
  void fail(std::string_view name, std::string_view detail);
  void fail(std::string_view name, const Error& error);
  int failures() const { return failures_; }

 private:
  int failures_ = 0;
};

// Writes, reads, lists and removes an object under a prefix of its own; compares clocks.
void check_store(Report& report, const Settings& settings);

// Asks for keys that may read one folder and sees that they read it and nothing else.
void check_sts(Report& report, const Settings& settings);

// The same, with a line for each thing that was tried.
void check_keys(Report& report, const Settings& settings);

}  // namespace duckicelake::app
