// SPDX-License-Identifier: Apache-2.0
#include "catalog/change_log.h"

#include "ducklake/changes.h"

namespace duckicelake::catalog {
namespace {

bool changes_names(ducklake::ChangeKind kind) {
  switch (kind) {
    case ducklake::ChangeKind::kCreatedSchema:
    case ducklake::ChangeKind::kDroppedSchema:
    case ducklake::ChangeKind::kCreatedTable:
    case ducklake::ChangeKind::kDroppedTable:
    case ducklake::ChangeKind::kCreatedView:
    case ducklake::ChangeKind::kDroppedView:
    case ducklake::ChangeKind::kOther: return true;
    default: return false;
  }
}

}  // namespace

SnapshotId ChangeLog::watched() const {
  std::lock_guard lock(mutex_);
  return watched_;
}

ChangeLog::Reach ChangeLog::see(SnapshotId head, SnapshotId watched_before) {
  std::lock_guard lock(mutex_);
  if (watched_.value >= 0 && head >= watched_before) {
    return head <= watched_ ? Reach::kKnown : Reach::kBehind;
  }
  last_change_.clear();
  begin_ = last_name_change_ = watched_ = head;
  return Reach::kKnown;
}

Status ChangeLog::take_in(const std::vector<store::ChangesRow>& rows) {
  std::lock_guard lock(mutex_);
  for (const store::ChangesRow& row : rows) {
    if (row.snapshot <= watched_) continue;  // another read was faster
    DIL_TRY(std::vector<ducklake::Change> changes, ducklake::parse_changes(row.changes_made));
    for (const ducklake::Change& change : changes) {
      if (changes_names(change.kind)) last_name_change_ = row.snapshot;
      if (change.kind == ducklake::ChangeKind::kAlteredTable || change.touches_data()) {
        last_change_[TableId(change.id)] = row.snapshot;
      }
    }
    watched_ = row.snapshot;
  }
  return {};
}

SnapshotId ChangeLog::last_change(TableId table) const {
  std::lock_guard lock(mutex_);
  auto it = last_change_.find(table);
  return it == last_change_.end() ? begin_ : it->second;
}

SnapshotId ChangeLog::last_name_change() const {
  std::lock_guard lock(mutex_);
  return last_name_change_;
}

}  // namespace duckicelake::catalog
