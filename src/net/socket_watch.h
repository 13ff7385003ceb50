// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

namespace duckicelake::net {

// Who waits for a socket. Called on the I/O thread of the watch; must neither block nor throw. It
// may destroy the watch.
class SocketListener {
 public:
  virtual ~SocketListener() = default;
  // What was waited for has come, or the socket has failed: a read or write will tell.
  virtual void on_ready() = 0;
  virtual void on_deadline() = 0;
  // The I/O thread is over. The watch does nothing from now on; called by the thread that ends the
  // server.
  virtual void on_end() = 0;
};

// Waits on an I/O thread of a server for a socket that belongs to someone else (a session of a
// database, say), so that its work needs no thread of its own. Everything here, the end of its life
// included, happens on that thread, or after on_end(). The socket must stay open for as long.
class SocketWatch {
 public:
  enum class Wait { kRead, kReadOrWrite };

  // For the calling I/O thread; nullptr when it is none, or the socket cannot be waited for. The
  // listener must outlive the watch.
  static std::unique_ptr<SocketWatch> make(int socket, SocketListener& listener);
  virtual ~SocketWatch() = default;

  // One on_ready() for each call; what is waited for already is not waited for twice.
  virtual void wait(Wait events) = 0;
  // One on_deadline() at the first tick of the I/O thread (at most 250 ms) after that time.
  // time_point::max(): none.
  virtual void set_deadline(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace duckicelake::net
