// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

// TLS for sockets that threads of their own wait for. The Server has its own.
namespace duckicelake::net {

// One connection after its handshake. Used by one thread; owns nothing of the socket, which stays
// open for as long. Another thread may shut the socket down: calls then end as if the peer had.
class TlsStream {
 public:
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // The number of bytes; 0: the peer closed, broke the protocol, or sent nothing for `timeout`.
  std::size_t read(char* buffer, std::size_t room, std::chrono::milliseconds timeout);
  // All of it; false: the peer is gone, or took nothing for `timeout`.
  bool write(std::string_view bytes, std::chrono::milliseconds timeout);
  // Tells the peer that nothing follows, if it listens.
  void end();

 private:
  friend class TlsAcceptor;
  struct State;
  explicit TlsStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Makes streams of accepted sockets. Thread-safe.
class TlsAcceptor {
 public:
  // PEM files, TLS 1.2 and up. kInvalidArgument names the file that cannot be used.
  static Result<std::unique_ptr<TlsAcceptor>> load(std::string certificate_file,
                                                   std::string key_file);
  ~TlsAcceptor();
  TlsAcceptor(const TlsAcceptor&) = delete;
  TlsAcceptor& operator=(const TlsAcceptor&) = delete;

  // Reads the files again, for connections from now on. On an error the old ones stay in use.
  Status reload();
  // The handshake, within `timeout`; nullptr: there is none to be had. Makes the socket
  // non-blocking.
  std::unique_ptr<TlsStream> accept(int socket, std::chrono::milliseconds timeout);

 private:
  struct State;
  explicit TlsAcceptor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace duckicelake::net
