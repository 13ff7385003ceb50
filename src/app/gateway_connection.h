// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/gateway_front.h"
#include "base/result.h"
#include "catalog/s3_gateway.h"
#include "net/request_head.h"
#include "net/tls_stream.h"
#include "objstore/relay.h"

namespace duckicelake::app {

// One connection of the gateway: reads a request's head, has it admitted, passes its body and the
// answer through, again and again. Used by one thread; owns nothing of the socket.
class GatewayConnection {
 public:
  struct Limits {
    std::chrono::milliseconds header_timeout;
    std::chrono::milliseconds io_timeout;
    std::chrono::milliseconds idle_timeout;
  };
  struct Totals {
    std::atomic<std::uint64_t>& requests;
    std::atomic<std::uint64_t>& bytes_in;
    std::atomic<std::uint64_t>& bytes_out;
  };
  // `tls`: the socket's, after its handshake; nullptr: bytes go as they are.
  GatewayConnection(int socket, net::TlsStream* tls, Limits limits, GatewayFront& gateway,
                    objstore::RequestSigner& signer, const objstore::RelayConfig& relay,
                    Totals totals, std::atomic<bool>& is_idle, const std::atomic<bool>& is_stopping)
      : socket_(socket),
        tls_(tls),
        limits_(limits),
        gateway_(gateway),
        signer_(signer),
        relay_(relay),
        totals_(totals),
        is_idle_(is_idle),
        is_stopping_(is_stopping) {}

  void serve();
  // 503 for a connection that is not served.
  static void refuse_busy(int socket);

 private:
  class Body;
  class Peer;
  struct Head {
    net::Request request;
    net::HeadInfo info;
  };

  enum class Taken { kHead, kEnd, kFault };
  Taken take_head(Head& head);
  // False: the connection ends.
  bool answer(Head& head);
  bool relay(Head& head, const catalog::S3Gateway::Passed& passed, const std::string& request_id);
  bool send_error(const Error& error, const std::string& request_id, bool is_head, bool closes);
  bool send_fault(const net::Fault& fault);

  // Bytes from the client; 0: it closed, or was too slow.
  std::size_t receive(char* buffer, std::size_t room, std::chrono::milliseconds timeout);
  bool send(std::string_view bytes);
  // More into buffer_; false as receive.
  bool fill(std::chrono::milliseconds timeout);

  const int socket_;
  net::TlsStream* const tls_;
  const Limits limits_;
  GatewayFront& gateway_;
  objstore::RequestSigner& signer_;
  objstore::Relay relay_;
  const Totals totals_;
  std::atomic<bool>& is_idle_;
  const std::atomic<bool>& is_stopping_;
  std::string buffer_;  // received and not consumed
};

}  // namespace duckicelake::app
