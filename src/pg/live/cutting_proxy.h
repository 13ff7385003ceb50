// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pg/config.h"

namespace duckicelake::pg {

// Stands between client and server on the loopback. Once the client has sent the given word, the
// server's next answer is awaited, kept back, and the client's connection is cut.
class CuttingProxy {
 public:
  explicit CuttingProxy(const Endpoint& server) : server_(server) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, as_sockaddr(address), length), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, as_sockaddr(address), &length), 0);
    port_ = ntohs(address.sin_port);
    threads_.emplace_back([this] { accept_loop(); });
  }

  ~CuttingProxy() {
    stop_ = true;
    // The accepting thread is the only one that adds threads.
    threads_.front().join();
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
    ::close(listener_);
  }

  std::uint16_t port() const { return port_; }

  // Empty: nothing is cut.
  void cut_after(std::string word) {
    const std::lock_guard lock(mutex_);
    word_ = std::move(word);
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static sockaddr* as_sockaddr(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
  }

  void accept_loop() {
    while (!stop_) {
      pollfd entry{listener_, POLLIN, 0};
      if (poll(&entry, 1, 20) <= 0) continue;
      const int client = accept(listener_, nullptr, nullptr);
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = loopback(server_.port);
      EXPECT_EQ(connect(server, as_sockaddr(address), sizeof(address)), 0);
      threads_.emplace_back([this, client, server] { forward(client, server); });
    }
  }

  bool holds_word(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    return !word_.empty() && bytes.find(word_) != std::string::npos;
  }

  void forward(int client, int server) {
    bool is_cut = false;
    std::string buffer(64 * 1024, '\0');
    while (!stop_) {
      pollfd entries[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      if (poll(entries, 2, 20) <= 0) continue;
      const bool from_client = entries[0].revents != 0;
      const ssize_t length = read(from_client ? client : server, buffer.data(), buffer.size());
      if (length <= 0) break;
      const std::string bytes = buffer.substr(0, static_cast<std::size_t>(length));
      if (from_client) is_cut = is_cut || holds_word(bytes);
      if (!from_client && is_cut) break;
      if (write(from_client ? server : client, bytes.data(), bytes.size()) != length) break;
    }
    ::close(client);
    ::close(server);
  }

  Endpoint server_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards word_
  std::string word_;
  std::vector<std::thread> threads_;
};

}  // namespace duckicelake::pg
