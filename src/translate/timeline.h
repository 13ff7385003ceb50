// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "translate/manifest_planner.h"

// Which files and which of their rows each snapshot of a chain shows. Pure.
namespace duckicelake::translate {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::min();

// Rows [first, first + count) of a data file that are not visible at snapshots s with from <= s <
// to: deleted rows (to = kNever), and rows of a partial file that came later than s (from =
// kAlways, to = their snapshot).
struct HiddenRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t from = kAlways;
  std::int64_t to = kNever;
};

// Ascending, unique positions hidden at snapshot `s`.
std::vector<std::int64_t> positions_at(std::span<const HiddenRun> runs, std::int64_t s);

struct TimelineFile {
  FileKey key = 0;
  std::int64_t begin = 0;     // first snapshot that shows it
  std::int64_t end = kNever;  // first snapshot that does not
  bool is_in_head = false;    // part of the snapshot before the chain; `begin` is of no matter then
  std::vector<HiddenRun> hidden;
};

// What happens at one snapshot of the chain; numbers are indexes into the input's files.
struct TimelineStep {
  std::vector<std::size_t> added;
  std::vector<std::size_t> removed;
  // Files that are live here and whose hidden rows may differ from the snapshot before (added ones
  // with hidden rows included).
  std::vector<std::size_t> maybe_deletes;
};

// `chain`: the snapshots to plan, ascending, all after the head. One step for each. Changes between
// two snapshots of the chain (by snapshots that are expired) fall to the later one.
std::vector<TimelineStep> build_timeline(std::span<const std::int64_t> chain,
                                         std::span<const TimelineFile> files);

}  // namespace duckicelake::translate
