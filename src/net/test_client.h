// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "net/server.h"

namespace duckicelake::net::testing {

using namespace std::chrono_literals;

// A response as it came over the wire.
struct WireResponse {
  int status = 0;    // 0: none came
  std::string head;  // lower-cased names are the server's own doing; compared as sent
  std::string body;

  bool has_header(std::string_view line) const {
    return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
  }
  std::string header(std::string_view name) const {
    std::string key = "\r\n" + std::string(name) + ": ";
    std::size_t at = head.find(key);
    if (at == std::string::npos) return {};
    at += key.size();
    return head.substr(at, head.find("\r\n", at) - at);
  }
};

// A blocking loopback client that sends exactly the bytes it is given. Every wait is bounded.
class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(); }

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void shutdown_send() { shutdown(fd_, SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  // Reads one response; with is_head no body is expected.
  WireResponse receive(bool is_head = false, std::chrono::milliseconds timeout = 20s) {
    WireResponse response;
    std::size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill(timeout)) return response;
    }
    response.head = buffer_.substr(0, end + 4);
    buffer_.erase(0, end + 4);
    if (response.head.size() < 12) return response;
    int status = std::atoi(response.head.c_str() + 9);
    std::string length = response.header("content-length");
    std::size_t expected = is_head || length.empty() ? 0 : std::stoul(length);
    while (buffer_.size() < expected) {
      if (!fill(timeout)) return response;
    }
    response.body = buffer_.substr(0, expected);
    buffer_.erase(0, expected);
    response.status = status;
    return response;
  }

  WireResponse exchange(std::string_view request, bool is_head = false) {
    send(request);
    return receive(is_head);
  }

  // True when the server has closed the connection, with nothing unread before that.
  bool is_closed_by_server(std::chrono::milliseconds timeout = 20s) {
    return buffer_.empty() && !fill(timeout) && !timed_out_;
  }

 private:
  bool fill(std::chrono::milliseconds timeout) {
    pollfd wait{fd_, POLLIN, 0};
    timed_out_ = poll(&wait, 1, static_cast<int>(timeout.count())) <= 0;
    if (timed_out_) return false;
    char block[65536];
    ssize_t n = recv(fd_, block, sizeof block, 0);
    if (n <= 0) return false;
    buffer_.append(block, static_cast<std::size_t>(n));
    return true;
  }

  int fd_;
  bool connected_ = false;
  bool timed_out_ = false;
  std::string buffer_;
};

// A handler made of a function, which is called when the body is there.
class FunctionHandler : public Handler {
 public:
  using Function = std::function<void(Request, Responder)>;
  explicit FunctionHandler(Function function) : function_(std::move(function)) {}
  void handle(Request request, Responder respond) noexcept override {
    if (request.body_to_come == 0 || !reads_bodies) {
      return function_(std::move(request), std::move(respond));
    }
    struct Held {
      Request request;
      Responder respond;
    };
    auto held = std::make_shared<Held>(Held{std::move(request), std::move(respond)});
    held->respond.receive_body(SIZE_MAX, [this, held](std::string body) {
      held->request.body = std::move(body);
      function_(std::move(held->request), std::move(held->respond));
    });
  }
  bool reads_bodies = true;

 private:
  Function function_;
};

// "method target|body"; headers of interest are echoed as x-echo-<name>.
inline Response echo(const Request& request) {
  Response response = make_response(
      200, "text/plain", request.method_text + " " + request.target + "|" + request.body);
  response.add_header("x-echo-host", std::string(request.header("host")));
  return response;
}

// Polls until the condition holds or ten seconds are over.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return condition();
}

// A server with an echo handler, on a port of its own.
class ServerTest : public ::testing::Test {
 protected:
  void start(ServerConfig config = {}) {
    auto server = Server::start(std::move(config), handler_);
    ASSERT_TRUE(server.has_value()) << server.error().to_string();
    server_ = std::move(*server);
  }
  std::uint16_t port() const { return server_->port(); }
  std::uint64_t faults(FaultKind kind) const {
    return server_->stats().faults_by_kind[static_cast<std::size_t>(kind)];
  }

  FunctionHandler handler_{[this](Request request, Responder respond) {
    on_request(std::move(request), std::move(respond));
  }};
  // Tests replace it before start().
  FunctionHandler::Function on_request = [](Request request, Responder respond) {
    respond(echo(request));
  };
  std::unique_ptr<Server> server_;
};

}  // namespace duckicelake::net::testing
