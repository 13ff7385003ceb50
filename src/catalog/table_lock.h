// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pg/pool.h"
#include "store/sidecar.h"

namespace duckicelake::catalog {

// Keeps other processes from projecting a table or committing to it through us. The lock belongs to
// the session: a connection that may still hold it must not go back to the pool. `lease` and `lake`
// must outlive it.
class TableLock {
 public:
  TableLock(pg::Lease& lease, const store::Lake& lake, TableId table)
      : lease_(&lease), lake_(&lake), table_(table) {}
  TableLock(TableLock&& other) noexcept
      : lease_(other.lease_), lake_(other.lake_), table_(other.table_), is_held_(other.is_held_) {
    other.is_held_ = false;
  }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
  ~TableLock() {
    if (is_held_) release();
    if (is_held_) lease_->discard();
  }

  // Waits until the connection's deadline (kDeadlineExceeded).
  Status take() {
    is_held_ = true;
    return store::lock_table(**lease_, *lake_, table_);
  }
  void release() {
    if (is_held_) is_held_ = !store::unlock_table(**lease_, *lake_, table_).has_value();
  }

 private:
  pg::Lease* lease_;
  const store::Lake* lake_;
  TableId table_;
  bool is_held_ = false;
};

}  // namespace duckicelake::catalog
