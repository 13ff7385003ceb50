// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "net/io_thread_internal.h"
#include "net/socket_watch.h"

namespace duckicelake::net {

// A watch on Asio's reactor, in the list of its I/O thread.
class WatchedSocket final : public SocketWatch {
 public:
  WatchedSocket(IoThread& thread, SocketListener& listener);
  ~WatchedSocket() override;
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  bool assign(int socket);
  void wait(Wait events) override;
  void set_deadline(Clock::time_point deadline) override { deadline_ = deadline; }

  // Called by the I/O thread every tick.
  void check_deadline(Clock::time_point now);
  // Called when the I/O thread is over.
  void end();

  WatchedSocket* next = nullptr;  // the I/O thread's list
  WatchedSocket* previous = nullptr;

 private:
  struct Shared;
  void detach();

  IoThread* thread_;  // null: detached
  std::shared_ptr<Shared> shared_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace duckicelake::net
