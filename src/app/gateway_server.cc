// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "app/gateway_connection.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kLogger = "duckicelake.gateway";
constexpr int kBacklog = 256;
constexpr std::chrono::milliseconds kStopPoll{20};

Error socket_error(std::string_view what) {
  return Error(Code::kUnavailable, std::string(what), std::strerror(errno));
}

}  // namespace

GatewayServer::GatewayServer(Config config, GatewayFront& gateway, sign::Credentials root,
                             std::string region, Logger& logger)
    : config_(std::move(config)),
      gateway_(gateway),
      signer_(std::move(root), std::move(region), "s3"),
      logger_(logger) {}

Result<std::unique_ptr<GatewayServer>> GatewayServer::start(Config config, GatewayFront& gateway,
                                                            sign::Credentials root,
                                                            std::string region, Logger& logger) {
  std::unique_ptr<GatewayServer> out(
      new GatewayServer(std::move(config), gateway, std::move(root), std::move(region), logger));
  if (!out->config_.tls_certificate_file.empty()) {
    DIL_TRY(out->tls_,
            net::TlsAcceptor::load(out->config_.tls_certificate_file, out->config_.tls_key_file));
  }
  DIL_CHECK_OK(out->listen());
  out->acceptor_ = std::thread([server = out.get()] { server->accept_all(); });
  return out;
}

Status GatewayServer::listen() {
  sockaddr_storage address{};
  socklen_t size = 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (::inet_pton(AF_INET, config_.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(config_.port);
    size = sizeof(sockaddr_in);
  } else if (::inet_pton(AF_INET6, config_.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(config_.port);
    size = sizeof(sockaddr_in6);
  } else {
    return invalid_argument("the gateway's host is \"{}\", which is no IP address", config_.host);
  }
  listener_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return socket_error("the gateway has no socket");
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, kBacklog) != 0) {
    return socket_error(
        fmt::format("the gateway cannot listen on {}:{}", config_.host, config_.port));
  }
  socklen_t length = sizeof(address);
  if (::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return socket_error("the gateway's port is unknown");
  }
  port_ = ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
  return {};
}

void GatewayServer::reap() {
  std::lock_guard lock(slots_mutex_);
  slots_.remove_if([](Slot& slot) {
    if (!slot.is_over) return false;
    slot.thread.join();
    return true;
  });
}

void GatewayServer::accept_all() {
  while (!is_stopping_) {
    pollfd waiting{listener_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, 200);
    reap();
    if (ready <= 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::lock_guard lock(slots_mutex_);
    if (slots_.size() >= config_.max_connections) {
      ++refused_;
      if (!tls_) GatewayConnection::refuse_busy(socket);
      ::close(socket);
      continue;
    }
    ++accepted_;
    Slot& slot = slots_.emplace_back();
    slot.socket = socket;
    slot.thread = std::thread([this, &slot, socket] {
      try {
        serve(socket, slot.is_idle);
      } catch (const std::exception& error) {
        logger_.log(LogLevel::kError, kLogger, "a connection ended by an exception",
                    {{"what", std::string_view(error.what())}});
      }
      {
        // Nobody shuts down a socket of the same number that is another's by then.
        std::lock_guard closing(slots_mutex_);
        slot.socket = -1;
        ::close(socket);
      }
      slot.is_over = true;
    });
  }
}

void GatewayServer::serve(int socket, std::atomic<bool>& is_idle) {
  std::unique_ptr<net::TlsStream> tls;
  if (tls_) {
    tls = tls_->accept(socket, config_.header_timeout);
    if (!tls) return;
  }
  const GatewayConnection::Limits limits{config_.header_timeout, config_.io_timeout,
                                         config_.idle_timeout};
  const GatewayConnection::Totals totals{requests_, bytes_in_, bytes_out_};
  GatewayConnection(socket, tls.get(), limits, gateway_, signer_, config_.relay, totals, is_idle,
                    is_stopping_)
      .serve();
}

Status GatewayServer::reload_tls() {
  if (!tls_) return make_error(Code::kUnsupported, "the gateway runs without TLS");
  return tls_->reload();
}

void GatewayServer::stop(std::chrono::milliseconds grace) {
  if (is_stopping_.exchange(true)) return;
  if (acceptor_.joinable()) acceptor_.join();
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
  const auto until = std::chrono::steady_clock::now() + grace;
  const auto shut = [this](bool idle_only) {
    std::lock_guard lock(slots_mutex_);
    bool is_any_left = false;
    for (Slot& slot : slots_) {
      if (slot.is_over) continue;
      is_any_left = true;
      const int socket = slot.socket;
      if (socket >= 0 && (!idle_only || slot.is_idle)) ::shutdown(socket, SHUT_RDWR);
    }
    return is_any_left;
  };
  while (shut(true) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kStopPoll);
  }
  shut(false);
  for (Slot& slot : slots_) slot.thread.join();
  slots_.clear();
}

GatewayServer::~GatewayServer() { stop(std::chrono::milliseconds(0)); }

}  // namespace duckicelake::app
