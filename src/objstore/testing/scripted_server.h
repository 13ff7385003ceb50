// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

// An HTTP server on 127.0.0.1 for tests: every byte of its answers is the test's own, so that it
// can misbehave.
namespace duckicelake::objstore {

struct ScriptedRequest {
  std::string head;  // request line and headers, as they came
  std::string body;
  int number = 0;      // counts over all connections, from 1
  int connection = 0;  // from 1

  std::string line() const { return head.substr(0, head.find("\r\n")); }
  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class ScriptedServer {
 public:
  // Returns the raw answer; empty: close the connection without one. An answer that has
  // "connection: close" closes after it.
  using Handler = std::function<std::string(const ScriptedRequest&)>;

  // Port 0: any free one.
  explicit ScriptedServer(Handler handler, int port = 0) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    DIL_ASSERT(::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    DIL_ASSERT(::listen(listener_, 64) == 0);
    socklen_t size = sizeof at;
    DIL_ASSERT(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~ScriptedServer() {
    is_stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      std::lock_guard lock(mutex_);
      for (int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& t : connections_) t.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const { return requests_; }
  int connections() const { return accepted_; }

  static std::string answer(int status, std::string_view body, std::string_view headers = "") {
    return fmt::format("HTTP/1.1 {} X\r\ncontent-length: {}\r\n{}\r\n{}", status, body.size(),
                       headers, body);
  }

 private:
  void accept_all() {
    while (!is_stopping_) {
      int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      int number = ++accepted_;
      std::lock_guard lock(mutex_);
      open_.push_back(fd);
      connections_.emplace_back([this, fd, number] {
        serve(fd, number);
        std::lock_guard inner(mutex_);
        std::erase(open_, fd);
        ::close(fd);
      });
    }
  }

  void serve(int fd, int connection) {
    std::string in;
    for (;;) {
      std::size_t end = 0;
      while ((end = in.find("\r\n\r\n")) == std::string::npos) {
        if (!receive(fd, in)) return;
      }
      ScriptedRequest request;
      request.head = in.substr(0, end + 2);
      in.erase(0, end + 4);
      std::size_t length = 0;
      for (const char* name : {"Content-Length: ", "content-length: "}) {
        if (auto at = request.head.find(name); at != std::string::npos) {
          length = std::strtoul(request.head.c_str() + at + std::strlen(name), nullptr, 10);
        }
      }
      while (in.size() < length) {
        if (!receive(fd, in)) return;
      }
      request.body = in.substr(0, length);
      in.erase(0, length);
      request.number = ++requests_;
      request.connection = connection;
      std::string out = handler_(request);
      if (out.empty() || !send_all(fd, out)) return;
      if (out.find("connection: close") != std::string::npos) return;
    }
  }

  static bool receive(int fd, std::string& in) {
    char buffer[65536];
    ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    in.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  static bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::atomic<int> requests_{0};
  std::atomic<int> accepted_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace duckicelake::objstore
