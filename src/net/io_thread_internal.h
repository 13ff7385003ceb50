// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>

#include "net/server.h"
#include "net/tls_context_internal.h"

namespace duckicelake::net {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
// The concrete executor type spares every operation the type-erased one.
using IoExecutor = asio::io_context::executor_type;
using Tcp = asio::ip::tcp;
using Socket = asio::basic_stream_socket<Tcp, IoExecutor>;
using Acceptor = asio::basic_socket_acceptor<Tcp, IoExecutor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, IoExecutor>;
template <class T>
using Awaitable = asio::awaitable<T, IoExecutor>;
// Failures arrive as error codes, not as exceptions.
inline constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable_t<IoExecutor>{});

// Written by one I/O thread, read by any.
struct Counters {
  using Cell = std::atomic<std::uint64_t>;
  Cell connections_accepted{0}, connections_refused{0}, requests{0}, bytes_received{0},
      bytes_sent{0}, tls_handshake_failures{0}, idle_closes{0}, dropped_responders{0},
      handler_timeouts{0};
  std::array<Cell, 6> responses_by_class{};
  std::array<Cell, kFaultKinds> faults_by_kind{};
};
// One writer: no locked instruction needed.
inline void bump(Counters::Cell& cell, std::uint64_t by = 1) {
  cell.store(cell.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// What all I/O threads of a server share. Outlives them.
struct SharedState {
  SharedState(ServerConfig the_config, Handler& the_handler)
      : config(std::move(the_config)), handler(the_handler) {}

  const ServerConfig config;
  Handler& handler;
  std::unique_ptr<TlsContext> tls;          // null: plain
  std::string request_id_prefix;            // random per process start
  std::atomic<std::size_t> connections{0};  // all, also those that are being refused
  std::atomic<std::size_t> refusing{0};
  std::atomic<std::size_t> body_bytes{0};  // of requests in progress
  std::atomic<bool> draining{false};

  // Wakes drain() when the last connection has gone.
  void connection_gone();
  std::mutex gone_mutex;  // guards nothing but the wait
  std::condition_variable gone;
};

class Session;
class WatchedSocket;

// One thread's event loop: listening socket, connections, deadlines, date.
class IoThread {
 public:
  IoThread(SharedState& shared, Counters& counters, std::size_t index);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  enum class PortSharing { kExclusive, kShared };
  // Before run(). The bound port.
  Result<std::uint16_t> listen(const Tcp::endpoint& endpoint, PortSharing sharing);
  // Runs until stop(); the calling thread becomes the I/O thread.
  void run();
  // From another thread: run() returns soon, no further mailbox task runs.
  void stop();
  // On the I/O thread.
  void begin_drain();

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  SharedState& shared() { return shared_; }
  Counters& counters() { return counters_; }
  IoExecutor executor() { return io_.get_executor(); }
  // Formatted once a second.
  std::string_view http_date();
  std::string make_request_id();

  void add_session(Session& session);
  void remove_session(Session& session);
  void add_watch(WatchedSocket& watch);
  void remove_watch(WatchedSocket& watch);

  // Of the calling thread; nullptr when it is no I/O thread.
  static IoThread* current();

 private:
  Awaitable<void> accept_loop();
  Awaitable<void> deadline_loop();
  void admit(Socket socket);
  void accept_backlog();
  void check_deadlines();

  SharedState& shared_;
  Counters& counters_;
  std::time_t date_second_ = -1;
  std::string date_;
  const std::string request_id_prefix_;
  std::uint64_t next_request_ = 0;
  Clock::duration tick_interval_;
  Session* sessions_ = nullptr;  // intrusive lists
  WatchedSocket* watches_ = nullptr;
  Session* next_session_ = nullptr;  // to be checked, while check_deadlines runs
  WatchedSocket* next_watch_ = nullptr;
  std::shared_ptr<Mailbox> mailbox_;
  // Behind what sessions use in their destructors: it destroys the sessions that are left.
  asio::io_context io_;
  Acceptor acceptor_;
  Timer tick_;
};

}  // namespace duckicelake::net
