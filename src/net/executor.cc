// SPDX-License-Identifier: Apache-2.0
#include "net/executor.h"

namespace duckicelake::net {
namespace {

thread_local const Mailbox* current_mailbox = nullptr;

}  // namespace

bool Mailbox::post(Task task) {
  std::lock_guard lock(mutex_);
  // A refused task is destroyed by the caller's frame after the lock is gone: its destructor may
  // post.
  if (closed_) return false;
  pending_.push_back(std::move(task));
  if (!wake_sent_) {
    wake_sent_ = true;
    wake_();
  }
  return true;
}

void Mailbox::run_pending() {
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(pending_);
    wake_sent_ = false;
  }
  for (Task& task : tasks) {
    task();
    task = Task();
  }
}

void Mailbox::close() {
  std::vector<Task> dropped;
  std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  dropped.swap(pending_);
  // `dropped` was declared before the lock: its tasks, whose destructors may post, die unlocked.
}

bool Mailbox::is_current() const { return current_mailbox == this; }

void Mailbox::bind_to_current_thread() const { current_mailbox = this; }

}  // namespace duckicelake::net
