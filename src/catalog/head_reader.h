// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "catalog/change_log.h"
#include "net/socket_watch.h"
#include "pg/pool.h"
#include "store/lake.h"

namespace duckicelake::catalog {

// A head that was read after it was asked for, with all changes up to it in the ChangeLog.
struct FreshHead {
  store::LakeHead head;
};
using HeadCallback = std::function<void(const Result<FreshHead>&)>;

// Longest time for one read, with everything that belongs to it.
inline constexpr std::chrono::milliseconds kHeadReadTime{5'000};
// Snapshots whose changes one statement brings: what an I/O thread parses without a pause.
inline constexpr std::int64_t kChangesStep = 1'000;

struct HeadCounters {
  std::atomic<std::uint64_t> probes{0};
  std::atomic<std::uint64_t> questions{0};
  std::atomic<std::uint64_t> failures{0};
};

// Reads a lake's head for questions of the I/O threads, on I/O thread kHomeThread and without
// another thread: it has a session of its own, whose socket that thread watches. One read is under
// way at a time. Questions that arrive meanwhile share the next one, which is sent when the answers
// are given and what arrived with them has asked. With a second reader PostgreSQL and the I/O
// thread work side by side.
//
// Sessions are opened by a thread that lives for as long. A session that is lost during a read is
// replaced once, within the time of the read.
class HeadReader final : public net::SocketListener {
 public:
  static constexpr std::size_t kHomeThread = 0;
  // Runs a task on an I/O thread; false when that thread is over.
  using Post = std::function<bool(std::size_t thread_index, std::function<void()>)>;

  // What is given as a reference must outlive the reader.
  HeadReader(pg::Pool& pool, const store::Lake& lake, ChangeLog& changes, HeadCounters& counters,
             Post post);
  // The I/O threads must be over, or `close` must have run.
  ~HeadReader() override;
  HeadReader(const HeadReader&) = delete;
  HeadReader& operator=(const HeadReader&) = delete;

  // On I/O thread `thread_index`, where the callback runs too. It must not throw.
  void ask(std::size_t thread_index, HeadCallback callback);
  // On the home thread, or when it is over: ends the session. Questions without an answer are
  // dropped, and none may come any more.
  void close();
  // On the home thread: a question that is asked now waits for the end of another read first.
  bool is_reading() const { return state_ != State::kClosed && state_ != State::kIdle; }

 private:
  enum class State { kClosed, kConnecting, kIdle, kReadingHead, kReadingChanges };
  struct Question {
    std::size_t thread_index = 0;
    HeadCallback callback;
  };

  void on_ready() override;
  void on_deadline() override;
  void on_end() override;

  void ask_here(std::size_t thread_index, HeadCallback callback);
  void take_foreign();
  void start();
  void start_after(int turns);  // of the I/O thread's loop
  void connect();
  void on_connected(Result<pg::AsyncConnection> opened);
  void send_head();
  void send_changes();
  void send(State state, std::size_t statement, const std::vector<pg::Param>& params);
  void on_result(const pg::ResultSet& rows);
  Status on_head(const pg::ResultSet& rows);
  Status on_changes(const pg::ResultSet& rows);
  // Drops the session; tries the read under way again, once.
  void lose(Error error);
  void drop_session();
  void finish(const Result<FreshHead>& result);
  void answer(std::vector<Question>& questions, const Result<FreshHead>& result);

  pg::Pool& pool_;
  const store::Lake& lake_;
  ChangeLog& changes_;
  HeadCounters& counters_;
  const Post post_;
  const std::vector<pg::Param> head_params_;

  std::mutex foreign_mutex_;       // guards foreign_
  std::vector<Question> foreign_;  // of other I/O threads

  // Of the home thread only.
  State state_ = State::kClosed;
  bool start_is_due_ = false;
  std::vector<Question> next_;     // for the read after the one under way
  std::vector<Question> current_;  // of the read under way
  std::vector<Question> spare_;    // empty; its memory is used again
  std::optional<pg::AsyncConnection> session_;
  std::unique_ptr<net::SocketWatch> watch_;
  std::thread connector_;
  // Of the read under way.
  pg::Deadline deadline_;
  bool was_tried_again_ = false;
  SnapshotId watched_before_{-1};
  store::LakeHead head_;
};

}  // namespace duckicelake::catalog
