// SPDX-License-Identifier: Apache-2.0
#include "catalog/maintenance_policy.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace duckicelake::catalog {
namespace {

constexpr const char* kMaxSnapshotAge = "history.expire.max-snapshot-age-ms";
constexpr const char* kMinSnapshots = "history.expire.min-snapshots-to-keep";
constexpr const char* kMaxRefAge = "history.expire.max-ref-age-ms";
// Iceberg's default where only the other one of the two is said.
constexpr std::int64_t kDefaultAgeMs = std::int64_t{5} * 24 * 60 * 60 * 1000;

using Properties = std::map<std::string, std::string>;

Result<std::optional<std::int64_t>> number(const Properties& properties, const char* key) {
  const auto it = properties.find(key);
  if (it == properties.end()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const std::string& text = it->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return invalid_argument("{} is \"{}\", which is no number", key, text);
  }
  return std::optional<std::int64_t>(value);
}

class Planner {
 public:
  Planner(const ProjectionState& state, std::int64_t now_ms) : state_(state), now_ms_(now_ms) {
    for (const auto* records : {&state.snapshots, &state.side}) {
      for (const SnapshotRecord& record : *records) by_id_.emplace(record.id, &record);
    }
  }

  Result<Expiry> run() {
    const Properties& properties = state_.document.properties;
    DIL_TRY(age_, number(properties, kMaxSnapshotAge));
    DIL_TRY(least_, number(properties, kMinSnapshots));
    DIL_TRY(ref_age_, number(properties, kMaxRefAge));
    expire_refs();
    const bool has_policy =
        age_ || least_ || std::any_of(state_.refs.begin(), state_.refs.end(), [](const auto& item) {
          return item.second.max_snapshot_age_ms || item.second.min_snapshots_to_keep;
        });
    if (has_policy) expire_snapshots();
    return std::move(out_);
  }

 private:
  const SnapshotRecord* find(std::int64_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
  }

  bool is_older(std::int64_t timestamp_ms, std::int64_t age_ms) const {
    return timestamp_ms < now_ms_ && now_ms_ - timestamp_ms > age_ms;
  }

  void expire_refs() {
    for (const auto& [name, ref] : state_.refs) {
      if (name == "main") continue;
      const SnapshotRecord* at = find(ref.snapshot_id);
      const std::optional<std::int64_t> age = ref.max_ref_age_ms ? ref.max_ref_age_ms : ref_age_;
      if (at != nullptr && age && is_older(at->timestamp_ms, *age)) {
        out_.refs.push_back({name, ref.snapshot_id});
      }
    }
  }

  bool is_dropped(const std::string& name) const {
    return std::any_of(out_.refs.begin(), out_.refs.end(),
                       [&](const Expiry::DroppedRef& ref) { return ref.name == name; });
  }

  // What a branch keeps: its newest ones, by number and by age.
  void keep_branch(std::int64_t head, std::optional<std::int64_t> age,
                   std::optional<std::int64_t> least) {
    const std::int64_t most_age = age.value_or(age_.value_or(kDefaultAgeMs));
    const std::int64_t count = std::max<std::int64_t>(1, least.value_or(least_.value_or(1)));
    std::int64_t kept = 0;
    bool is_within = true;
    // A chain is no longer than the table's snapshots, whatever its parents say.
    std::size_t steps = by_id_.size();
    for (const SnapshotRecord* at = find(head); at != nullptr && steps > 0; --steps) {
      named_.insert(at->id);
      is_within = is_within && (kept < count || !is_older(at->timestamp_ms, most_age));
      if (is_within) {
        kept_.insert(at->id);
        ++kept;
      }
      at = at->parent_id ? find(*at->parent_id) : nullptr;
    }
  }

  void expire_snapshots() {
    std::optional<std::int64_t> main_age, main_least;
    for (const auto& [name, ref] : state_.refs) {
      if (name == "main") {
        main_age = ref.max_snapshot_age_ms;
        main_least = ref.min_snapshots_to_keep;
      } else if (is_dropped(name)) {
        continue;
      } else if (ref.type == iceberg::RefType::kBranch) {
        keep_branch(ref.snapshot_id, ref.max_snapshot_age_ms, ref.min_snapshots_to_keep);
      } else {
        kept_.insert(ref.snapshot_id);
        named_.insert(ref.snapshot_id);
      }
    }
    if (const auto main = state_.main()) keep_branch(*main, main_age, main_least);
    const std::int64_t age = age_.value_or(kDefaultAgeMs);
    for (const auto* records : {&state_.snapshots, &state_.side}) {
      for (const SnapshotRecord& record : *records) {
        if (kept_.contains(record.id)) continue;
        // No branch reaches it: it goes by its age alone.
        if (!named_.contains(record.id) && !is_older(record.timestamp_ms, age)) continue;
        out_.snapshots.push_back(record.id);
      }
    }
    std::sort(out_.snapshots.begin(), out_.snapshots.end());
  }

  const ProjectionState& state_;
  const std::int64_t now_ms_;
  std::unordered_map<std::int64_t, const SnapshotRecord*> by_id_;
  std::optional<std::int64_t> age_;
  std::optional<std::int64_t> least_;
  std::optional<std::int64_t> ref_age_;
  std::unordered_set<std::int64_t> kept_;
  std::unordered_set<std::int64_t> named_;  // in the history of a branch, or named by a tag
  Expiry out_;
};

}  // namespace

Result<Expiry> plan_expiry(const ProjectionState& state, std::int64_t now_ms) {
  return Planner(state, now_ms).run();
}

}  // namespace duckicelake::catalog
