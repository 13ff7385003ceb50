// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/executor.h"
#include "net/http.h"

namespace duckicelake::net {

// Takes a request's body, on the I/O thread of the connection.
using BodyTaker = std::function<void(std::string)>;

// Where a response goes. The server implements it per connection; tests of handlers implement it to
// catch the response.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  // From any thread, at most once per ticket; nullopt: the responder was dropped unused (500).
  virtual void complete(std::uint64_t ticket, std::optional<Response> response) = 0;
  // From any thread, at most once per ticket and before complete().
  virtual void receive_body(std::uint64_t ticket, std::size_t max_bytes, BodyTaker take) = 0;
  virtual Executor executor() const = 0;
};

// The right and duty to answer one request. Move-only; call it once, from any thread, also from
// within Handler::handle, where the response is written without a queue or a wake-up. Destroyed
// unused, it answers 500. After the connection or the server is gone a call does nothing.
//
// A body that nobody asks for is never kept: whoever answers without it (nobody is let in, the
// route is unknown) costs the server no memory. What is left of it is skipped if it is short;
// otherwise the connection ends with the response.
//
// To complete many requests from another thread, group responders by thread_index() and post one
// task per I/O thread to executor(): inside the task the calls take the direct path.
class Responder {
 public:
  Responder(std::shared_ptr<ResponseSink> sink, std::uint64_t ticket)
      : sink_(std::move(sink)), ticket_(ticket) {}
  Responder(Responder&& other) noexcept = default;
  Responder& operator=(Responder&& other) noexcept {
    if (this != &other) {
      drop();
      sink_ = std::move(other.sink_);
      ticket_ = other.ticket_;
    }
    return *this;
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder() { drop(); }

  // A second call does nothing.
  void operator()(Response response) {
    if (auto sink = std::move(sink_)) sink->complete(ticket_, std::move(response));
  }
  // Pre-condition: *this is true, and Request::body_to_come of its request is not 0. Asks the
  // client for the body ("100 Continue") and gives it to `take`, after gzip, from this call or
  // later. When none is to be had (longer than max_bytes, too slow, malformed, the client is gone),
  // the server answers itself: `take` is destroyed without a call, and this responder finds no
  // taker.
  void receive_body(std::size_t max_bytes, BodyTaker take) {
    // What `take` holds may hold this responder.
    const std::shared_ptr<ResponseSink> sink = sink_;
    sink->receive_body(ticket_, max_bytes, std::move(take));
  }

  // False after the call, and after a move away.
  explicit operator bool() const { return sink_ != nullptr; }

  // Pre-condition of both: *this is true.
  Executor executor() const { return sink_->executor(); }
  std::size_t thread_index() const { return sink_->executor().thread_index(); }

 private:
  void drop() {
    if (auto sink = std::move(sink_)) sink->complete(ticket_, std::nullopt);
  }

  std::shared_ptr<ResponseSink> sink_;
  std::uint64_t ticket_ = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // On the I/O thread of the connection: must not block. Called when the head of the request is
  // there: its body is to be asked for. The next request of the same connection is handled only
  // after this one's response was written.
  virtual void handle(Request request, Responder respond) noexcept = 0;
};

}  // namespace duckicelake::net
