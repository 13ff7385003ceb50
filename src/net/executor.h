// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace duckicelake::net {

// A move-only callable without arguments or result; std::function cannot hold a Responder.
class Task {
 public:
  Task() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Task>>>
  Task(F&& function)  // NOLINT: any callable is a task
      : body_(std::make_unique<Body<std::decay_t<F>>>(std::forward<F>(function))) {}

  void operator()() { body_->run(); }
  explicit operator bool() const { return body_ != nullptr; }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void run() = 0;
  };
  template <class F>
  struct Body final : Base {
    explicit Body(F&& f) : function(std::move(f)) {}
    explicit Body(const F& f) : function(f) {}
    void run() override { function(); }
    F function;
  };
  std::unique_ptr<Base> body_;
};

// The queue of tasks that other threads hand to one I/O thread. Posts between two wake-ups share
// one wake-up. It outlives the server for as long as responders refer to it, but is closed by then.
class Mailbox {
 public:
  // wake: makes the I/O thread call run_pending(); called with the mailbox locked, from any thread.
  Mailbox(std::size_t thread_index, std::function<void()> wake)
      : thread_index_(thread_index), wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // False when closed; the task is then destroyed without having run.
  bool post(Task task);
  // On the I/O thread. Tasks posted meanwhile wait for the next wake-up.
  void run_pending();
  // After this no wake is called and no task runs.
  void close();

  std::size_t thread_index() const { return thread_index_; }
  // True on the I/O thread that serves this mailbox.
  bool is_current() const;
  // Declares the calling thread to be the one that serves this mailbox.
  void bind_to_current_thread() const;

 private:
  const std::size_t thread_index_;
  std::mutex mutex_;  // guards the members below
  std::function<void()> wake_;
  std::vector<Task> pending_;
  bool closed_ = false;
  bool wake_sent_ = false;
};

// Names one I/O thread of a server, from any thread. Cheap to copy; valid after the server's end,
// when post() refuses.
class Executor {
 public:
  Executor() = default;
  explicit Executor(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}

  // Runs the task on the I/O thread; tasks of one posting thread keep their order. A task must not
  // block and must not throw. Responders of this I/O thread that it calls complete without a
  // further hop.
  bool post(Task task) const { return mailbox_ && mailbox_->post(std::move(task)); }
  // 0 .. io_threads-1
  std::size_t thread_index() const { return mailbox_ ? mailbox_->thread_index() : 0; }
  bool is_current() const { return mailbox_ && mailbox_->is_current(); }

 private:
  std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace duckicelake::net
