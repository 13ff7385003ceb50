// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/chunked.h"
#include "net/io_thread_internal.h"
#include "net/request_head.h"

namespace duckicelake::net {

// Bytes received and not yet consumed, in one block that grows on demand.
class ReadBuffer {
 public:
  std::string_view view() const { return {block_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void consume(std::size_t count);
  // Room for at least one byte, after moving the content to the front or growing to `capacity`.
  // Pre-condition: view().size() < max(capacity, what it has).
  asio::mutable_buffer prepare(std::size_t capacity);
  void commit(std::size_t count) { end_ += count; }
  // Gives a block larger than `capacity` back. Pre-condition: empty().
  void shrink(std::size_t capacity);

 private:
  std::unique_ptr<char[]> block_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// One connection: reads a request, hands it over, writes the response, again and again. Everything
// here happens on its I/O thread; responders reach it through its sink. Owned by its coroutine.
class Session {
 public:
  enum class Admission { kServe, kRefuse };
  Session(IoThread& thread, Socket socket, Admission admission);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static Awaitable<void> serve(std::unique_ptr<Session> session);

  // Called by the I/O thread every tick. The session may be gone when it returns.
  void check_deadline(Clock::time_point now);
  // Gives an idle connection a short last chance.
  void begin_drain(Clock::time_point now);
  // Of a coroutine that waits for the handler: taken out and destroyed, it ends the session without
  // one. Empty when it waits for something else, or runs.
  Task take_waiting() { return std::move(resume_); }

  Session* next = nullptr;  // the I/O thread's list
  Session* previous = nullptr;

 private:
  class Sink;
  // What the deadline means.
  enum class Phase { kHandshake, kIdle, kHead, kBody, kHandling, kWriting, kLinger };
  enum class Reading { kProgress, kEnd, kTimeout };

  Awaitable<void> run();
  Awaitable<bool> handshake();
  Awaitable<Reading> read_some(std::size_t capacity);
  Awaitable<std::optional<Fault>> receive_body();
  Awaitable<std::optional<Fault>> read_body(std::size_t max_bytes);
  Awaitable<std::optional<Fault>> inflate_body();
  Awaitable<void> skip_body();
  Awaitable<bool> send_continue();
  Awaitable<void> wait_for_handler();
  Awaitable<bool> write_rest();
  Awaitable<bool> write_tls();
  Awaitable<void> refuse(Fault fault);
  Awaitable<void> close_gently();

  void continue_handling();
  void begin_request();
  void assign_request_id();
  // Takes a head off the buffer: true when request_ and info_ are set or fault_ is.
  bool take_head();
  std::optional<Fault> check_body_headers();
  std::optional<Fault> reserve_body_memory();
  bool is_body_short() const;
  void dispatch();
  void complete(std::uint64_t ticket, std::optional<Response> response);
  void want_body(std::uint64_t ticket, std::size_t max_bytes, BodyTaker take);
  // Turns response_ into head_ and pending_.
  void compose();
  // Writes what the kernel takes at once; true when that was all (or the connection is broken).
  bool write_now();
  void advance_pending(std::size_t count);
  Response make_error_response(int status, std::string_view message) const;
  void enter(Phase phase, Clock::duration timeout);
  void count_response() const;

  IoThread& thread_;
  SharedState& shared_;
  Socket socket_;
  // The context lives as long as streams made from it.
  std::shared_ptr<asio::ssl::context> tls_context_;
  std::unique_ptr<asio::ssl::stream<Socket&>> tls_;
  const Admission admission_;
  std::string peer_address_;

  Phase phase_ = Phase::kIdle;
  Clock::time_point deadline_;
  bool timed_out_ = false;

  ReadBuffer buffer_;
  HeadScanner scanner_;
  bool skipped_blank_line_ = false;
  Request request_;
  HeadInfo info_;
  std::optional<Fault> fault_;
  std::string body_;  // as far as it has come
  std::size_t max_body_bytes_ = 0;
  BodyTaker take_body_;         // who waits for it
  bool has_body_left_ = false;  // the client announced one that was not read
  bool is_body_packed_ = false;
  std::size_t reserved_body_bytes_ = 0;
  std::string request_id_;
  bool is_head_request_ = false;
  bool keep_alive_ = false;
  bool broken_ = false;     // nothing more can be written
  bool has_fault_ = false;  // the client may still be sending what nobody will read

  std::shared_ptr<Sink> sink_;
  std::uint64_t ticket_ = 0;
  // Continues the coroutine that waits for the handler, in place; it owns it.
  Task resume_;
  bool has_response_ = false;
  Response response_;

  std::string head_;
  std::vector<asio::const_buffer> pending_;
  std::string tls_block_;
};

}  // namespace duckicelake::net
