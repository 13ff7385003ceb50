// SPDX-License-Identifier: Apache-2.0
// Bodies of requests about namespaces, names of tables, views and metrics: the first byte chooses
// the route.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalog/name_lookup.h"
#include "rest/requests.h"

namespace {

using namespace duckicelake;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

// What was taken as a namespace has levels, and what passes for a new one can be addressed.
void check_levels(const catalog::Levels& levels) {
  check(!levels.empty());
  if (!catalog::check_new_levels(levels).has_value()) return;
  for (const std::string& level : levels) {
    check(!level.empty() && level.size() <= catalog::kMaxNewNameBytes);
    check(level.find('\x1F') == std::string::npos && level.find('\0') == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 0:
      if (const auto request = rest::read_create_namespace(body); request.has_value()) {
        check_levels(request->levels);
        (void)catalog::check_properties(request->properties);
      }
      break;
    case 1: (void)rest::read_properties_update(body); break;
    case 2:
      if (const auto request = rest::read_rename(body); request.has_value()) {
        check_levels(request->source.levels);
        check_levels(request->destination.levels);
      }
      break;
    case 3: (void)rest::read_create_view(body, {"shop"}); break;
    case 4: (void)rest::read_register_view(body, {"shop"}); break;
    case 5: (void)rest::read_commit_view(body, {{"shop"}, "v"}); break;
    default:
      if (const auto report = rest::read_metrics_report(body); report.has_value()) {
        check(rest::read_metrics_report(*report).has_value());
      }
      break;
  }
  return 0;
}
