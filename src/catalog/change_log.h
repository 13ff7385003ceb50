// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// When each table and the names last changed, from the change words of the lake's snapshots. The
// watch begins at the first head that is seen; all that was before counts as changed then.
// Thread-safe: heads may be seen, and changes taken in, in any order and more than once.
class ChangeLog {
 public:
  // Changes up to here are known; -1: no head was seen yet.
  SnapshotId watched() const;

  enum class Reach { kKnown, kBehind };
  // A read of the head, begun when watched() was `watched_before`, gave `head`. kBehind: the
  // changes after watched() have to be taken in before anybody relies on this head. A head below
  // `watched_before` is that of a lake which was set back: the watch begins anew.
  Reach see(SnapshotId head, SnapshotId watched_before);
  // Ascending, without a gap after a watched() of this log. kCorruptData for words that cannot be
  // read; the rows before stay taken in.
  Status take_in(const std::vector<store::ChangesRow>& rows);

  // The newest snapshot known to have changed the table (rows, files or definition); the begin of
  // the watch when none.
  SnapshotId last_change(TableId table) const;
  // The newest snapshot after which names may resolve differently.
  SnapshotId last_name_change() const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::unordered_map<TableId, SnapshotId> last_change_;
  SnapshotId begin_{-1};
  SnapshotId last_name_change_{-1};
  SnapshotId watched_{-1};
};

}  // namespace duckicelake::catalog
