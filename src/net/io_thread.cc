// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <vector>

#include "net/io_thread_internal.h"
#include "net/response_head.h"
#include "net/session_internal.h"
#include "net/socket_watch_internal.h"

namespace duckicelake::net {
namespace {

using namespace std::chrono_literals;

// Connections over the limit that may hear so at a time, per server; the rest is closed at once.
constexpr std::size_t kMaxRefusing = 64;
constexpr int kListenBacklog = 4096;
constexpr auto kDrainTick = 20ms;

thread_local IoThread* current_thread = nullptr;

// Deadlines are checked a few times within the shortest timeout: exact enough, and one timer per
// thread instead of one per operation.
Clock::duration choose_tick(const ServerConfig& config) {
  auto shortest = std::min({config.header_timeout, config.body_timeout, config.write_timeout,
                            config.idle_timeout, config.handler_timeout, config.linger_timeout});
  return std::clamp<Clock::duration>(shortest / 4, 5ms, 250ms);
}

Error listen_error(const Tcp::endpoint& endpoint, std::string_view step, const error_code& ec) {
  return make_error(Code::kUnavailable, "cannot listen on {} port {}: {}: {}",
                    endpoint.address().to_string(), endpoint.port(), step, ec.message());
}

}  // namespace

void SharedState::connection_gone() {
  if (connections.fetch_sub(1) == 1 && draining.load()) {
    std::lock_guard lock(gone_mutex);
    gone.notify_all();
  }
}

IoThread::IoThread(SharedState& shared, Counters& counters, std::size_t index)
    : shared_(shared),
      counters_(counters),
      request_id_prefix_(fmt::format("{}-{}-", shared.request_id_prefix, index)),
      tick_interval_(choose_tick(shared.config)),
      io_(1),
      acceptor_(io_),
      tick_(io_) {
  mailbox_ = std::make_shared<Mailbox>(
      index, [this] { asio::post(io_, [mailbox = mailbox_.get()] { mailbox->run_pending(); }); });
}

IoThread::~IoThread() {
  mailbox_->close();
  while (watches_ != nullptr) watches_->end();
  // Sessions that wait for a response own what they wait with; the others die with io_.
  std::vector<Task> waiting;
  for (Session* session = sessions_; session != nullptr; session = session->next) {
    if (Task one = session->take_waiting()) waiting.push_back(std::move(one));
  }
}

IoThread* IoThread::current() { return current_thread; }

Result<std::uint16_t> IoThread::listen(const Tcp::endpoint& endpoint, PortSharing sharing) {
  error_code ec;
  acceptor_.open(endpoint.protocol(), ec);
  if (ec) return listen_error(endpoint, "socket", ec);
  acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
  if (endpoint.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(false), ec);
  int on = 1;
  if (sharing == PortSharing::kShared &&
      setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    return listen_error(endpoint, "SO_REUSEPORT",
                        error_code(errno, boost::system::system_category()));
  }
  acceptor_.bind(endpoint, ec);
  if (ec) return listen_error(endpoint, "bind", ec);
  acceptor_.listen(kListenBacklog, ec);
  if (ec) return listen_error(endpoint, "listen", ec);
  Tcp::endpoint bound = acceptor_.local_endpoint(ec);
  if (ec) return listen_error(endpoint, "getsockname", ec);
  return bound.port();
}

void IoThread::run() {
  mailbox_->bind_to_current_thread();
  current_thread = this;
  asio::co_spawn(io_, accept_loop(), asio::detached);
  asio::co_spawn(io_, deadline_loop(), asio::detached);
  io_.run();
}

void IoThread::stop() {
  mailbox_->close();
  io_.stop();
}

Awaitable<void> IoThread::accept_loop() {
  for (;;) {
    auto [ec, socket] = co_await acceptor_.async_accept(kUseTuple);
    if (!acceptor_.is_open()) co_return;
    if (!ec) {
      admit(std::move(socket));
      continue;
    }
    if (ec == asio::error::connection_aborted) continue;
    // Out of descriptors or memory: give running connections time to end.
    Timer pause(io_, 50ms);
    co_await pause.async_wait(kUseTuple);
  }
}

void IoThread::admit(Socket socket) {
  bump(counters_.connections_accepted);
  std::size_t others = shared_.connections.fetch_add(1);
  auto admission = Session::Admission::kServe;
  if (others - std::min(others, shared_.refusing.load()) >= shared_.config.max_connections) {
    bump(counters_.connections_refused);
    admission = Session::Admission::kRefuse;
    if (shared_.refusing.fetch_add(1) >= kMaxRefusing) {
      shared_.refusing.fetch_sub(1);
      shared_.connection_gone();
      return;
    }
  }
  auto session = std::make_unique<Session>(*this, std::move(socket), admission);
  asio::co_spawn(io_, Session::serve(std::move(session)), asio::detached);
}

Awaitable<void> IoThread::deadline_loop() {
  for (;;) {
    tick_.expires_after(tick_interval_);
    co_await tick_.async_wait(kUseTuple);
    check_deadlines();
  }
}

void IoThread::check_deadlines() {
  const auto now = Clock::now();
  // What is checked may end, others with it, and new ones may come.
  for (Session* session = sessions_; session != nullptr; session = next_session_) {
    next_session_ = session->next;
    session->check_deadline(now);
  }
  for (WatchedSocket* watch = watches_; watch != nullptr; watch = next_watch_) {
    next_watch_ = watch->next;
    watch->check_deadline(now);
  }
}

void IoThread::accept_backlog() {
  error_code ec;
  acceptor_.non_blocking(true, ec);
  for (int i = 0; i < kListenBacklog && !ec; ++i) {
    Socket socket(io_);
    acceptor_.accept(socket, ec);
    if (!ec) admit(std::move(socket));
  }
}

void IoThread::begin_drain() {
  accept_backlog();
  error_code ignored;
  acceptor_.close(ignored);
  tick_interval_ = std::min<Clock::duration>(tick_interval_, kDrainTick);
  tick_.cancel();
  auto now = Clock::now();
  for (Session* session = sessions_; session != nullptr; session = session->next) {
    session->begin_drain(now);
  }
}

std::string_view IoThread::http_date() {
  std::time_t second = std::time(nullptr);
  if (second != date_second_) {
    date_second_ = second;
    date_ = format_http_date(second);
  }
  return date_;
}

std::string IoThread::make_request_id() {
  std::array<char, 16> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), ++next_request_, 16).ptr;
  std::string out;
  out.reserve(request_id_prefix_.size() + digits.size());
  return out.append(request_id_prefix_).append(digits.data(), end);
}

void IoThread::add_session(Session& session) {
  session.next = sessions_;
  if (sessions_ != nullptr) sessions_->previous = &session;
  sessions_ = &session;
}

void IoThread::remove_session(Session& session) {
  if (next_session_ == &session) next_session_ = session.next;
  if (session.next != nullptr) session.next->previous = session.previous;
  (session.previous != nullptr ? session.previous->next : sessions_) = session.next;
}

void IoThread::add_watch(WatchedSocket& watch) {
  watch.next = watches_;
  if (watches_ != nullptr) watches_->previous = &watch;
  watches_ = &watch;
}

void IoThread::remove_watch(WatchedSocket& watch) {
  if (next_watch_ == &watch) next_watch_ = watch.next;
  if (watch.next != nullptr) watch.next->previous = watch.previous;
  (watch.previous != nullptr ? watch.previous->next : watches_) = watch.next;
}

}  // namespace duckicelake::net
