// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "app/gateway_front.h"
#include "app/log.h"
#include "base/result.h"
#include "net/tls_stream.h"
#include "objstore/relay.h"
#include "objstore/request_signer.h"

namespace duckicelake::app {

// The listener of the S3 gateway: HTTP/1.1 on a port of its own. Each connection has a thread,
// which passes bodies through as they come, in both directions; their number is bounded.
class GatewayServer {
 public:
  struct Config {
    std::string host;
    std::uint16_t port = 0;
    std::size_t max_connections = 256;
    // PEM files; both set: TLS (1.2 and up) only.
    std::string tls_certificate_file = {};
    std::string tls_key_file = {};
    std::chrono::milliseconds header_timeout{10'000};  // and of a TLS handshake
    std::chrono::milliseconds io_timeout{30'000};      // for one read or write
    std::chrono::milliseconds idle_timeout{75'000};    // between requests
    objstore::RelayConfig relay;
  };
  // Listens when it returns. The references must outlive it. kUnavailable: the port cannot be had;
  // kInvalidArgument: nor can the certificate.
  static Result<std::unique_ptr<GatewayServer>> start(Config config, GatewayFront& gateway,
                                                      sign::Credentials root, std::string region,
                                                      Logger& logger);
  // stop(0).
  ~GatewayServer();
  GatewayServer(const GatewayServer&) = delete;
  GatewayServer& operator=(const GatewayServer&) = delete;

  std::uint16_t port() const { return port_; }
  // As net::Server::reload_tls.
  Status reload_tls();
  // No new connections; idle ones are closed; those at work have until then.
  void stop(std::chrono::milliseconds grace);

  struct Counters {
    std::uint64_t connections = 0;
    std::uint64_t refused = 0;  // over max_connections
    std::uint64_t requests = 0;
    std::uint64_t bytes_in = 0;   // of bodies, from clients
    std::uint64_t bytes_out = 0;  // to clients
  };
  Counters counters() const { return {accepted_, refused_, requests_, bytes_in_, bytes_out_}; }

 private:
  class Connection;
  struct Slot {
    std::thread thread;
    std::atomic<int> socket{-1};
    std::atomic<bool> is_idle{true};
    std::atomic<bool> is_over{false};
  };
  GatewayServer(Config config, GatewayFront& gateway, sign::Credentials root, std::string region,
                Logger& logger);
  Status listen();
  void accept_all();
  void serve(int socket, std::atomic<bool>& is_idle);
  void reap();

  const Config config_;
  GatewayFront& gateway_;
  objstore::RequestSigner signer_;
  Logger& logger_;
  std::unique_ptr<net::TlsAcceptor> tls_;  // nullptr: bytes go as they are
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> accepted_{0}, refused_{0}, requests_{0}, bytes_in_{0}, bytes_out_{0};
  std::mutex slots_mutex_;  // guards slots_
  std::list<Slot> slots_;
  std::thread acceptor_;  // the last
};

}  // namespace duckicelake::app
