// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/executor.h"
#include "net/http.h"
#include "net/request_head.h"
#include "net/responder.h"

namespace duckicelake::net {

struct ServerConfig {
  std::string address = "127.0.0.1";  // an IP address, no name
  std::uint16_t port = 0;             // 0: any free port
  std::size_t io_threads = 1;

  std::size_t max_header_bytes = 32 * 1024;                 // request line and headers: 431 (414)
  std::size_t max_target_bytes = 16 * 1024;                 // 414
  std::size_t max_body_bytes = 64UL * 1024 * 1024;          // 413, before and after gzip
  std::size_t max_total_body_bytes = 1024UL * 1024 * 1024;  // of all requests in progress: 503
  std::size_t max_connections = 10'000;                     // beyond: 503 and close

  // From the first byte to the blank line; for the first request and the TLS handshake from accept.
  std::chrono::milliseconds header_timeout{10'000};
  // A body has this long plus one second for each min_bytes_per_second received; a response
  // likewise.
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds write_timeout{30'000};
  std::size_t min_bytes_per_second = 8 * 1024;
  std::chrono::milliseconds idle_timeout{75'000};      // keep-alive, between requests
  std::chrono::milliseconds handler_timeout{600'000};  // 504 when a responder stays unused
  // After the last response of a connection, so that the client can read it.
  std::chrono::milliseconds linger_timeout{2'000};

  // PEM files; both set: TLS (1.2 and up) only.
  std::string tls_certificate_file;
  std::string tls_key_file;

  // The JSON body of responses that the server makes itself. Arguments: HTTP status, exception
  // name, message fit for the caller. Default: default_error_body.
  std::function<std::string(int, std::string_view, std::string_view)> error_body;
  // Called on an I/O thread for each request the server refused itself; for the log.
  std::function<void(const Fault&, std::string_view peer_address)> on_fault;
};

// {"error":{"message":…,"type":…,"code":…}} as the Iceberg REST specification has it (ErrorModel).
std::string default_error_body(int status, std::string_view type, std::string_view message);

// Totals since start, except connections_open. Read without stopping the threads: sums may be a few
// events apart.
struct ServerStats {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;  // over max_connections
  std::uint64_t requests = 0;             // handed to the handler
  std::uint64_t bytes_received = 0;       // of HTTP, after TLS
  std::uint64_t bytes_sent = 0;
  std::uint64_t tls_handshake_failures = 0;
  std::uint64_t idle_closes = 0;  // keep-alive connections that ran into idle_timeout
  std::uint64_t dropped_responders = 0;
  std::uint64_t handler_timeouts = 0;
  std::array<std::uint64_t, 6> responses_by_class{};        // [2] = 2xx; [0] unused
  std::array<std::uint64_t, kFaultKinds> faults_by_kind{};  // index: FaultKind
};

// An HTTP/1.1 server: io_threads threads, each with its own listening socket (SO_REUSEPORT) and its
// own connections, which never change threads. Thread-safe. The handler must outlive the server;
// responders may outlive it.
class Server {
 public:
  // kInvalidArgument for configuration that cannot work (address, certificate), kUnavailable when
  // the port cannot be had.
  static Result<std::unique_ptr<Server>> start(ServerConfig config, Handler& handler);
  // drain(0).
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;

  // Stops accepting (connections already queued by the kernel are still served), closes idle
  // connections, answers running requests with "connection: close", and returns when all
  // connections are gone or the deadline has passed; what then remains is cut off. The server is
  // over afterwards. Not from an I/O thread.
  void drain(std::chrono::milliseconds deadline);

  // Reads the certificate and key files again, for connections from now on. On an error the old
  // ones stay in use. kUnsupported without TLS.
  Status reload_tls();

  // Runs the task on I/O thread `thread_index` (modulo io_threads); false when the server is over.
  bool post(std::size_t thread_index, Task task);

  ServerStats stats() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace duckicelake::net
