// SPDX-License-Identifier: Apache-2.0
#include "translate/timeline.h"

#include <algorithm>
#include <set>

namespace duckicelake::translate {

std::vector<std::int64_t> positions_at(std::span<const HiddenRun> runs, std::int64_t s) {
  std::vector<std::int64_t> out;
  for (const HiddenRun& run : runs) {
    if (run.from > s || s >= run.to) continue;
    for (std::int64_t i = 0; i < run.count; ++i) out.push_back(run.first + i);
  }
  if (!std::is_sorted(out.begin(), out.end())) std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<TimelineStep> build_timeline(std::span<const std::int64_t> chain,
                                         std::span<const TimelineFile> files) {
  std::vector<TimelineStep> steps(chain.size());
  const auto step_of = [&](std::int64_t snapshot) {
    return static_cast<std::size_t>(std::lower_bound(chain.begin(), chain.end(), snapshot) -
                                    chain.begin());
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    const TimelineFile& file = files[i];
    const std::size_t first = file.is_in_head ? 0 : step_of(file.begin);
    const std::size_t last = file.end == kNever ? chain.size() : step_of(file.end);
    if (last <= first) {
      // Shown by no snapshot of the chain; of the head it has to be taken out all the same.
      if (file.is_in_head && last < chain.size()) steps[last].removed.push_back(i);
      continue;
    }
    if (!file.is_in_head && first < chain.size()) steps[first].added.push_back(i);
    if (last < chain.size()) steps[last].removed.push_back(i);
    if (file.hidden.empty()) continue;
    std::set<std::size_t> points;
    if (first < chain.size()) points.insert(first);
    for (const HiddenRun& run : file.hidden) {
      if (run.from != kAlways) points.insert(step_of(run.from));
      if (run.to != kNever) points.insert(step_of(run.to));
    }
    for (std::size_t point : points) {
      if (point >= first && point < last) steps[point].maybe_deletes.push_back(i);
    }
  }
  return steps;
}

}  // namespace duckicelake::translate
