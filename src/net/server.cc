// SPDX-License-Identifier: Apache-2.0
#include "net/server.h"

#include <openssl/rand.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "net/io_thread_internal.h"

namespace duckicelake::net {
namespace {

Result<std::string> make_request_id_prefix() {
  std::string bytes(6, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) !=
      1) {
    return make_error(Code::kInternal, "no random bytes");
  }
  return to_hex(bytes);
}

// With SO_REUSEPORT a second server on the same port would start and silently take half of the
// connections; a bind without it tells whether there is a first one.
Status check_port_is_free(const Tcp::endpoint& endpoint) {
  asio::io_context io(1);
  Acceptor probe(io);
  error_code ec;
  probe.open(endpoint.protocol(), ec);
  if (!ec) probe.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec) probe.bind(endpoint, ec);
  if (!ec) return {};
  return make_error(Code::kUnavailable, "cannot listen on {} port {}: {}",
                    endpoint.address().to_string(), endpoint.port(), ec.message());
}

}  // namespace

struct Server::Impl {
  Impl(ServerConfig config, Handler& handler) : shared(std::move(config), handler) {}

  Status listen();
  void run_threads();
  void stop();

  SharedState shared;
  std::uint16_t port = 0;
  std::vector<std::unique_ptr<Counters>> counters;
  std::vector<Executor> executors;
  std::mutex lifecycle_mutex;  // guards threads and io against concurrent drains
  std::vector<std::unique_ptr<IoThread>> io;
  std::vector<std::thread> threads;
};

Status Server::Impl::listen() {
  error_code ec;
  auto address = asio::ip::make_address(shared.config.address, ec);
  if (ec) return invalid_argument("\"{}\" is not an IP address", shared.config.address);
  Tcp::endpoint endpoint(address, shared.config.port);
  std::size_t count = std::clamp<std::size_t>(shared.config.io_threads, 1, 256);
  auto sharing = count > 1 ? IoThread::PortSharing::kShared : IoThread::PortSharing::kExclusive;
  if (count > 1 && endpoint.port() != 0) DIL_CHECK_OK(check_port_is_free(endpoint));
  for (std::size_t i = 0; i < count; ++i) {
    counters.push_back(std::make_unique<Counters>());
    io.push_back(std::make_unique<IoThread>(shared, *counters.back(), i));
    executors.emplace_back(io.back()->mailbox());
    DIL_TRY(port, io.back()->listen(endpoint, sharing));
    endpoint.port(port);
  }
  return {};
}

void Server::Impl::run_threads() {
  for (auto& one : io) {
    threads.emplace_back([thread = one.get()] { thread->run(); });
  }
}

void Server::Impl::stop() {
  for (auto& one : io) one->stop();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  // Destroys the connections that are left: their clients see the end now, not when the Server
  // dies.
  io.clear();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { drain(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<Server>> Server::start(ServerConfig config, Handler& handler) {
  if (!config.error_body) config.error_body = default_error_body;
  auto impl = std::make_unique<Impl>(std::move(config), handler);
  const ServerConfig& settings = impl->shared.config;
  if (settings.tls_certificate_file.empty() != settings.tls_key_file.empty()) {
    return invalid_argument("TLS needs both a certificate file and a key file");
  }
  if (!settings.tls_certificate_file.empty()) {
    DIL_TRY(impl->shared.tls,
            TlsContext::load(settings.tls_certificate_file, settings.tls_key_file));
  }
  DIL_TRY(impl->shared.request_id_prefix, make_request_id_prefix());
  DIL_CHECK_OK(impl->listen());
  impl->run_threads();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->port; }

void Server::drain(std::chrono::milliseconds deadline) {
  std::lock_guard lifecycle(impl_->lifecycle_mutex);
  if (impl_->io.empty()) return;
  SharedState& shared = impl_->shared;
  const auto until = Clock::now() + deadline;
  shared.draining.store(true);
  if (deadline > std::chrono::milliseconds(0)) {
    // A thread may still have to accept what the kernel has queued: count only after all have
    // begun.
    std::size_t begun = 0;  // guarded by gone_mutex
    std::unique_lock lock(shared.gone_mutex);
    for (auto& one : impl_->io) {
      Executor(one->mailbox()).post([&shared, &begun, thread = one.get()] {
        thread->begin_drain();
        std::lock_guard inner(shared.gone_mutex);
        ++begun;
        shared.gone.notify_all();
      });
    }
    // Tasks refer to `begun`: they have all run or never will once stop() has joined the threads.
    shared.gone.wait_until(
        lock, until, [&] { return begun == impl_->io.size() && shared.connections.load() == 0; });
    lock.unlock();
    impl_->stop();
    return;
  }
  impl_->stop();
}

Status Server::reload_tls() {
  if (!impl_->shared.tls) return make_error(Code::kUnsupported, "the server runs without TLS");
  return impl_->shared.tls->reload();
}

bool Server::post(std::size_t thread_index, Task task) {
  return impl_->executors[thread_index % impl_->executors.size()].post(std::move(task));
}

ServerStats Server::stats() const {
  ServerStats stats;
  stats.connections_open = impl_->shared.connections.load(std::memory_order_relaxed);
  for (const auto& one : impl_->counters) {
    auto add = [](std::uint64_t& sum, const Counters::Cell& cell) {
      sum += cell.load(std::memory_order_relaxed);
    };
    add(stats.connections_accepted, one->connections_accepted);
    add(stats.connections_refused, one->connections_refused);
    add(stats.requests, one->requests);
    add(stats.bytes_received, one->bytes_received);
    add(stats.bytes_sent, one->bytes_sent);
    add(stats.tls_handshake_failures, one->tls_handshake_failures);
    add(stats.idle_closes, one->idle_closes);
    add(stats.dropped_responders, one->dropped_responders);
    add(stats.handler_timeouts, one->handler_timeouts);
    for (std::size_t i = 0; i < one->responses_by_class.size(); ++i) {
      add(stats.responses_by_class[i], one->responses_by_class[i]);
    }
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
      add(stats.faults_by_kind[i], one->faults_by_kind[i]);
    }
  }
  return stats;
}

}  // namespace duckicelake::net
